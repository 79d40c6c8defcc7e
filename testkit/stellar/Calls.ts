// Runs calls of contracts: the counter with `increment`, `transfer` and `fail`, the tokens, and the forwarder of fees.
import { Address, nativeToScVal, xdr } from "@stellar/stellar-sdk/base"
import {
  addressIn,
  amountIn,
  counterContract,
  forwarderContract,
  nativeContract,
  tokenContract,
  trap
} from "./Contracts.ts"
import type { Call, Needed, Ran } from "./Contracts.ts"
import { credit } from "./Credits.ts"
import { keyOf, trustlineIn } from "./Entries.ts"
import type { Changes } from "./Entries.ts"
import { apply } from "./Operations.ts"
import { moveNative } from "./Payments.ts"

/** Decimals of the token. */
const tokenDecimals = 6

type Move = (changes: Changes, from: string, to: string, amount: bigint) => boolean

/** A contract with the interface of tokens (SEP-41). */
interface Token {
  readonly contract: string
  readonly decimals: number
  readonly move: Move
}

const holdingIn = (changes: Changes, address: string): bigint => {
  const entry = changes.get(keyOf.holding(address))
  return entry?.kind === "holding" ? entry.amount : 0n
}

const moveHolding: Move = (changes, from, to, amount) => {
  const held = holdingIn(changes, from)
  if (held < amount) return false
  changes.set(keyOf.holding(from), { kind: "holding", amount: held - amount })
  changes.set(keyOf.holding(to), { kind: "holding", amount: holdingIn(changes, to) + amount })
  return true
}

const tokenAt = (contract: string, native: string, ledger: number): Token | undefined => {
  if (contract === native) {
    return { contract, decimals: 7, move: (changes, from, to, amount) => moveNative(changes, from, to, amount, ledger) }
  }
  return contract === tokenContract ? { contract, decimals: tokenDecimals, move: moveHolding } : undefined
}

const moved = (
  token: Token,
  [from, to, amount]: readonly [string, string, bigint],
  needed: ReadonlyArray<Needed>,
  also: (changes: Changes) => boolean = () => true
): Ran => ({
  isSuccess: true,
  value: xdr.ScVal.scvVoid(),
  needed,
  write: (changes) => token.move(changes, from, to, amount) && also(changes)
})

const approved = (
  { contract }: Token,
  call: Call,
  {
    amount,
    owner,
    spender,
    untilLedger
  }: Record<"owner" | "spender", string> & {
    readonly amount: bigint
    readonly untilLedger: number
  }
): Ran => ({
  isSuccess: true,
  value: xdr.ScVal.scvVoid(),
  needed: [{ address: owner, call, below: [] }],
  write: (changes) => {
    changes.set(keyOf.allowance(contract, owner, spender), { kind: "allowance", amount, untilLedger })
    return true
  }
})

const allowanceIn = (changes: Changes, { contract }: Token, owner: string, spender: string, ledger: number): bigint => {
  const entry = changes.get(keyOf.allowance(contract, owner, spender))
  return entry?.kind === "allowance" && entry.untilLedger >= ledger ? entry.amount : 0n
}

const takeAllowance = (
  changes: Changes,
  token: Token,
  {
    amount,
    from,
    ledger,
    spender
  }: Record<"from" | "spender", string> & {
    readonly amount: bigint
    readonly ledger: number
  }
): boolean => {
  const key = keyOf.allowance(token.contract, from, spender)
  const entry = changes.get(key)
  if (entry?.kind !== "allowance" || allowanceIn(changes, token, from, spender, ledger) < amount) return false
  changes.set(key, { ...entry, amount: entry.amount - amount })
  return true
}

const runToken = (token: Token, call: Call, ledger: number): Ran => {
  const [first, second, third, fourth] = call.args
  switch (call.name) {
    case "decimals":
      return {
        isSuccess: true,
        value: nativeToScVal(token.decimals, { type: "u32" }),
        needed: [],
        write: () => true
      }
    case "transfer": {
      const [from, to, amount] = [addressIn(first), addressIn(second), amountIn(third)]
      if (from === undefined || to === undefined || amount === undefined) return trap("transfer: wrong arguments")
      return moved(token, [from, to, amount], [{ address: from, call, below: [] }])
    }
    case "approve": {
      const [owner, spender, amount] = [addressIn(first), addressIn(second), amountIn(third)]
      if (owner === undefined || spender === undefined || amount === undefined || fourth?.type !== "scvU32") {
        return trap("approve: wrong arguments")
      }
      return approved(token, call, { owner, spender, amount, untilLedger: fourth.u32 })
    }
    case "transfer_from": {
      const [spender, from, to, amount] = [addressIn(first), addressIn(second), addressIn(third), amountIn(fourth)]
      if (spender === undefined || from === undefined || to === undefined || amount === undefined) {
        return trap("transfer_from: wrong arguments")
      }
      const needed = [{ address: spender, call, below: [] }]
      return moved(token, [from, to, amount], needed, (changes) =>
        takeAllowance(changes, token, { from, spender, amount, ledger })
      )
    }
    default:
      return trap(`no function ${call.name}`)
  }
}

const runCounter = (call: Call, changes: Changes, native: string, ledger: number): Ran => {
  if (call.name === "fail") return trap("the contract failed as it was asked to")
  if (call.name === "transfer") {
    const [from, to, amount] = [addressIn(call.args[0]), addressIn(call.args[1]), amountIn(call.args[2])]
    if (from === undefined || to === undefined || amount === undefined) return trap("transfer: wrong arguments")
    const below = { contract: native, name: "transfer", args: call.args }
    return {
      isSuccess: true,
      value: xdr.ScVal.scvVoid(),
      needed: [{ address: from, call, below: [{ call: below, below: [] }] }],
      write: (written) => moveNative(written, from, to, amount, ledger)
    }
  }
  if (call.name !== "increment") return trap(`no function ${call.name}`)
  const counter = changes.get(keyOf.counter)
  const value = counter?.kind === "counter" ? counter.value + 1 : 1
  return {
    isSuccess: true,
    value: nativeToScVal(value, { type: "u32" }),
    needed: [],
    write: (written) => {
      written.set(keyOf.counter, { kind: "counter", value, isArchived: false })
      return true
    }
  }
}

interface Forwarding {
  readonly token: Token
  readonly fee: bigint
  readonly max: bigint
  readonly untilLedger: number
  readonly target: Call
  readonly user: string
  readonly relayer: string
}

const forwardingOf = ({ args }: Call, native: string, ledger: number): Forwarding | undefined => {
  const [tokenArg, feeArg, maxArg, untilArg, contractArg, nameArg, argsArg, userArg, relayerArg] = args
  const token = tokenAt(addressIn(tokenArg) ?? "", native, ledger)
  const [fee, max] = [amountIn(feeArg), amountIn(maxArg)]
  const [contract, user, relayer] = [addressIn(contractArg), addressIn(userArg), addressIn(relayerArg)]
  if (token === undefined || fee === undefined || max === undefined || contract === undefined) return undefined
  if (user === undefined || relayer === undefined || untilArg?.type !== "scvU32") return undefined
  if (nameArg?.type !== "scvSymbol" || argsArg?.type !== "scvVec") return undefined
  const target = { contract, name: nameArg.sym.toString(), args: argsArg.vec ?? [] }
  return { token, fee, max, untilLedger: untilArg.u32, target, user, relayer }
}

/** What the user signs of a forward: not the fee, the user and the relayer. */
const signedByUser = ({ args, ...call }: Call): Call => ({
  ...call,
  args: args.filter((_, index) => ![1, 7, 8].includes(index))
})

type Run = (call: Call, changes: Changes) => Ran

/**
 * `forward` of the forwarder in stellar-contracts, for which anyone can be the relayer: it passes the call on, approves the fee if
 * what the user approved before is less, and gives it to the relayer.
 */
const runForwarder = (call: Call, changes: Changes, native: string, ledger: number, run: Run): Ran => {
  const given = call.name === "forward" ? forwardingOf(call, native, ledger) : undefined
  if (given === undefined) return trap(`${call.name}: wrong arguments, or no such function`)
  const { fee, max, relayer, target, token, untilLedger, user } = given
  if (fee <= 0n || fee > max || untilLedger < ledger) return trap("forward: the fee or its end is not valid")
  const ran = run(target, changes)
  if (!ran.isSuccess) return ran
  const { contract } = token
  const approval: Call = {
    contract,
    name: "approve",
    args: [call.args[7], Address.fromString(forwarderContract).toScVal(), call.args[2], call.args[3]].flatMap(
      (one) => one ?? []
    )
  }
  const isApproved = allowanceIn(changes, token, user, forwarderContract, ledger) >= fee
  const trees = ran.needed.filter(({ address }) => address === user)
  const below = [...trees, ...(isApproved ? [] : [{ call: approval, below: [] }])]
  const allowance = { owner: user, spender: forwarderContract, amount: max, untilLedger }
  const approving = approved(token, approval, allowance)
  const taking = { from: user, spender: forwarderContract, amount: fee, ledger }
  return {
    ...ran,
    needed: [
      { address: user, call: signedByUser(call), below },
      { address: relayer, call, below: [] },
      ...ran.needed.filter(({ address }) => address !== user)
    ],
    write: (written) =>
      ran.write(written) &&
      (isApproved || (approving.isSuccess && approving.write(written))) &&
      takeAllowance(written, token, taking) &&
      token.move(written, user, relayer, fee)
  }
}

/** Asset contracts of credit that the stand-in knows, by passphrase. */
const creditContracts = new Map<string, string>()

/** The contract of the credit of `Credits.ts`. */
export const creditContract = (passphrase: string): string => {
  const found = creditContracts.get(passphrase) ?? credit.contractId(passphrase)
  creditContracts.set(passphrase, found)
  return found
}

/** `trust` makes a trust line without a limit, and nothing if there is one (CAP-73). */
const runTrust = (call: Call, changes: Changes, ledger: number): Ran => {
  const address = addressIn(call.args[0])
  if (call.name !== "trust" || address === undefined) return trap(`no function ${call.name}`)
  const line = new xdr.ChangeTrustOp({ line: credit.toChangeTrustXDRObject(), limit: 2n ** 63n - 1n })
  const isTrusted = trustlineIn(changes, address, credit.toString()) !== undefined
  return {
    isSuccess: true,
    value: xdr.ScVal.scvVoid(),
    needed: [{ address, call, below: [] }],
    write: (written) =>
      isTrusted ||
      apply({ changes: written, ledger, sponsors: new Map() }, address, xdr.OperationBody.changeTrust(line))
        ?.isSuccess === true
  }
}

/** What a call does, before its authorization is checked. */
export const run = (call: Call, changes: Changes, passphrase: string, ledger: number): Ran => {
  const native = nativeContract(passphrase)
  const token = tokenAt(call.contract, native, ledger)
  if (token !== undefined) return runToken(token, call, ledger)
  if (call.contract === creditContract(passphrase)) return runTrust(call, changes, ledger)
  if (call.contract === counterContract) return runCounter(call, changes, native, ledger)
  if (call.contract !== forwarderContract) return trap("no such contract")
  return runForwarder(call, changes, native, ledger, (target, at) => run(target, at, passphrase, ledger))
}
