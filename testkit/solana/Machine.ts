// Agave's virtual machine as the bank of a cluster. It keeps nothing from one transaction to the next: the accounts that a
// transaction names are put into it before, and read after, so that forks, commitments and simulations need no copy of it.
import { systemProgram } from "../../src/networks/solana/rules/Programs.ts"
import { decodeBase58, encodeBase58, keyBytes, transactionBytes } from "../../src/networks/solana/rules/Wire.ts"
import type { Account, Accounts } from "./Accounts.ts"
import * as Bank from "./Bank.ts"
import * as Svm from "./Svm.ts"

const none: Account = { lamports: 0n, owner: systemProgram, data: new Uint8Array(0) }

/** Owner of the accounts in which the machine has its clock and the like. */
const sysvars = "Sysvar1111111111111111111111111111111111111"

const keyOf = (address: string): Uint8Array => decodeBase58(address) ?? new Uint8Array(keyBytes)

/** The cluster checks signatures, blockhashes and repetitions. */
export const make = (name: string): Bank.Run => {
  const machine = Svm.make(name, { isTrusting: true })
  /** What an earlier transaction has left in the machine. */
  const written = new Set<string>()
  let executions = 0

  /** The machine executes a signature once. So that simulations do not count, each execution has one of its own. */
  const nextSignature = (): Uint8Array => {
    executions += 1
    return Uint8Array.from([...new Uint8Array(BigUint64Array.of(BigInt(executions)).buffer), ...new Uint8Array(56)])
  }

  const put = (accounts: Accounts, addresses: ReadonlyArray<string>) => {
    for (const address of addresses) {
      const account = accounts.get(address)
      if (account === undefined && !written.has(address)) continue
      const { lamports, owner, data } = account ?? none
      machine.put(keyOf(address), { lamports, owner: keyOf(owner), data })
      written.add(address)
    }
  }

  /** Programs and sysvars are accounts of the machine, not of the cluster. */
  const accountOf = (address: string): Account | undefined => {
    const found = machine.accountOf(keyOf(address))
    if (found === undefined || found.isExecutable) return undefined
    const owner = encodeBase58(found.owner)
    return owner === sysvars ? undefined : { lamports: found.lamports, owner, data: found.data }
  }

  return (accounts, { message, messageBytes, signatures: [, ...others] }) => {
    const named = [...message.keys, ...(Bank.loadedIn(accounts, message) ?? [])]
    put(accounts, [...named, ...message.tables.map(({ table }) => table)])
    const [payer = ""] = message.keys
    const raw = transactionBytes([nextSignature(), ...others], messageBytes)
    const { error, units, logs } = machine.execute(raw, message.version)
    const changed = new Map(accounts)
    for (const address of named) {
      const after = accountOf(address)
      if (after === undefined || after.lamports === 0n) {
        changed.delete(address)
        continue
      }
      changed.set(address, after)
      written.add(address)
    }
    // A transaction whose fee is not charged gets into no block.
    const isIncluded = Bank.lamportsOf(changed, payer) !== Bank.lamportsOf(accounts, payer)
    return { accounts: isIncluded ? changed : accounts, error, units, logs, isIncluded }
  }
}
