// Rules of the guard that need the chain. A transaction that breaks one ends before its first signature.
import type { AuthEntry, Invocation, TransactionEnvelope } from "./Envelope.ts"
import { isResourceFeeTooHigh } from "./Fees.ts"
import { addedSubentries } from "./Guard.ts"
import type { Terms } from "./GuardRules.ts"
import { refusal } from "./Refusal.ts"
import type { Refusal } from "./Refusal.ts"
import { authorizationMargin, declaredResourceMargin } from "./StellarNumbers.ts"

/** What a simulation found. */
export interface Simulated {
  /** The text of a failure. */
  readonly error?: string
  /** Stroops: `minResourceFee`. */
  readonly resourceFee: bigint
  /** The authorizations that the call asks for. */
  readonly auth: ReadonlyArray<AuthEntry>
  /** XLM of accounts before and after. */
  readonly balances: ReadonlyArray<{ readonly address: string; readonly before: bigint; readonly after: bigint }>
}

/** The accounts that a simulation names. */
export const addressesIn = ({ auth, balances }: Simulated): ReadonlyArray<string> => [
  ...auth.flatMap(({ credentials }) => (credentials.kind === "address" ? [credentials.address] : [])),
  ...balances.map(({ address }) => address)
]

const authOf = ({ operations }: TransactionEnvelope): ReadonlyArray<AuthEntry> =>
  operations.flatMap((operation) => (operation.type === "invokeHostFunction" ? operation.auth : []))

const isOfService = ({ credentials }: AuthEntry, { own }: Terms): boolean =>
  credentials.kind === "source" || (credentials.kind === "address" && own.has(credentials.address))

/** The simulation asks for an authorization of the relayer that the request does not give. */
export const notGranted = (envelope: TransactionEnvelope, { auth }: Simulated, terms: Terms): Refusal | undefined => {
  const given = new Set(authOf(envelope).map(({ xdr }) => xdr))
  return auth.some((entry) => isOfService(entry, terms) && !given.has(entry.xdr))
    ? refusal("auth_not_granted", "the call needs an authorization of the relayer that the request does not contain")
    : undefined
}

const hasOthersBelow = ({ below }: Invocation): boolean => below.length > 0

/** An authorization with calls below it may take more XLM than its arguments show. */
export const balanceChange = (
  envelope: TransactionEnvelope,
  { balances }: Simulated,
  terms: Terms,
  maxValue: bigint | undefined
): Refusal | undefined => {
  if (maxValue === undefined) return undefined
  if (!authOf(envelope).some((entry) => isOfService(entry, terms) && hasOthersBelow(entry.root))) return undefined
  const taken = balances
    .filter(({ address }) => terms.own.has(address))
    .reduce((total, { before, after }) => total + before - after, 0n)
  return taken > maxValue
    ? refusal("balance_change", `the call takes ${taken} stroops, more than ${maxValue}, the max_value of the API key`)
    : undefined
}

/** A user declares a fee of resources that is higher than the call needs. */
export const declaredFee = ({ resourceFee }: TransactionEnvelope, simulated: Simulated): Refusal | undefined =>
  resourceFee !== undefined && isResourceFeeTooHigh(resourceFee, simulated.resourceFee, declaredResourceMargin)
    ? refusal(
        "resource_fee_too_high",
        `the envelope declares ${resourceFee} stroops, the call needs ${simulated.resourceFee}`
      )
    : undefined

export const wouldFail = ({ error }: Simulated): Refusal | undefined =>
  error === undefined ? undefined : refusal("would_fail", error)

/** Trust lines and other entries of the account afterwards. */
export const subentriesOnChain = (
  envelope: TransactionEnvelope,
  present: number,
  { maxSubentries }: Terms
): Refusal | undefined => {
  const added = addedSubentries(envelope)
  return added > 0 && present + added > maxSubentries
    ? refusal(
        "too_many_subentries",
        `the account would have ${present + added} entries, at most ${maxSubentries} are allowed`
      )
    : undefined
}

/** `newest`: the number of the newest ledger. */
export const expiredAuth = (envelope: TransactionEnvelope, newest: number): Refusal | undefined => {
  const expired = authOf(envelope).find(
    ({ credentials }) => credentials.kind === "address" && credentials.untilLedger <= newest + authorizationMargin
  )
  return expired?.credentials.kind === "address"
    ? refusal(
        "auth_expired",
        `an authorization expires at ledger ${expired.credentials.untilLedger}; the newest is ${newest}`
      )
    : undefined
}

/** The place of a foreign envelope, by the sequences of its source that the asked providers show. */
export type GuestPlace = "next" | "used" | "waits" | "unclear"

export const guestPlace = ({ sequence }: TransactionEnvelope, shown: ReadonlyArray<bigint>): GuestPlace => {
  if (shown.length === 0) return "unclear"
  if (shown.every((one) => one >= sequence)) return "used"
  if (shown.every((one) => one === sequence - 1n)) return "next"
  return shown.every((one) => one < sequence - 1n) ? "waits" : "unclear"
}

export const usedSequence = (envelope: TransactionEnvelope, shown: ReadonlyArray<bigint>): Refusal | undefined =>
  guestPlace(envelope, shown) === "used"
    ? refusal(
        "sequence_used",
        `the source has already used the sequence ${envelope.sequence}; this service has sent nothing`
      )
    : undefined
