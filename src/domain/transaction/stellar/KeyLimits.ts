// What an envelope takes from the service's accounts, for the limits of API keys.
import { contractCreation } from "../../relayer/Policy.ts"
import { entriesAddedBy, signersOf } from "./Envelope.ts"
import type { AuthEntry, Call, Invocation, Operation, TransactionEnvelope } from "./Envelope.ts"
import type { Terms } from "./GuardRules.ts"
import { refusal } from "./Refusal.ts"
import type { Refusal } from "./Refusal.ts"
import { fromParts } from "./ScVal.ts"
import type { ScVal } from "./ScVal.ts"
import { accountMeantBy } from "./StrKey.ts"

/** The part of a key's limits for stellar. */
export interface KeyLimits {
  /** Stroops. */
  readonly maxValue?: bigint
  /** `G…`, `M…`, which means its account, or `C…`. */
  readonly receivers?: ReadonlyArray<string>
}

export interface Sends {
  /** Stroops of XLM. */
  readonly value: bigint
  readonly receivers: ReadonlyArray<string>
  /** Contracts below the root of an authorization, other than that of the native asset. */
  readonly below: ReadonlyArray<string>
  /** A call of the native asset's contract whose effect cannot be read. */
  readonly unreadable: ReadonlyArray<string>
}

const nothing: Sends = { value: 0n, receivers: [], below: [], unreadable: [] }

const sum = (all: ReadonlyArray<Sends>): Sends => ({
  value: all.reduce((total, { value }) => total + value, 0n),
  receivers: all.flatMap(({ receivers }) => receivers),
  below: all.flatMap(({ below }) => below),
  unreadable: all.flatMap(({ unreadable }) => unreadable)
})

const addressOf = (value: ScVal | undefined): string | undefined =>
  value !== undefined && "address" in value ? value.address : undefined

const amountOf = (value: ScVal | undefined): bigint | undefined => {
  const amount = value !== undefined && "i128" in value ? fromParts(value.i128) : undefined
  return amount === undefined || amount < 0n ? undefined : amount
}

/** `transfer` moves XLM now. The spender of `approve` can take it later. */
const nativeCall = ({ name, args: [, second, third] }: Call): Sends => {
  const receiver = addressOf(second)
  const amount = amountOf(third)
  const isKnown = name === "transfer" || name === "approve"
  return isKnown && receiver !== undefined && amount !== undefined
    ? { ...nothing, value: amount, receivers: [receiver] }
    : { ...nothing, unreadable: [name] }
}

const invocation = ({ call, below }: Invocation, isRoot: boolean, nativeContract: string): Sends => {
  const deeper = below.map((one) => invocation(one, false, nativeContract))
  if (call?.contract === nativeContract) return sum([nativeCall(call), ...deeper])
  const name = call?.contract ?? contractCreation
  return sum([isRoot ? nothing : { ...nothing, below: [name] }, ...deeper])
}

const isOwn = ({ credentials }: AuthEntry, { own }: Terms): boolean =>
  credentials.kind === "source" || signersOf(credentials).some((address) => own.has(address))

/** What an operation locks on its account. */
const reserved = (operation: Operation, { assetContracts, baseReserve }: Terms): Sends => ({
  ...nothing,
  value: BigInt(entriesAddedBy(operation, assetContracts)) * baseReserve
})

const ofOperation = (operation: Operation, terms: Terms): Sends => {
  switch (operation.type) {
    case "payment":
      return {
        ...nothing,
        value: operation.asset === "native" ? operation.amount : 0n,
        receivers: [operation.destination.address]
      }
    case "pathPaymentStrictReceive":
    case "pathPaymentStrictSend":
      return {
        ...nothing,
        value: operation.sendAsset === "native" ? operation.sendMax : 0n,
        receivers: [operation.destination.address]
      }
    case "changeTrust":
      return reserved(operation, terms)
    case "invokeHostFunction": {
      const { auth, host } = operation
      const trees = auth
        .filter((entry) => isOwn(entry, terms))
        .map(({ root }) => invocation(root, true, terms.nativeContract))
      const root = host.kind === "call" ? host.call.contract : contractCreation
      const called = root === terms.nativeContract ? nothing : { ...nothing, receivers: [root] }
      return sum([called, reserved(operation, terms), ...trees])
    }
    default: {
      const taken = operation.takes.filter(({ asset }) => asset === "native")
      const value = taken.reduce((total, { amount }) => total + amount, 0n)
      return { ...nothing, value, receivers: operation.receivers }
    }
  }
}

/** What leaves own accounts by an envelope of the relayer. */
export const sendsOf = ({ operations }: TransactionEnvelope, terms: Terms): Sends =>
  sum(operations.map((operation) => ofOperation(operation, terms)))

const canonical = (address: string): string => accountMeantBy(address) ?? address

/** What a key with limits may not send. */
export const exceeded = (
  envelope: TransactionEnvelope,
  terms: Terms,
  { maxValue, receivers }: KeyLimits
): Refusal | undefined => {
  const sends = sendsOf(envelope, terms)
  if (sends.unreadable.length > 0) {
    return refusal(
      "key_limits",
      `the call ${sends.unreadable.join(", ")} of the native asset's contract cannot be counted`
    )
  }
  if (maxValue !== undefined && sends.value > maxValue) {
    return refusal(
      "key_limits",
      `must send at most ${maxValue} stroops, the max_value of the API key, not ${sends.value}`
    )
  }
  const listed = new Set((receivers ?? []).map(canonical))
  const wanted = [...(receivers === undefined ? [] : sends.receivers), ...sends.below]
  const missing = wanted.find((one) => !listed.has(canonical(one)))
  return missing === undefined
    ? undefined
    : refusal("key_limits", `${missing} is not among the receivers of the API key`)
}
