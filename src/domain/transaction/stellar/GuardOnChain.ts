// Rules of the guard that need the chain. A transaction that breaks one ends before its first signature.
import type { AssetName, AuthEntry, Call, Invocation, TransactionEnvelope } from "./Envelope.ts"
import { signersOf } from "./Envelope.ts"
import { isResourceFeeTooHigh } from "./Fees.ts"
import { addedSubentries } from "./Guard.ts"
import type { Terms } from "./GuardRules.ts"
import { refusal } from "./Refusal.ts"
import type { Refusal } from "./Refusal.ts"
import { sendsOf } from "./KeyLimits.ts"
import { authorizationMargin, declaredResourceMargin } from "./StellarNumbers.ts"

/** An account before or after a call. */
export interface AccountState {
  /** Stroops. */
  readonly balance: bigint
  readonly subentries: number
  /** Base reserves that it locks for entries, its own and those of others. */
  readonly reserves: number
  /** All that no call of a contract changes, as one text: signers, thresholds, options and sequence. */
  readonly rest: string
}

/** An entry of the ledger that a call changes. Absent before: the call makes it. Absent after: the call removes it. */
export type EntryChange =
  | {
      readonly kind: "account"
      readonly address: string
      readonly before?: AccountState
      readonly after?: AccountState
    }
  | {
      readonly kind: "trustline"
      readonly address: string
      readonly asset: AssetName
      readonly before?: bigint
      readonly after?: bigint
    }
  /** An entry that no call of a contract changes, such as an offer. `name`: its type. */
  | { readonly kind: "unexpected"; readonly name: string }

/** What a simulation found. */
export interface Simulated {
  /** The text of a failure. */
  readonly error?: string
  /** Stroops: `minResourceFee`. */
  readonly resourceFee: bigint
  /** The authorizations that the call asks for. */
  readonly auth: ReadonlyArray<AuthEntry>
  /** What the call changes, besides data and code of contracts. */
  readonly changes: ReadonlyArray<EntryChange>
  /** Calls of functions that only the administrator of an asset may call, as the contract of the asset announces them. */
  readonly administered: ReadonlyArray<Pick<Call, "contract" | "name">>
  /** Accounts of which the call may write an entry whose change the answer does not show. */
  readonly unshown: ReadonlyArray<string>
  /** A part of the answer that this version cannot read. */
  readonly unreadable?: string
}

/** The accounts that a simulation names. */
export const addressesIn = ({ auth, changes, unshown }: Simulated): ReadonlyArray<string> => [
  ...auth.flatMap(({ credentials }) => signersOf(credentials)),
  ...changes.flatMap((change) => (change.kind === "unexpected" ? [] : [change.address])),
  ...unshown
]

const authOf = ({ operations }: TransactionEnvelope): ReadonlyArray<AuthEntry> =>
  operations.flatMap((operation) => (operation.type === "invokeHostFunction" ? operation.auth : []))

/** `isGuest`: the source of the envelope is a user, so that an authorization by the source is the user's. */
const isOfService = ({ credentials }: AuthEntry, { own }: Terms, isGuest: boolean): boolean =>
  (credentials.kind === "source" && !isGuest) || signersOf(credentials).some((address) => own.has(address))

/** The simulation asks for an authorization of the relayer that the request does not give. */
export const notGranted = (
  envelope: TransactionEnvelope,
  { auth }: Simulated,
  terms: Terms,
  isGuest = false
): Refusal | undefined => {
  const given = new Set(authOf(envelope).map(({ xdr }) => xdr))
  return auth.some((entry) => isOfService(entry, terms, isGuest) && !given.has(entry.xdr))
    ? refusal("auth_not_granted", "the call needs an authorization of the relayer that the request does not contain")
    : undefined
}

type AccountChange = Extract<EntryChange, { readonly kind: "account" }>

/** Accounts of the service before and after. One that the call makes has taken nothing. */
const ownAccountsIn = ({ changes }: Simulated, { own }: Terms): ReadonlyArray<AccountChange> =>
  changes.flatMap((change) => (change.kind === "account" && own.has(change.address) ? [change] : []))

const lost = ({ before, after }: AccountChange): bigint =>
  before === undefined ? 0n : before.balance - (after?.balance ?? 0n)

const locked = ({ before, after }: AccountChange, { baseReserve }: Terms): bigint =>
  before === undefined || after === undefined ? 0n : BigInt(after.reserves - before.reserves) * baseReserve

const sum = (amounts: ReadonlyArray<bigint>): bigint => amounts.reduce((total, amount) => total + amount, 0n)

/** Stroops that a call takes from accounts of the service, or locks there as reserves. Negative: they get more. */
export const takenByCall = (simulated: Simulated, terms: Terms): bigint =>
  sum(ownAccountsIn(simulated, terms).map((change) => lost(change) + locked(change, terms)))

const changed = (detail: string): Refusal => refusal("balance_change", detail)

/** An account of the service of which the answer does not show what the call changes. */
export const hidden = ({ unshown }: Simulated, { own }: Terms): Refusal | undefined => {
  const found = unshown.find((address) => own.has(address))
  return found === undefined ? undefined : changed(`the simulation does not show what the call changes of ${found}`)
}

/** What the answer has to show of a call before anything is signed. */
const unread = (simulated: Simulated, terms: Terms): Refusal | undefined => {
  const { changes, unreadable } = simulated
  if (unreadable !== undefined) return changed(`the simulation has a part that cannot be read: ${unreadable}`)
  const unshown = hidden(simulated, terms)
  if (unshown !== undefined) return unshown
  const other = changes.find(({ kind }) => kind === "unexpected")
  return other?.kind === "unexpected"
    ? changed(`the call changes an entry of the type ${other.name}, which this version knows of no call`)
    : undefined
}

/** What no call may do with an account of the service. `actor`: the relayer, if its account acts in the call. */
const ownAccount = (change: AccountChange, actor: string | undefined, terms: Terms): Refusal | undefined => {
  const { maxSubentries } = terms
  const { address, after, before } = change
  if (before === undefined) return undefined
  if (after === undefined) return changed(`the call ends the account ${address}`)
  if (after.rest !== before.rest) return changed(`the call changes signers, thresholds or options of ${address}`)
  if (address !== actor && (lost(change) > 0n || locked(change, terms) > 0n || after.subentries > before.subentries)) {
    return changed(`the call takes XLM of ${address} or locks it, and that account of this service does not act in it`)
  }
  return after.subentries > before.subentries && after.subentries > maxSubentries
    ? refusal(
        "too_many_subentries",
        `the account would have ${after.subentries} entries, at most ${maxSubentries} are allowed`
      )
    : undefined
}

/** A policy without the operation `createAccount` lets no contract do the same with XLM of the relayer (CAP-73). */
const createdAccount = (simulated: Simulated, terms: Terms): Refusal | undefined => {
  if (terms.allowedOperations.includes("createAccount")) return undefined
  if (!ownAccountsIn(simulated, terms).some((change) => lost(change) > 0n)) return undefined
  const created = simulated.changes.find(
    (change) => change.kind === "account" && change.before === undefined && !terms.own.has(change.address)
  )
  return created?.kind === "account"
    ? changed(`the call creates the account ${created.address}, and allowed_operations has no createAccount`)
    : undefined
}

/** Functions of the contract of an asset, with the operation that does the same. Undefined: no policy allows it. */
const administration: Readonly<Record<string, string | undefined>> = {
  set_admin: undefined,
  set_authorized: "setTrustLineFlags",
  clawback: "clawback"
}

const has = ({ below, call }: Invocation, { contract, name }: Pick<Call, "contract" | "name">): boolean =>
  (call?.contract === contract && call.name === name) || below.some((one) => has(one, { contract, name }))

/** What the relayer may not do with its assets by operations, it may not do by their contracts. */
export const administers = (
  envelope: TransactionEnvelope,
  { administered }: Simulated,
  terms: Terms,
  isGuest = false
): Refusal | undefined => {
  const trees = authOf(envelope).flatMap((entry) => (isOfService(entry, terms, isGuest) ? [entry.root] : []))
  const found = administered.find((one) => {
    const operation = administration[one.name]
    const isAllowed = operation !== undefined && terms.allowedOperations.includes(operation)
    return !isAllowed && trees.some((tree) => has(tree, one))
  })
  return found === undefined
    ? undefined
    : changed(`the call administers an asset by ${found.name} of ${found.contract}, and the policy does not allow it`)
}

const removedToken = ({ changes }: Simulated, { allowedTokens, own }: Terms): Refusal | undefined => {
  const removed = changes.find(
    (change) =>
      change.kind === "trustline" &&
      change.after === undefined &&
      own.has(change.address) &&
      allowedTokens.includes(change.asset)
  )
  return removed?.kind === "trustline" ? changed(`the call removes the trust line of ${removed.asset}`) : undefined
}

/**
 * What a call changes of accounts of the service, by its simulation, against the policy and the limits of the API key. `actor`: the
 * relayer, if its account acts in the call; in the envelope of a user no account of the service does.
 */
export const ownChanges = (
  simulated: Simulated,
  terms: Terms,
  { actor, maxValue }: { readonly actor: string | undefined; readonly maxValue: bigint | undefined }
): Refusal | undefined => {
  const broken =
    unread(simulated, terms) ??
    ownAccountsIn(simulated, terms).flatMap((change) => ownAccount(change, actor, terms) ?? [])[0] ??
    createdAccount(simulated, terms) ??
    removedToken(simulated, terms)
  if (broken !== undefined || maxValue === undefined) return broken
  const taken = takenByCall(simulated, terms)
  return taken > maxValue
    ? changed(`the call takes ${taken} stroops, more than ${maxValue}, the max_value of the API key`)
    : undefined
}

/** With the reserve of the network, and the trust lines that contracts make, which acceptance does not know. */
export const beyondValue = (
  envelope: TransactionEnvelope,
  terms: Terms,
  maxValue: bigint | undefined
): Refusal | undefined => {
  const { value } = sendsOf(envelope, terms)
  return maxValue !== undefined && value > maxValue
    ? changed(`the envelope sends or locks ${value} stroops, more than ${maxValue}, the max_value of the API key`)
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
  terms: Terms
): Refusal | undefined => {
  const { maxSubentries } = terms
  const added = addedSubentries(envelope, terms)
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
