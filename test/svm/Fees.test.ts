// Random messages on the virtual machine: what the rules of the fee payer let pass costs it at most the computed fee, and leaves its
// account as it was. `SVM_MESSAGES` sets how many: 40,000 have been run.
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { createPrivateKey, createPublicKey, sign } from "node:crypto"
import { derivations } from "../../src/networks/solana/chain/SolanaAccounts.ts"
import { brokenRule } from "../../src/networks/solana/rules/Guard.ts"
import type { Message, MessageConfig } from "../../src/networks/solana/rules/Message.ts"
import { feeOf } from "../../src/networks/solana/rules/Programs.ts"
import { maxLoadedBytes } from "../../src/networks/solana/rules/SolanaNumbers.ts"
import * as Wire from "../../src/networks/solana/rules/Wire.ts"
import { decodeTransaction, encodeBase58 } from "../../src/networks/solana/rules/Wire.ts"
import { chargeOf } from "../../testkit/solana/Charge.ts"
import * as Svm from "../../testkit/solana/Svm.ts"
import { random } from "../networks/solana/rules/explorer/Random.ts"
import { u32, u64 } from "../../testkit/solana/Messages.ts"

const messages = Number(process.env["SVM_MESSAGES"] ?? 5000)
const sol = 1_000_000_000n

const keyOf = (number: number) => {
  const seed = new Uint8Array(32).fill(number)
  const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed])
  const secret = createPrivateKey({ key: der, format: "der", type: "pkcs8" })
  const bytes = Uint8Array.from(createPublicKey(secret).export({ format: "der", type: "spki" }).subarray(-32))
  return { secret, bytes, address: encodeBase58(bytes) }
}

const relayer = keyOf(1)
const users = [2, 3, 4, 5].map(keyOf)
const secrets = new Map([relayer, ...users].map(({ address, secret }) => [address, secret]))

const programs = [
  "11111111111111111111111111111111",
  "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
  "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb",
  "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL",
  "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr",
  "ComputeBudget111111111111111111111111111111",
  "AddressLookupTab1e1111111111111111111111111",
  "Ed25519SigVerify111111111111111111111111111",
  "KeccakSecp256k11111111111111111111111111111",
  "Vote111111111111111111111111111111111111111",
  "Stake11111111111111111111111111111111111111",
  "BPFLoaderUpgradeab1e11111111111111111111111",
  "BPFLoader2111111111111111111111111111111111",
  "Config1111111111111111111111111111111111111"
]
const [system = "", , , , memo = "", budget = ""] = programs
const withoutAccounts = new Set([5, 7, 8])

const { chance, int, pick } = random(7)
const bytes = (count: number) => Array.from({ length: count }, () => int(256))

interface Account {
  readonly address: string
  readonly isSigner: boolean
  readonly isWritable: boolean
}

interface Instruction {
  readonly program: string
  readonly accounts: ReadonlyArray<Account>
  readonly data: ReadonlyArray<number>
}

/** What a user could send, sometimes to the relayer. */
const sound = (): Instruction => {
  const from = pick(users)
  if (chance(0.3)) {
    const accounts = [{ address: from.address, isSigner: true, isWritable: false }]
    return { program: memo, accounts, data: [104, 105] }
  }
  if (chance(0.3)) {
    const data = chance(0.5) ? [2, ...u32(1 + int(1_400_000))] : [3, ...u64(int(2_000_000))]
    return { program: budget, accounts: [], data }
  }
  const to = chance(0.15) ? relayer : pick(users)
  const accounts = [
    { address: from.address, isSigner: true, isWritable: true },
    { address: to.address, isSigner: false, isWritable: true }
  ]
  return { program: system, accounts, data: [...u32(2), ...u64(1_000_000 + int(1000))] }
}

const dataFor = (number: number): ReadonlyArray<number> => {
  if (number === 0)
    return [
      ...u32(int(13)),
      ...u64(chance(0.7) ? int(5_000_000) : 2n ** 40n),
      ...u64(int(200)),
      ...pick([relayer, ...users]).bytes
    ]
  if (number === 1 || number === 2) return [int(45), ...u64(int(1000)), ...bytes(int(40))]
  if (number === 5) return chance(0.5) ? [2, ...u32(int(2_000_000))] : [3, ...u64(2n ** 34n)]
  return number === 7 || number === 8 ? [int(256), ...bytes(int(30))] : bytes(int(40))
}

const wild = (): Instruction => {
  const number = int(programs.length)
  const account = (): Account => {
    const { address } = chance(0.2) ? relayer : pick(users)
    return chance(0.75)
      ? { address, isSigner: chance(0.5), isWritable: chance(0.6) }
      : { address: pick(programs), isSigner: false, isWritable: false }
  }
  const accounts = withoutAccounts.has(number) ? [] : Array.from({ length: int(6) }, account)
  return { program: pick([programs[number] ?? system]), accounts, data: dataFor(number) }
}

const name = Svm.packageName

const versions: ReadonlyArray<Message["version"]> = [
  "legacy",
  0,
  ...(name !== undefined && Svm.executesVersion1(name) ? [1 as const] : [])
]

/** Mostly enough for two transfers. */
const randomConfig = (): MessageConfig => ({
  ...(chance(0.5) ? { priorityFee: BigInt(chance(0.8) ? int(100_000) : int(2_000_000_000)) } : {}),
  ...(chance(0.8) ? { computeUnitLimit: int(400_000) } : {}),
  ...(chance(0.8) ? { loadedBytes: pick([0, 100, 1_000_000, maxLoadedBytes, 2 ** 32 - 1]) } : {}),
  ...(chance(0.2) ? { heapBytes: 32_768 + 1024 * int(225) } : {})
})

/** Compiled as clients do it: a key signs, or is written, if any instruction says so. */
const compiled = (instructions: ReadonlyArray<Instruction>, blockhash: string): Uint8Array => {
  const all = new Map<string, { isSigner: boolean; isWritable: boolean }>()
  all.set(relayer.address, { isSigner: true, isWritable: true })
  for (const { accounts, program } of instructions) {
    for (const { address, isSigner, isWritable } of accounts) {
      const before = all.get(address) ?? { isSigner: false, isWritable: false }
      all.set(address, { isSigner: before.isSigner || isSigner, isWritable: before.isWritable || isWritable })
    }
    if (!all.has(program)) all.set(program, { isSigner: false, isWritable: false })
  }
  const of = (isSigner: boolean, isWritable: boolean) =>
    [...all].filter(([, one]) => one.isSigner === isSigner && one.isWritable === isWritable).map(([address]) => address)
  const [signing, readonlySigning, others, readonlyOthers] = [
    of(true, true),
    of(true, false),
    of(false, true),
    of(false, false)
  ]
  const keys = [...signing, ...readonlySigning, ...others, ...readonlyOthers]
  const version = pick(versions)
  const message = Wire.messageBytes({
    version,
    ...(version === 1 ? { config: randomConfig() } : {}),
    signers: signing.length + readonlySigning.length,
    readonlySigners: readonlySigning.length,
    readonlyOthers: readonlyOthers.length,
    keys,
    blockhash,
    instructions: instructions.map(({ program, accounts, data }) => ({
      program: keys.indexOf(program),
      accounts: accounts.map(({ address }) => keys.indexOf(address)),
      data: Uint8Array.from(data)
    })),
    tables: []
  })
  const signatures = [...signing, ...readonlySigning].map((address) => {
    const secret = secrets.get(address)
    return secret === undefined ? undefined : Uint8Array.from(sign(null, message, secret))
  })
  return Wire.transactionBytes(signatures, message)
}

const terms = {
  relayer: relayer.address,
  maxFee: 1_000_000n,
  authority: "never",
  authorityPrograms: [],
  feeAccounts: [],
  feeMints: []
} as const

const isInstalled = name !== undefined

describe("on the virtual machine", () => {
  it.runIf(isInstalled)(
    "a message that passes the rules costs at most its fee, and the relayer stays a plain account",
    () => {
      const svm = Svm.make(name ?? "")
      for (const { bytes: key } of [relayer, ...users]) svm.fund(key, 100n * sol)
      const count = { passed: 0, executed: 0, version1: 0 }
      for (let number = 0; number < messages; number++) {
        const instructions = Array.from({ length: 1 + int(3) }, () => (chance(0.6) ? sound() : wild()))
        const raw = compiled(instructions, svm.blockhash())
        const decoded = decodeTransaction(raw)
        if (Result.isFailure(decoded)) continue
        const transaction = decoded.success
        if (brokenRule({ transaction, form: "prebuilt", terms, derivations }) !== undefined) continue
        if (transaction.signatures.some((one) => one === undefined)) continue
        count.passed++
        const before = svm.balanceOf(relayer.bytes)
        const isExecuted = svm.send(raw) === true
        if (isExecuted) count.executed++
        if (isExecuted && transaction.message.version === 1) count.version1++
        const paid = before - svm.balanceOf(relayer.bytes)
        const fee = feeOf(transaction.message).total
        assert.isTrue(paid <= fee, `message ${number} costs ${paid}, and its fee is ${fee}`)
        assert.isTrue(svm.isPlain(relayer.bytes), `message ${number}`)
        if (number % 50 === 0) svm.expire()
        if (svm.balanceOf(relayer.bytes) < 10n * sol) svm.fund(relayer.bytes, 50n * sol)
      }
      const figures = JSON.stringify(count)
      assert.isAbove(count.passed, messages / 4, figures)
      assert.isAbove(count.executed, messages / 20, figures)
      if (versions.includes(1)) assert.isAbove(count.version1, messages / 100, figures)
    }
  )

  it.runIf(isInstalled)("a price without a limit costs what the service computes and the local cluster charges", () => {
    const svm = Svm.make(name ?? "")
    svm.fund(relayer.bytes, 100n * sol)
    const price: Instruction = { program: budget, accounts: [], data: [3, ...u64(1_000_000)] }
    const executed = programs.filter((program) => {
      // Neither a signature that is claimed nor an instruction of the same kind stands in the way of the count of units.
      const data = withoutAccounts.has(programs.indexOf(program)) && program !== budget ? [0, 0] : [4, ...u32(65_536)]
      const blockhash = svm.blockhash()
      const message = Wire.buildMessage({
        payer: relayer.address,
        instructions: [price, { program, accounts: [], data }].map((one) => ({
          program: one.program,
          accounts: [],
          data: Uint8Array.from(one.data)
        })),
        blockhash
      })
      const bytes = Wire.messageBytes(message)
      const before = svm.balanceOf(relayer.bytes)
      svm.send(Wire.transactionBytes([Uint8Array.from(sign(null, bytes, relayer.secret))], bytes))
      const paid = before - svm.balanceOf(relayer.bytes)
      svm.expire()
      // The machine takes no fee for a program that it does not have.
      if (paid === 0n) return false
      assert.deepStrictEqual([feeOf(message).total, chargeOf(message)], [paid, paid], program)
      return true
    })
    assert.isAtLeast(executed.length, programs.length - 1)
  })
})
