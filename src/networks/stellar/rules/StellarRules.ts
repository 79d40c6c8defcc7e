// The rules of stellar, as the core asks for them, with the checks of sends before they are stored.
// The rest of this folder is behind them.
import { Result } from "effect"
import { maxChannels } from "../../../domain/relayer/Policy.ts"
import type { Violation } from "../../../domain/request/Request.ts"
import { cause } from "../../core/Cause.ts"
import { present } from "../../core/Presentation.ts"
import { cancelOpen, deadlineViolations, replaced } from "../../core/Rules.ts"
import type { Cancellation, Heard, Rules, TransactionConflict } from "../../core/Rules.ts"
import { afterSend } from "../../core/Transaction.ts"
import type { Attempt, Transaction } from "../../core/Transaction.ts"
import { timing } from "../../core/TransactionRequests.ts"
import type { Moment, Point } from "../../core/TransactionValues.ts"
import { refusedLast } from "./DecideInFlight.ts"
import { CountersJson, FactsJson, momentOf, OfferJson, ReceiptJson, RefusalJson, RequestJson } from "./Stellar.ts"
import type { Stellar, StellarRefusal, StellarRequest, StellarTarget } from "./Stellar.ts"
import { decide, resolve } from "./StellarDecision.ts"
import { defaultValidity, leastPollInterval, maxGuests, maxOperations, pollsPerLedger } from "./StellarNumbers.ts"
import { isSoroban } from "./StellarRequests.ts"
import type { ReplaceStellarTransaction, SendStellarTransaction } from "./StellarRequests.ts"
import { StellarTransactionResponse } from "./StellarResponses.ts"
import { answerClassOf } from "./StellarSeen.ts"
import type { AnswerClass, NodeAnswer } from "./StellarSeen.ts"
import { highestFeeOf, placeOf, stellarTermsOf, survey, usersPay } from "./StellarTerms.ts"
import { parseAddress } from "../../../domain/chain/StrKey.ts"
import { explain, showTransaction } from "./StellarWords.ts"

// What the answers of nodes to a broadcast are, taken together. An answer proves nothing; it says what is worth trying next.

type Refused = Exclude<AnswerClass, { readonly kind: "accepted" | "provider" }>

/** If nodes differ, the answer counts after which the same bytes may still be taken. */
const byHope: ReadonlyArray<Refused["kind"]> = [
  "not_now",
  "look",
  "funds",
  "fee",
  "resources",
  "too_late",
  "other",
  "permanent"
]

const refusalOf = (refused: Refused, { refusal: former }: Attempt<Stellar>): StellarRefusal => {
  const { kind } = refused
  const named = present("result", refused.result)
  if (kind === "fee") return { class: kind, needed: refused.needed, ...named }
  if (kind !== "not_now" && kind !== "other") return { class: kind, ...named }
  return { class: "not_now", times: (former?.class === "not_now" ? (former.times ?? 0) : 0) + 1, ...named }
}

/** All nodes that answered want more. The highest fee satisfies each. */
const dearestRefusal = (refused: ReadonlyArray<Refused>, found: Refused): Refused =>
  refused.reduce(
    (most, one) => (most.kind === "fee" && one.kind === "fee" && one.needed > most.needed ? one : most),
    found
  )

const mostHopeful = (refused: ReadonlyArray<Refused>): Refused | undefined => {
  const [found] = refused.toSorted((one, other) => byHope.indexOf(one.kind) - byHope.indexOf(other.kind))
  return found && dearestRefusal(refused, found)
}

/** No answers: no provider could be asked. */
export const hear = (attempt: Attempt<Stellar>, answers: ReadonlyArray<NodeAnswer>, at: Point): Heard<Stellar> => {
  const classes = answers.map(answerClassOf)
  const isAccepted = classes.some(({ kind }) => kind === "accepted")
  const refused = classes.flatMap((one) => (one.kind === "accepted" || one.kind === "provider" ? [] : [one]))
  const found = isAccepted ? undefined : mostHopeful(refused)
  // An unknown answer of one node is no refusal of all.
  const isRefused = found !== undefined && (refused.length === classes.length || found.kind !== "permanent")
  return {
    attempt: afterSend(attempt, at, {
      outcome: isAccepted ? "accepted" : found?.kind === "permanent" && isRefused ? "refused" : "unknown",
      refusal: isRefused ? refusalOf(found, attempt) : undefined
    }),
    isAccepted,
    triesOlder: false,
    isWindowFull: false
  }
}

/** Until when what was signed can be applied. */
const lastMaxTime = ({ attempts }: Transaction<Stellar>): Moment | undefined =>
  attempts.length === 0 ? undefined : momentOf(Math.max(...attempts.map(({ offer }) => offer.maxTime)))

/** After the first signature, a cancel only prevents further envelopes. */
const cancel = (transaction: Transaction<Stellar>): Result.Result<Cancellation, TransactionConflict> => {
  const decided = cancelOpen(transaction)
  if (decided !== undefined) return decided
  const { restored, state } = transaction
  if (state === "pending" && !restored) return Result.succeed({ _tag: "finish" })
  const until = lastMaxTime(transaction)
  const why = restored ? cause("restored_unproven") : cause("canceling", until === undefined ? {} : { until })
  return Result.succeed({ _tag: "intend", intent: "cancel", cause: why })
}

/** The user has signed what is to be executed: another version would be another transaction. */
const replacementViolations: Rules<Stellar>["replacementViolations"] = (transaction, _, validUntil) => {
  const { build, guest } = transaction.facts
  if (guest !== undefined || build !== undefined) {
    return [{ field: "transaction_xdr", message: "is signed by its user, so it cannot be replaced; send another one" }]
  }
  return deadlineViolations(transaction, validUntil)
}

/** Arguments of calls can be secret until they are applied. */
const auditedOf = ({ operations, transaction_xdr }: StellarRequest) =>
  operations === undefined
    ? { xdr_length: transaction_xdr?.length ?? 0 }
    : { operations: operations.map(({ type }) => type) }

export const stellarRules: Rules<Stellar> = {
  type: "stellar",
  request: RequestJson,
  facts: FactsJson,
  offer: OfferJson,
  refusal: RefusalJson,
  counters: CountersJson,
  receipt: ReceiptJson,
  shown: StellarTransactionResponse,
  targetOf: ({ relayer, network }) =>
    relayer.network_type === "stellar" && network.network_type === "stellar" ? { relayer, network } : undefined,
  // Networks of different names can be the same chain: the passphrase decides.
  laneOf: ({ relayer, network }) => ({
    chain: `stellar:${network.passphrase}`,
    address: relayer.address,
    window: 1 + maxGuests + maxChannels
  }),
  pollInterval: ({ network }) => Math.max(leastPollInterval, network.average_blocktime_ms / pollsPerLedger),
  auditedOf,
  identityOf: (_, { build, guest }) => guest?.innerHash ?? build,
  exclusiveOf: (_, { guest }) => (guest === undefined ? undefined : `${guest.account}:${guest.sequence}`),
  termsOf: (target, transaction) => stellarTermsOf(target, transaction),
  survey,
  placeOf,
  decide,
  costOf: (request, { fee, out }) => (request === undefined ? fee : fee + out),
  maxFeeOf: ({ fee }) => fee,
  hear: (_, attempt, answers, at) => hear(attempt, answers, at),
  couldBe: () => false,
  refusedLast,
  replacementViolations,
  replaced,
  cancel,
  resolve,
  explain,
  show: showTransaction
}

// Checks of a send that need its relayer, its network and the time.

export interface Admission {
  readonly now: Moment
  /** Address of the relayer. */
  readonly relayer: string
  /** Name of the relayer's network. */
  readonly network: string
  /** What the policy says: `usersPay` and `highestFeeOf`. */
  readonly usersPay: boolean
  readonly highestFee: bigint | undefined
}

type AdmissionRule = (request: SendStellarTransaction, admission: Admission) => Violation | undefined

/** A send without `valid_until` ends two minutes after it may begin. */
const times = timing(defaultValidity)

export const { deadlineOf } = times

const networkOfRelayer: AdmissionRule = (request, { network }) =>
  request.network === network
    ? undefined
    : { field: "network", message: `must be ${network}, the network of the relayer` }

const sourceIsRelayer: AdmissionRule = ({ operations, source_account }, { relayer }) =>
  operations === undefined || source_account === undefined || source_account === relayer
    ? undefined
    : { field: "source_account", message: `must be ${relayer}, the address of the relayer` }

const strategy: AdmissionRule = ({ operations }, { usersPay }) =>
  operations !== undefined && usersPay
    ? { field: "operations", message: "sponsoring_only: the relayer's policy has the fee_payment_strategy user" }
    : undefined

/** Nobody signs a recorded authorization, and the network takes none of an account without its signature. */
const recordedWithoutAccounts: AdmissionRule = ({ operations = [] }) => {
  const signers = operations.flatMap((operation) =>
    operation.type !== "payment" && operation.auth?.type === "addresses" ? operation.auth.signers : []
  )
  const account = signers.find((address) => parseAddress(address)?.kind === "account")
  return account === undefined
    ? undefined
    : {
        field: "operations",
        message: `auth of the type addresses is not signed, and the account ${account} has to sign: give its signed authorization with auth of the type xdr`
      }
}

const feeWithinPolicy: AdmissionRule = ({ max_fee }, { highestFee }) =>
  max_fee !== undefined && highestFee !== undefined && max_fee > highestFee
    ? { field: "max_fee", message: `must be at most ${highestFee}, the max_fee of the relayer's policy` }
    : undefined

const admissionRules: ReadonlyArray<AdmissionRule> = [
  networkOfRelayer,
  sourceIsRelayer,
  strategy,
  recordedWithoutAccounts,
  feeWithinPolicy,
  times.deadline,
  times.beginning
]

/** What is wrong with a request that was decoded, besides `inconsistenciesOf`. Empty: it is admitted. */
export const violationsOf = (request: SendStellarTransaction, admission: Admission): ReadonlyArray<Violation> =>
  admissionRules.flatMap((rule) => rule(request, admission) ?? [])

// Checks of the fields of a send against each other. The texts are those of the common wire format.

/** A request to send, quote or build. Requests to quote or build have fewer fields. */
type RequestFields = Omit<SendStellarTransaction, "network">

type FieldRule = (request: RequestFields) => Violation | undefined

const operationsOrEnvelope: FieldRule = ({ operations, transaction_xdr }) => {
  if (operations !== undefined && transaction_xdr !== undefined) {
    return { field: "operations", message: "Cannot provide both operations and transaction_xdr" }
  }
  return operations === undefined && transaction_xdr === undefined
    ? { field: "operations", message: "Must provide either operations or transaction_xdr" }
    : undefined
}

const count: FieldRule = ({ operations }) => {
  if (operations?.length === 0) return { field: "operations", message: "Transaction must have at least one operation" }
  return operations !== undefined && operations.length > maxOperations
    ? {
        field: "operations",
        message: `Transaction has ${operations.length} operations, but maximum allowed is ${maxOperations}`
      }
    : undefined
}

const soroban: FieldRule = ({ memo, operations = [] }) => {
  const calls = operations.filter(isSoroban).length
  if (calls === 0) return undefined
  if (calls > 1) return { field: "operations", message: "Transaction can contain at most one Soroban operation" }
  if (operations.length > 1) {
    const message = "Soroban operations must be exclusive - no other operations allowed in the same transaction"
    return { field: "operations", message }
  }
  return memo === undefined || memo.type === "none"
    ? undefined
    : { field: "memo", message: "Soroban operations cannot have a memo (except MemoNone)" }
}

const memo: FieldRule = ({ memo, transaction_xdr }) =>
  memo !== undefined && transaction_xdr !== undefined
    ? { field: "memo", message: "is only valid with operations: an envelope has its own memo" }
    : undefined

const bump: FieldRule = ({ fee_bump, operations }) =>
  fee_bump === true && operations !== undefined
    ? { field: "fee_bump", message: "Cannot request fee_bump with operations mode" }
    : undefined

const authorization: FieldRule = ({ fee_bump, signed_auth_entry, transaction_xdr }) => {
  if (signed_auth_entry === undefined) return undefined
  if (transaction_xdr === undefined) {
    return { field: "signed_auth_entry", message: "signed_auth_entry requires transaction_xdr to be provided" }
  }
  return fee_bump === true
    ? { field: "signed_auth_entry", message: "Cannot use both signed_auth_entry and fee_bump" }
    : undefined
}

const sequence: FieldRule = ({ fee_bump, sequence, signed_auth_entry }) =>
  sequence !== undefined && (fee_bump === true || signed_auth_entry !== undefined)
    ? { field: "sequence", message: "cannot be given for an envelope that is signed" }
    : undefined

/** The user pays for the call only. */
const restoreForUser: FieldRule = ({ restore_footprint, signed_auth_entry }) =>
  restore_footprint === true && signed_auth_entry !== undefined
    ? { field: "restore_footprint", message: "cannot be used with signed_auth_entry: the user pays only for the call" }
    : undefined

const fieldRules: ReadonlyArray<FieldRule> = [
  operationsOrEnvelope,
  count,
  soroban,
  memo,
  bump,
  authorization,
  sequence,
  restoreForUser
]

export const inconsistenciesOf = (request: RequestFields): ReadonlyArray<Violation> =>
  fieldRules.flatMap((rule) => rule(request) ?? [])

/** A send, or a replacement, which has less. */
export type StellarBody = SendStellarTransaction | ReplaceStellarTransaction

/** What is stored of a body. */
export const requestOfBody = (body: StellarBody): StellarRequest => ({
  ...present("operations", body.operations),
  ...present("memo", body.memo),
  ...present("transaction_xdr", body.transaction_xdr),
  ...present("signed_auth_entry", body.signed_auth_entry),
  ...present("max_fee", body.max_fee),
  ...present("restore_footprint", body.restore_footprint),
  ...present("wait_for_funds", body.wait_for_funds)
})

/** What is known before the envelope is read. */
export const earlyViolations = (body: StellarBody, target: StellarTarget, now: Moment): ReadonlyArray<Violation> => [
  ...inconsistenciesOf(body),
  ...violationsOf(body, {
    now,
    relayer: target.relayer.address,
    network: target.network.name,
    usersPay: usersPay(target),
    highestFee: highestFeeOf(target)
  })
]

// Methods that callers may send to the providers of a stellar network. Bytes are only sent by lanes.

export const passedMethods = {
  standard: new Set([
    "getHealth",
    "getNetwork",
    "getVersionInfo",
    "getLatestLedger",
    "getLedgers",
    "getLedgerEntries",
    "getTransaction",
    "getTransactions",
    "getEvents",
    "getFeeStats",
    "simulateTransaction"
  ]),
  never: new Set(["sendTransaction"])
}
