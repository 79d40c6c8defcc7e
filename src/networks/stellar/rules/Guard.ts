// Decides whether the service signs an envelope, by the envelope alone or by what the chain says of it.
// It runs at admission, and again on the final bytes before each signature.
import { Result } from "effect"
import {
  commonRules,
  eachOperation,
  entriesAddedBy,
  firstBroken,
  paidResources,
  refusal,
  refuse,
  sendsOf,
  signersOf,
  timeBounds
} from "./Envelope.ts"
import type {
  AssetName,
  AuthEntry,
  Call,
  Envelope,
  GuardRule,
  GuardTerms,
  Invocation,
  Operation,
  Refusal,
  TransactionEnvelope
} from "./Envelope.ts"
import { forwards } from "./SponsoredPayment.ts"
import { authorizationMargin, declaredResourceMargin, isResourceFeeTooHigh, outerFee } from "./StellarNumbers.ts"

/** Operations of the relayer's own account that need no permission of its policy. */
const defaultOperations: ReadonlySet<string> = new Set([
  "payment",
  "pathPaymentStrictReceive",
  "pathPaymentStrictSend",
  "changeTrust",
  "invokeHostFunction",
  "extendFootprintTtl",
  "restoreFootprint"
])

/** Operations that give the account away or end it. No policy allows them. */
const neverAllowed: ReadonlySet<string> = new Set(["accountMerge", "setOptions", "bumpSequence"])

const strategy: GuardRule = (_, { strategy }) =>
  strategy === "user"
    ? refusal(
        "sponsoring_only",
        "the relayer's policy lets it pay only for envelopes of users: fee_payment_strategy is user"
      )
    : undefined

const unsigned: GuardRule = ({ signatureCount }) =>
  signatureCount === 0 ? undefined : refusal("xdr_signed", "Expected unsigned XDR but received signed XDR")

const ownSource: GuardRule = ({ source }, { channel, relayer }) =>
  source.address === (channel ?? relayer)
    ? undefined
    : refusal(
        "source_account_mismatch",
        `XDR source account ${source.address} does not match relayer account ${relayer}`
      )

const ownOperationSource = eachOperation(({ source }, number, { relayer }) =>
  source === undefined || (source.address === relayer && !source.isMuxed)
    ? undefined
    : refusal("operation_source", `operation ${number} has another source than the relayer`)
)

const isAllowed = ({ type }: Operation, { allowedOperations }: GuardTerms): boolean =>
  !neverAllowed.has(type) && (defaultOperations.has(type) || allowedOperations.includes(type))

const allowed = eachOperation((operation, number, terms) =>
  isAllowed(operation, terms) ? undefined : refusal("operation_not_allowed", `operation ${number} is ${operation.type}`)
)

/** A trust line of a token that users pay with must stay. */
const removedToken = eachOperation((operation, number, { allowedTokens }) =>
  operation.type === "changeTrust" && operation.limit === 0n && allowedTokens.includes(operation.asset)
    ? refusal("operation_not_allowed", `operation ${number} removes the trust line of an allowed token`)
    : undefined
)

/** Entries for trust lines that the envelope adds to the account at most. */
export const addedSubentries = (
  { operations }: TransactionEnvelope,
  { assetContracts }: Pick<GuardTerms, "assetContracts">
): number => operations.reduce((total, operation) => total + entriesAddedBy(operation, assetContracts), 0)

const subentries: GuardRule = (envelope, terms) =>
  addedSubentries(envelope, terms) > terms.maxSubentries
    ? refusal(
        "too_many_subentries",
        `the envelope adds ${addedSubentries(envelope, terms)} entries, at most ${terms.maxSubentries} are allowed`
      )
    : undefined

const ownRules: ReadonlyArray<GuardRule> = [
  strategy,
  unsigned,
  ...commonRules,
  paidResources,
  ownSource,
  ownOperationSource,
  allowed,
  removedToken,
  subentries
]

const signed: GuardRule = ({ signatureCount }) =>
  signatureCount > 0 ? undefined : refusal("xdr_unsigned", "Cannot request fee_bump with unsigned XDR")

const foreignSource: GuardRule = ({ source }, { own }) =>
  own.has(source.address)
    ? refusal("source_is_own", `${source.address} is an account of this service: send without fee_bump`)
    : undefined

const foreignOperationSource = eachOperation(({ source }, number, { own }) =>
  source !== undefined && own.has(source.address)
    ? refusal("operation_source", `operation ${number} acts for an account of this service`)
    : undefined
)

const foreignSignatures: GuardRule = ({ signatures, source }, { own }) => {
  if (signatures.some(({ address, isValid }) => isValid && own.has(address))) {
    return refusal("signed_by_own", "the envelope has a signature of an account of this service")
  }
  const ofSource = signatures.filter(({ address }) => address === source.address)
  return ofSource.some(({ isValid }) => !isValid)
    ? refusal("signature_invalid", "the signature of the source does not fit: it may be for another network")
    : undefined
}

/** The fee of the fee bump that the service would sign. */
export const outerFeeOf = (
  { fee, operations: { length: operations }, resourceFee = 0n }: TransactionEnvelope,
  { rate }: GuardTerms
): bigint => outerFee({ fee, operations, resourceFee }, rate)

const cap: GuardRule = (envelope, terms) => {
  const needed = outerFeeOf(envelope, terms)
  return needed > terms.cap
    ? refusal("fee_above_cap", `max_fee (${terms.cap}) is insufficient. Required fee-bump fee: ${needed}`)
    : undefined
}

/** The rules of a user's envelope before the user has signed it. */
const builtRules: ReadonlyArray<GuardRule> = [...commonRules, timeBounds, foreignSource, foreignOperationSource, cap]

const foreignRules: ReadonlyArray<GuardRule> = [
  ...commonRules,
  timeBounds,
  signed,
  foreignSource,
  foreignOperationSource,
  foreignSignatures,
  cap
]

/**
 * `operations` and `unsigned`: the relayer's account acts, and the service sets sequence, fee and time bounds. `sign`: the
 * same, but the caller sends the envelope as it is. `bump`: the account of a user acts, and the relayer pays. `built`: the same,
 * before the user has signed the envelope. `forward`: the relayer's account only calls the forwarder, for a user who pays it.
 */
export type GuardMode = "operations" | "unsigned" | "sign" | "bump" | "built" | "forward"

/** The fee is the caller's: nothing is left to bid. */
const ownFee: GuardRule = ({ fee }, { cap }) =>
  fee > cap
    ? refusal("fee_above_cap", `the fee must be at most ${cap}, the max_fee of the relayer's policy`)
    : undefined

const rulesOf: Readonly<Record<GuardMode, ReadonlyArray<GuardRule>>> = {
  operations: ownRules,
  unsigned: ownRules,
  sign: [...ownRules, timeBounds, ownFee],
  bump: foreignRules,
  built: builtRules,
  forward: [unsigned, ...commonRules, paidResources, ownSource, ownOperationSource, forwards]
}

export const guard = (
  mode: GuardMode,
  envelope: Envelope,
  terms: GuardTerms
): Result.Result<TransactionEnvelope, Refusal> => {
  if (envelope.kind === "feeBump") {
    return mode === "bump" || mode === "built"
      ? refuse("xdr_kind", "the envelope is a fee bump itself")
      : refuse("xdr_signed", "the envelope is a fee bump: send its inner transaction with fee_bump")
  }
  if (envelope.kind === "v0") return refuse("xdr_kind", "the envelope has the format V0, which has no use any more")
  const broken = firstBroken(rulesOf[mode], envelope, terms)
  return broken === undefined ? Result.succeed(envelope) : Result.fail(broken)
}

// Rules of the guard that need the chain. A transaction that breaks one ends before its first signature.

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
export interface SimulationFindings {
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
export const addressesIn = ({ auth, changes, unshown }: SimulationFindings): ReadonlyArray<string> => [
  ...auth.flatMap(({ credentials }) => signersOf(credentials)),
  ...changes.flatMap((change) => (change.kind === "unexpected" ? [] : [change.address])),
  ...unshown
]

const authOf = ({ operations }: TransactionEnvelope): ReadonlyArray<AuthEntry> =>
  operations.flatMap((operation) => (operation.type === "invokeHostFunction" ? operation.auth : []))

/** `isGuest`: the source of the envelope is a user, so that an authorization by the source is the user's. */
const isOfService = ({ credentials }: AuthEntry, { own }: GuardTerms, isGuest: boolean): boolean =>
  (credentials.kind === "source" && !isGuest) || signersOf(credentials).some((address) => own.has(address))

/** The simulation asks for an authorization of the relayer that the request does not give. */
export const notGranted = (
  envelope: TransactionEnvelope,
  { auth }: SimulationFindings,
  terms: GuardTerms,
  isGuest = false
): Refusal | undefined => {
  const given = new Set(authOf(envelope).map(({ xdr }) => xdr))
  return auth.some((entry) => isOfService(entry, terms, isGuest) && !given.has(entry.xdr))
    ? refusal("auth_not_granted", "the call needs an authorization of the relayer that the request does not contain")
    : undefined
}

type AccountChange = Extract<EntryChange, { readonly kind: "account" }>

/** Accounts of the service before and after. One that the call makes has taken nothing. */
const ownAccountsIn = ({ changes }: SimulationFindings, { own }: GuardTerms): ReadonlyArray<AccountChange> =>
  changes.flatMap((change) => (change.kind === "account" && own.has(change.address) ? [change] : []))

const lost = ({ before, after }: AccountChange): bigint =>
  before === undefined ? 0n : before.balance - (after?.balance ?? 0n)

const locked = ({ before, after }: AccountChange, { baseReserve }: GuardTerms): bigint =>
  before === undefined || after === undefined ? 0n : BigInt(after.reserves - before.reserves) * baseReserve

const sumOfAmounts = (amounts: ReadonlyArray<bigint>): bigint => amounts.reduce((total, amount) => total + amount, 0n)

/** Stroops that a call takes from accounts of the service, or locks there as reserves. Negative: they get more. */
export const takenByCall = (simulated: SimulationFindings, terms: GuardTerms): bigint =>
  sumOfAmounts(ownAccountsIn(simulated, terms).map((change) => lost(change) + locked(change, terms)))

const changed = (detail: string): Refusal => refusal("balance_change", detail)

/** An account of the service of which the answer does not show what the call changes. */
export const hiddenChange = ({ unshown }: SimulationFindings, { own }: GuardTerms): Refusal | undefined => {
  const found = unshown.find((address) => own.has(address))
  return found === undefined ? undefined : changed(`the simulation does not show what the call changes of ${found}`)
}

/** What the answer has to show of a call before anything is signed. */
const unread = (simulated: SimulationFindings, terms: GuardTerms): Refusal | undefined => {
  const { changes, unreadable } = simulated
  if (unreadable !== undefined) return changed(`the simulation has a part that cannot be read: ${unreadable}`)
  const unshown = hiddenChange(simulated, terms)
  if (unshown !== undefined) return unshown
  const other = changes.find(({ kind }) => kind === "unexpected")
  return other?.kind === "unexpected"
    ? changed(`the call changes an entry of the type ${other.name}, which this version knows of no call`)
    : undefined
}

/** What no call may do with an account of the service. `actor`: the relayer, if its account acts in the call. */
const ownAccount = (change: AccountChange, actor: string | undefined, terms: GuardTerms): Refusal | undefined => {
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
const createdAccount = (simulated: SimulationFindings, terms: GuardTerms): Refusal | undefined => {
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
  { administered }: SimulationFindings,
  terms: GuardTerms,
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

const tokenRemovedByCall = (
  { changes }: SimulationFindings,
  { allowedTokens, own }: GuardTerms
): Refusal | undefined => {
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
  simulated: SimulationFindings,
  terms: GuardTerms,
  { actor, maxValue }: { readonly actor: string | undefined; readonly maxValue: bigint | undefined }
): Refusal | undefined => {
  const broken =
    unread(simulated, terms) ??
    ownAccountsIn(simulated, terms).flatMap((change) => ownAccount(change, actor, terms) ?? [])[0] ??
    createdAccount(simulated, terms) ??
    tokenRemovedByCall(simulated, terms)
  if (broken !== undefined || maxValue === undefined) return broken
  const taken = takenByCall(simulated, terms)
  return taken > maxValue
    ? changed(`the call takes ${taken} stroops, more than ${maxValue}, the max_value of the API key`)
    : undefined
}

/** With the reserve of the network, and the trust lines that contracts make, which acceptance does not know. */
export const beyondValue = (
  envelope: TransactionEnvelope,
  terms: GuardTerms,
  maxValue: bigint | undefined
): Refusal | undefined => {
  const { value } = sendsOf(envelope, terms)
  return maxValue !== undefined && value > maxValue
    ? changed(`the envelope sends or locks ${value} stroops, more than ${maxValue}, the max_value of the API key`)
    : undefined
}

/** A user declares a fee of resources that is higher than the call needs. */
export const declaredFee = ({ resourceFee }: TransactionEnvelope, simulated: SimulationFindings): Refusal | undefined =>
  resourceFee !== undefined && isResourceFeeTooHigh(resourceFee, simulated.resourceFee, declaredResourceMargin)
    ? refusal(
        "resource_fee_too_high",
        `the envelope declares ${resourceFee} stroops, the call needs ${simulated.resourceFee}`
      )
    : undefined

export const wouldFail = ({ error }: SimulationFindings): Refusal | undefined =>
  error === undefined ? undefined : refusal("would_fail", error)

/** Trust lines and other entries of the account afterwards. */
export const subentriesOnChain = (
  envelope: TransactionEnvelope,
  present: number,
  terms: GuardTerms
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
