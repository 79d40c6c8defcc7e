// The rules of evm, as the core asks for them: decisions, answers of nodes and of operators, and what the ledger stores.
import { Result, Schema, SchemaTransformation } from "effect"
import { canonical } from "../../../domain/chain/Amount.ts"
import type { Violation } from "../../../domain/request/Request.ts"
import { cause } from "../../core/Cause.ts"
import { present } from "../../core/Presentation.ts"
import type { Cause, Code, Figures } from "../../core/Cause.ts"
import { canReplace, cancelOpen, Command, deadlineViolations, replaced, TransactionConflict } from "../../core/Rules.ts"
import type { Answer, Cancellation, Heard, Predecessors, Rules } from "../../core/Rules.ts"
import { afterSend, currentAttempts, isInFlight, isNoop, newestRequest } from "../../core/Transaction.ts"
import type { Attempt, Transaction } from "../../core/Transaction.ts"
import { fasterOf, Speed } from "../../core/TransactionValues.ts"
import type { Moment, Point, TransactionId } from "../../core/TransactionValues.ts"
import { resolve } from "../../core/Transition.ts"
import { evmTermsOf, isCallAllowed, isReceiverAllowed } from "./Admission.ts"
import { delegateViolations } from "./AuthorizationRules.ts"
import { noDelegate } from "./Authorizations.ts"
import {
  changeIn,
  delegatedIn,
  effectAnswer,
  exclusiveDelegation,
  isBatch,
  isBound,
  isDelegation,
  isSameKind,
  stageOf
} from "./Delegation.ts"
import { costOf, givenFees, maxFeesOf, paidOf, speedOf } from "./Costs.ts"
import { decide } from "./Decision.ts"
import { destinationOf, isPrivate, nonceOf } from "./Evm.ts"
import type { Evm, EvmSurvey, Priced, Request } from "./Evm.ts"
import { networkNumbers, pollInterval, privateRestoreWait, unknownRefusalsBeforeHold } from "./EvmNumbers.ts"
import { EvmTransaction } from "./EvmSchemas.ts"
import { explain, show } from "./EvmWords.ts"
import { couldBe } from "./LaneNonces.ts"
import { highest, isReplacement, maxFeeOf, minimumReplacement, tipOf } from "./Market.ts"
import { classify, isUnexplained, minimumNeeded, wordsOf } from "./Refusal.ts"
import type { NodeAnswer, Refusal } from "./Refusal.ts"
import { isHeldBack, publicNonces } from "./Route.ts"

// What the answers of nodes to one broadcast mean for the attempt, its transaction and its lane.

/** The order in which refusals of several providers count: the first that occurs decides. A permanent one only decides if all are permanent. */
const order: ReadonlyArray<Refusal["class"]> = ["nonce", "bump", "price", "funds", "window", "order", "permanent"]

/** What the first node said whose words the table does not know. */
const unknownWords = (answers: ReadonlyArray<NodeAnswer>): string => {
  const answer = answers.find((one) => classify(one) === "unknown")
  const message = answer !== undefined && "message" in answer ? wordsOf(answer.message ?? "") : ""
  if (message !== "") return message
  return answer?._tag === "HttpError" ? `HTTP ${answer.status}` : "an error without a text"
}

/** Broadcasts in a row, this one included, that every provider refused in words that the table does not know. */
const timesAfter = ({ outcome, refusal }: Attempt<Evm>): number =>
  outcome === "refused" && refusal?.class === "unknown" ? (refusal.times ?? 0) + 1 : 1

/** What nodes say with words that the table does not know, beside what the others say. Undefined: all words are known. */
const unknownOf = (attempt: Attempt<Evm>, answers: ReadonlyArray<NodeAnswer>): Refusal | undefined => {
  const classes = answers.map(classify)
  if (!classes.includes("unknown")) return undefined
  const words = unknownWords(answers)
  if (classes.every((one) => one === "unknown")) return { class: "unknown", words, times: timesAfter(attempt) }
  return { class: order.find((one) => classes.includes(one)) ?? "unknown", words }
}

/** What all nodes say with words that the table knows. Undefined: one of them did not answer, so it may have the bytes. */
const knownOf = (answers: ReadonlyArray<NodeAnswer>): Refusal | undefined => {
  const classes = answers.map(classify)
  if (classes.some((one) => one === "provider" || one === "unknown")) return undefined
  const found = order.find((one) => classes.includes(one))
  if (found === undefined) return undefined
  const needed = answers
    .map((answer) => ("message" in answer ? minimumNeeded(answer.message ?? "") : undefined))
    .find((minimum) => minimum !== undefined)
  return needed === undefined ? { class: found } : { class: found, minimumNeeded: needed }
}

/** Not sent in vain: a pool may have it, or take it when prices or funds change. An older version is not waited for. */
const mayBeTaken = (other: Attempt<Evm>, attempt: Attempt<Evm>): boolean =>
  other.outcome !== "refused" ||
  (other.requestVersion === attempt.requestVersion && other.refusal?.class !== "permanent") ||
  other.refusal?.class === "nonce" ||
  isUnexplained(other)

/** A bump that no node takes says nothing about the attempts before it. */
const isHopeless = (transaction: Transaction<Evm>, attempt: Attempt<Evm>, refusal: Refusal | undefined): boolean =>
  refusal?.class === "permanent" &&
  !isNoop(attempt) &&
  transaction.intent === "execute" &&
  !currentAttempts(transaction).some((other) => other.ordinal !== attempt.ordinal && mayBeTaken(other, attempt))

const intendOf = (transaction: Transaction<Evm>, attempt: Attempt<Evm>, refusal: Refusal | undefined) =>
  isHopeless(transaction, attempt, refusal)
    ? { follows: Command.Intend({ intent: "clear", clearCode: "refused_by_all", cause: cause("refused_by_all") }) }
    : {}

/** No answers: no provider could be asked. What private providers say ends nothing, and says nothing about the pools of others. */
export const hear = (
  transaction: Transaction<Evm>,
  attempt: Attempt<Evm>,
  answers: ReadonlyArray<NodeAnswer>,
  at: Point
): Heard<Evm> => {
  const isAccepted = answers.some((answer) => classify(answer) === "accepted")
  const refusal = isAccepted ? undefined : knownOf(answers)
  const unknown = isAccepted ? undefined : unknownOf(attempt, answers)
  const isRefused = refusal !== undefined || unknown?.times !== undefined
  return {
    attempt: afterSend(attempt, at, {
      outcome: isAccepted ? "accepted" : isRefused ? "refused" : "unknown",
      refusal: refusal ?? unknown
    }),
    isAccepted,
    triesOlder: isRefused && refusal?.class !== "nonce",
    isWindowFull: !isPrivate(transaction, attempt) && answers.some((answer) => classify(answer) === "window"),
    ...(isPrivate(transaction, attempt) ? {} : intendOf(transaction, attempt, refusal))
  }
}

// What callers may still change about an evm transaction that may have been sent.

const intend: Cancellation = { _tag: "intend", intent: "cancel", cause: cause("canceling") }

/** With a nonce, a no-op is to use it. */
export const cancel = (transaction: Transaction<Evm>): Result.Result<Cancellation, TransactionConflict> => {
  const decided = cancelOpen(transaction)
  if (decided !== undefined) return decided
  if (isBound(transaction)) {
    return Result.fail(
      new TransactionConflict({
        error:
          "is a delegation that is signed: its authorization could be used by anybody if a no-op took its nonce. Wait until it is final, and end it with DELETE, or use `nonce/clear`"
      })
    )
  }
  if (transaction.state !== "pending") return Result.succeed(intend)
  // Its bytes may be out although the ledger does not know of them: an operator decides.
  if (transaction.restored) return Result.succeed({ ...intend, cause: cause("restored_unproven") })
  return Result.succeed({ _tag: "finish" })
}

/**
 * Bytes that left after the copy was made are seen nowhere while private providers keep them. The wait begins when the restore was noticed.
 */
const resolved = (
  transaction: Transaction<Evm>,
  answer: Answer,
  { now, usedBelow }: { readonly now: Moment; readonly usedBelow: bigint }
): Result.Result<Command<never>, TransactionConflict> => {
  const { causeSince, route } = transaction
  const end = Math.max(causeSince, route?.since ?? -Infinity) + privateRestoreWait
  return route?.kind === "private" && answer === "send" && now < end
    ? Result.fail(
        new TransactionConflict({
          error: `is private: its bytes may be with private providers, which show nothing. Try again ${Math.ceil((end - now) / 60_000)} minutes later`
        })
      )
    : (effectAnswer(transaction, answer, usedBelow) ?? resolve(transaction, answer, usedBelow))
}

/** Given fees have to replace what was sent, with a tip if it is private. Undefined: they do, or the request gives none. */
export const feeViolation = (transaction: Transaction<Evm>, request: Request): Violation | undefined => {
  const given = givenFees(request)
  const [first, ...others] = currentAttempts(transaction)
  if (given !== undefined && tipOf(given) === 0n && transaction.route?.kind === "private") {
    return { field: "max_priority_fee_per_gas", message: "must be at least 1 for a private transaction" }
  }
  if (given === undefined || first === undefined) return undefined
  const former = highest(first.offer.fees, ...others.map(({ offer }) => offer.fees))
  if (isReplacement(given, former)) return undefined
  const minimum = minimumReplacement(former)
  return given.type === "legacy"
    ? { field: "gas_price", message: `must be at least ${maxFeeOf(minimum)} to replace what was sent` }
    : {
        field: "max_fee_per_gas",
        message: `must be at least ${maxFeeOf(minimum)}, and max_priority_fee_per_gas at least ${tipOf(minimum)}, to replace what was sent`
      }
}

/** A delegation only gets higher prices, and the service raises them itself. */
const replaceable = (transaction: Transaction<Evm>): Result.Result<void, TransactionConflict> =>
  isDelegation(transaction)
    ? Result.fail(
        new TransactionConflict({ error: "is a delegation: it cannot be replaced, and the service raises its price" })
      )
    : canReplace(transaction)

/** A call instead of many, or many instead of one, would be another kind of transaction by mistake. */
const kindViolation = (transaction: Transaction<Evm>, request: Request): ReadonlyArray<Violation> => {
  if (isSameKind(transaction, request)) return []
  const message = isBatch(transaction)
    ? "is required, because the transaction makes many calls; to send something else, cancel it"
    : "cannot be given, because the transaction makes a single call; to send many calls, cancel it"
  return [{ field: "calls", message }]
}

/** `validUntil`: the new deadline. Absent: the deadline stays. */
export const replacementViolations = (
  transaction: Transaction<Evm>,
  request: Request,
  validUntil: Moment | undefined
): ReadonlyArray<Violation> => {
  const fee = feeViolation(transaction, request)
  return [
    ...kindViolation(transaction, request),
    ...(fee === undefined ? [] : [fee]),
    ...deadlineViolations(transaction, validUntil)
  ]
}

// Transactions that wait for others of their account, and what they show about the one in front.

/** Codes of bytes that nothing of the transaction itself holds back. */
const flying: ReadonlySet<Code> = new Set(["sending", "in_pool", "not_in_pool_rebroadcast"])

const codeOf = ({ cause: why }: Transaction<Evm>): Code => why?.code ?? "queued"

/** A call that reverts waits for transactions in flight, a required nonce for those that can get a lower one. */
const frontOf = (transaction: Transaction<Evm>) => {
  const code = codeOf(transaction)
  if (code !== "waits_for_predecessors") return flying.has(code) ? "in_flight" : undefined
  return transaction.cause?.figures.required_nonce === undefined ? "in_flight" : "pending"
}

/** Codes of bytes that the node which is asked has lost. */
const lost: ReadonlySet<Code> = new Set(["not_in_pool_rebroadcast", "dropped_by_node"])

/** No node has accepted its bytes, or the node that is asked has lost them. */
const isAtNoNode = (transaction: Transaction<Evm>): boolean =>
  transaction.state === "signed" || lost.has(codeOf(transaction))

const figuresOf = (front: Transaction<Evm>, front_id: TransactionId | undefined): Figures => {
  const front_nonce = nonceOf(front)
  return {
    front_code: codeOf(front),
    ...(front_nonce === undefined ? {} : { front_nonce }),
    ...(front_id === undefined ? {} : { front_id })
  }
}

const causeBehind = (
  transaction: Transaction<Evm>,
  front: Transaction<Evm>,
  id: TransactionId | undefined
): Cause | undefined => {
  const figures = figuresOf(front, id)
  const nonce = nonceOf(transaction)
  if (nonce === undefined) return cause("waits_for_predecessors", { ...transaction.cause?.figures, ...figures })
  const isHidden = isAtNoNode(front) || front.route?.kind === "private"
  const isBehind = (nonceOf(front) ?? nonce) < nonce && isHidden
  return isBehind ? cause("waits_for_predecessors", { nonce, ...figures }) : undefined
}

const predecessors: Predecessors<Evm> = { frontOf, causeBehind }

// How the ledger stores what only evm has: JSON in which amounts are strings of digits.

const Amount = Schema.BigIntFromString
const optional = Schema.optionalKey

const RequestJson = Schema.Struct({
  to: optional(Schema.String),
  value: Amount,
  data: optional(Schema.String),
  gas_limit: optional(Amount),
  gas_price: optional(Amount),
  max_fee_per_gas: optional(Amount),
  max_priority_fee_per_gas: optional(Amount),
  speed: optional(Speed),
  simulate: optional(Schema.Boolean),
  wait_for_funds: optional(Schema.Boolean),
  fails_without_funds: optional(Schema.Literal(true)),
  calls: optional(Schema.Array(Schema.Struct({ to: Schema.String, value: Amount, data: optional(Schema.String) }))),
  delegate: optional(Schema.String),
  authorization_list: optional(
    Schema.Array(
      Schema.Struct({
        chainId: Schema.Int,
        address: Schema.String,
        nonce: Schema.Int,
        yParity: Schema.Int,
        r: Schema.String,
        s: Schema.String,
        authority: Schema.String,
        isWithoutCode: optional(Schema.Literal(true))
      })
    )
  )
})

const delegationFields = {
  delegate: Schema.String,
  codeHash: optional(Schema.String),
  implementation: optional(Schema.String),
  beacon: optional(Schema.String),
  takesSignatures: Schema.Boolean
}

const FactsJson = Schema.Struct({ delegation: optional(Schema.Struct(delegationFields)) })

const CountersJson = Schema.Struct({
  delegation: optional(Schema.Struct({ ...delegationFields, nonce: Schema.Int, generation: Schema.Int }))
})

const charges = { gasLimit: Amount, rollupFee: optional(Amount) }

const StoredOffer = Schema.Union([
  Schema.Struct({ type: Schema.Literal("legacy"), gasPrice: Amount, ...charges }),
  Schema.Struct({ type: Schema.Literal("eip1559"), maxFee: Amount, tip: Amount, ...charges })
])

const Fees = Schema.Union([
  Schema.Struct({ type: Schema.Literal("legacy"), gasPrice: Schema.BigInt }),
  Schema.Struct({ type: Schema.Literal("eip1559"), maxFee: Schema.BigInt, tip: Schema.BigInt })
])

const Offer = Schema.Struct({ fees: Fees, gasLimit: Schema.BigInt, rollupFee: optional(Schema.BigInt) })

const OfferJson = StoredOffer.pipe(
  Schema.decodeTo(
    Offer,
    SchemaTransformation.transform({
      decode: ({ gasLimit, rollupFee, ...fees }: (typeof StoredOffer)["Type"]): Priced => ({
        fees,
        gasLimit,
        ...(rollupFee === undefined ? {} : { rollupFee })
      }),
      encode: ({ fees, ...charges }: Priced) => ({ ...fees, ...charges })
    })
  )
)

const Delegated = Schema.Array(Schema.NullOr(Schema.Boolean))

const StoredReceipt = Schema.Struct({
  blockNumber: Schema.Int,
  blockHash: optional(Schema.String),
  isSuccess: Schema.Boolean,
  /** Absent in receipts of earlier versions: what the gas and its price say. */
  paid: optional(Amount),
  gasUsed: Amount,
  effectiveGasPrice: Amount,
  dataFee: optional(Amount),
  operatorFee: optional(Amount),
  contractAddress: optional(Schema.String),
  code: optional(Schema.String),
  revertReason: optional(Schema.String),
  isOutOfGas: optional(Schema.Boolean),
  delegated: optional(Delegated)
})

const ReceiptDetails = Schema.Struct({
  gasUsed: Schema.BigInt,
  effectiveGasPrice: Schema.BigInt,
  dataFee: optional(Schema.BigInt),
  operatorFee: optional(Schema.BigInt),
  contractAddress: optional(Schema.String),
  code: optional(Schema.String),
  revertReason: optional(Schema.String),
  isOutOfGas: optional(Schema.Boolean),
  delegated: optional(Delegated)
})

const ReceiptShape = Schema.Struct({
  height: Schema.Int,
  blockHash: optional(Schema.String),
  isSuccess: Schema.Boolean,
  paid: Schema.BigInt,
  details: ReceiptDetails
})

const ReceiptJson = StoredReceipt.pipe(
  Schema.decodeTo(
    ReceiptShape,
    SchemaTransformation.transform({
      decode: ({
        blockNumber,
        blockHash,
        isSuccess,
        paid,
        ...details
      }: (typeof StoredReceipt)["Type"]): (typeof ReceiptShape)["Type"] => ({
        height: blockNumber,
        ...(blockHash === undefined ? {} : { blockHash }),
        isSuccess,
        paid: paid ?? paidOf(details),
        details
      }),
      encode: ({ height, details, ...receipt }: (typeof ReceiptShape)["Type"]): (typeof StoredReceipt)["Type"] => ({
        blockNumber: height,
        ...receipt,
        ...details
      })
    })
  )
)

const RefusalJson = Schema.Struct({
  class: Schema.Literals(["nonce", "bump", "price", "order", "funds", "window", "permanent", "unknown"]),
  minimumNeeded: optional(Amount),
  words: optional(Schema.String),
  times: optional(Schema.Int)
})

const isAccepted = (transaction: Transaction<Evm>): boolean =>
  currentAttempts(transaction).some(({ outcome }) => outcome === "accepted")

/** Those behind it would be refused as well, or wait for it. */
const isRefusedByAll = (transaction: Transaction<Evm>): boolean => {
  const newest = currentAttempts(transaction).at(-1)
  if (newest === undefined || transaction.state !== "signed" || isPrivate(transaction, newest)) return false
  return (newest.refusal?.times ?? 0) >= unknownRefusalsBeforeHold
}

const survey = (open: ReadonlyArray<Transaction<Evm>>): EvmSurvey => {
  const publics = publicNonces(open)
  const placed = open.filter(({ place }) => place !== undefined).length
  const common = { open: open.length, ...(placed === 0 ? {} : { placed }), ...present("delegation", stageOf(open)) }
  let found: EvmSurvey = { urgency: "safeLow", ...common }
  for (const transaction of open) {
    const urgency = fasterOf(found.urgency, speedOf(newestRequest(transaction)))
    const nonce = isInFlight(transaction) && !isAccepted(transaction) ? nonceOf(transaction) : undefined
    const { lowestUnaccepted = nonce, isRefused = isRefusedByAll(transaction) } = found
    found = {
      urgency,
      ...common,
      ...(isRefused ? { isRefused } : {}),
      lowestUnaccepted:
        nonce === undefined || lowestUnaccepted === undefined ? lowestUnaccepted : Math.min(lowestUnaccepted, nonce)
    }
  }
  return publics.length === 0 ? found : { ...found, publics }
}

export const evmRules: Rules<Evm> = {
  type: "evm",
  request: RequestJson,
  facts: FactsJson,
  offer: OfferJson,
  refusal: RefusalJson,
  counters: CountersJson,
  receipt: ReceiptJson,
  shown: EvmTransaction,
  targetOf: ({ relayer, network }) =>
    relayer.network_type === "evm" && network.network_type === "evm" ? { relayer, network } : undefined,
  laneOf: ({ relayer, network }) => {
    const { chainId, window } = networkNumbers(network)
    return { chain: `evm:${chainId}`, address: canonical("evm", relayer.address), window }
  },
  pollInterval: ({ network }) => pollInterval(networkNumbers(network)),
  auditedOf: ({ authorization_list: list, to, value, calls, delegate }) => ({
    to,
    value: String(value),
    calls: calls?.map((call) => ({ to: call.to, value: String(call.value) })),
    delegate,
    ...present(
      "authorizations",
      list?.map(({ address, authority }) => ({ authority, address }))
    )
  }),
  identityOf: () => undefined,
  accountChangeOf: ({ delegate }) =>
    delegate === undefined
      ? undefined
      : { action: delegate === noDelegate ? "relayer.undelegated" : "relayer.delegated", delegate },
  exclusiveOf: ({ delegate }) => (delegate === undefined ? undefined : exclusiveDelegation),
  authoritiesOf: ({ authorization_list: list = [] }) => list.map(({ authority }) => authority),
  termsOf: (target, transaction) => {
    const terms = evmTermsOf(target)
    const request = newestRequest(transaction)
    const isRequestAllowed =
      isReceiverAllowed(request, terms) &&
      isCallAllowed(request, terms) &&
      delegateViolations(request, terms).length === 0
    return { ...terms, isAllowed: transaction.origin !== "request" || isRequestAllowed }
  },
  survey,
  isHeldBack,
  destinationOf,
  resolve: resolved,
  placeOf: ({ accounts: [{ address, nextSequence }] }) => ({ account: address, sequence: nextSequence }),
  decide,
  costOf: (request, offer) => costOf(offer, request?.value ?? 0n),
  maxFeeOf: maxFeesOf,
  hear,
  couldBe,
  canReplace: replaceable,
  replacementViolations,
  replaced,
  cancel,
  predecessors,
  delegationOf: (lane) => {
    const record = delegatedIn(lane)
    return record && { address: record.delegate, ...present("changed", changeIn(lane)) }
  },
  explain,
  show
}
