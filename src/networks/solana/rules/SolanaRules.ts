// The rules of solana, as the core asks for them, and what answers of nodes and of operators mean.
import { Predicate, Result } from "effect"
import { cause } from "../../core/Cause.ts"
import {
  cancelOpen,
  canReplace,
  Command,
  deadlineViolations,
  finish,
  replaced,
  TransactionConflict
} from "../../core/Rules.ts"
import type { Answer, Cancellation, Heard, Rules } from "../../core/Rules.ts"
import { afterSend, isFinal, newestRequest } from "../../core/Transaction.ts"
import type { Attempt, Lane, Transaction } from "../../core/Transaction.ts"
import type { Moment, Point } from "../../core/TransactionValues.ts"
import { identityOf } from "./RequestBytes.ts"
import { CountersJson, FactsJson, OfferJson, ReceiptJson, RefusalJson, RequestJson, showTransaction } from "./Solana.ts"
import type { NodeAnswer, Solana, SolanaRequest } from "./Solana.ts"
import { decide } from "./SolanaDecision.ts"
import { bytesOf, SolanaTransactionResponse } from "./SolanaExchanges.ts"
import { answerableAfter, failing, pollAfter, windowSize } from "./SolanaNumbers.ts"
import { formOf, paysFees, solanaTermsOf } from "./SolanaTerms.ts"
import { explain } from "./SolanaWords.ts"
import { decodeTransaction } from "./Wire.ts"

// What the answers of nodes to `sendTransaction` mean. An answer proves nothing about the chain, in either direction: only
// whether the bytes are worth sending again depends on it.

/**
 * - `accepted`: the node has forwarded the bytes, or has them on its chain already.
 * - `provider`: the node lags, is busy, or did not answer. It says nothing about the bytes.
 * - `refused`: this node never takes the bytes.
 */
type AnswerClass = "accepted" | "provider" | "refused"

/**
 * Error codes of solana's nodes: `rpc_custom_error.rs` of agave. Since Agave 3.1, a wrong signature is a failed preflight with the error
 * `SignatureFailure`.
 */
const sendErrors = { preflight: -32_002, signature: -32_003, invalidParams: -32_602, invalidRequest: -32_600 } as const

/**
 * What a node says about a message that it does not even execute, to a send and to a simulation alike: Agave 4.1 begins with `invalid
 * transaction:`, and names what cannot be decoded. The same code has other texts about other parameters, which are no verdict.
 */
const verdicts = /^invalid transaction|too large|failed to deserialize|invalid base64/iu

/** Another release reads other versions, and more bytes of them: 4,096 of version 1 since Agave 4.2, 1,232 before. */
const unread = /too large|failed to deserialize/iu

/** The bank of the node is older than the block in which the table got its entry. */
const unknownEntry = /address table/iu

/**
 * Undefined: the error says nothing about the message. `table`: the node does not know an entry of a lookup table yet. `unread`: the node
 * does not read such bytes, and a later release may.
 */
export const aboutMessage = ({
  code,
  message
}: Pick<Extract<NodeAnswer, { readonly _tag: "RpcError" }>, "code" | "message">):
  | "refused"
  | "table"
  | "unread"
  | undefined => {
  if (code !== sendErrors.invalidParams || !verdicts.test(message)) return undefined
  if (unknownEntry.test(message)) return "table"
  return unread.test(message) ? "unread" : "refused"
}

/** A failed preflight names the error of the transaction in `data.err`, and in the text. */
const namesError = (
  { message, data }: Extract<NodeAnswer, { readonly _tag: "RpcError" }>,
  error: string,
  text: string
) => (Predicate.hasProperty(data, "err") && data.err === error) || message.includes(error) || message.includes(text)

const classify = (answer: NodeAnswer): AnswerClass => {
  if (answer._tag === "Signature") return "accepted"
  if (answer._tag === "NoAnswer") return "provider"
  if (answer.code === sendErrors.preflight) {
    if (namesError(answer, "AlreadyProcessed", "already been processed")) return "accepted"
    return namesError(answer, "BlockhashNotFound", "Blockhash not found") ? "provider" : "refused"
  }
  if (aboutMessage(answer) === "table") return "provider"
  const isFinal =
    answer.code === sendErrors.signature ||
    answer.code === sendErrors.invalidParams ||
    answer.code === sendErrors.invalidRequest
  return isFinal ? "refused" : "provider"
}

/** No answers: no provider could be asked. The bytes are only given up if every provider that was asked refuses them. */
export const hear = (attempt: Attempt<Solana>, answers: ReadonlyArray<NodeAnswer>, at: Point): Heard<Solana> => {
  const classes = answers.map(classify)
  const isAccepted = classes.includes("accepted")
  const isRefused = classes.length > 0 && classes.every((one) => one === "refused")
  return {
    attempt: afterSend(attempt, at, {
      outcome: isAccepted ? "accepted" : isRefused ? "refused" : "unknown",
      refusal: isRefused ? { class: "permanent" } : undefined
    }),
    isAccepted,
    triesOlder: false,
    isWindowFull: false
  }
}

// What an operator's answer makes of a solana transaction that waits for one: after a restore, or because nothing proves what
// became of its bytes.

interface AnswerContext {
  readonly lane: Lane<Solana>
  readonly now: Moment
}

type Answered = Result.Result<Command<never>, TransactionConflict>

const refusedAnswer = (error: string): Answered => Result.fail(new TransactionConflict({ error }))

/** With bytes, it keeps its attempts: a proof that they are dead comes before new ones. */
const afterRestore = ({ attempts, state }: Transaction<Solana>, answer: Answer): Command<never> => {
  if (answer === "send") return Command.Release({ cause: cause(state === "pending" ? "queued" : "in_pool") })
  return attempts.length === 0
    ? finish({ state: "failed", cause: cause("restored_unproven") })
    : Command.Intend({
        intent: "clear",
        clearCode: "restored_unproven",
        cause: cause("restored_unproven", { answer: "give_up" })
      })
}

/** The operator knows what became of the bytes. What the service knows is not enough for new ones. */
const whenUnproven = ({ requeues }: Transaction<Solana>, answer: Answer): Command<never> =>
  answer === "send"
    ? Command.Requeue({ restored: false, requeues, cause: cause("queued") })
    : finish({ state: "failed", cause: cause("landing_unproven") })

const resolve = (transaction: Transaction<Solana>, answer: Answer, { lane, now }: AnswerContext): Answered => {
  const { cause: why, causeSince } = transaction
  if (isFinal(transaction)) return refusedAnswer("does not wait for a decision of an operator")
  if (transaction.restored) {
    const [{ counters }] = lane.accounts
    const { bound, slot } = counters?.restore ?? {}
    if (slot !== undefined) return Result.succeed(afterRestore(transaction, answer))
    const until = bound === undefined ? "an unknown block height" : `block height ${bound}`
    return refusedAnswer(
      `bytes that the database has forgotten can land until ${until}, and the list of the address was not read yet; try again later`
    )
  }
  if (why?.code !== "landing_unproven") return refusedAnswer("does not wait for a decision of an operator")
  const { bound = 0 } = why.figures
  const height = lane.accounts[0].chainBlock?.number ?? 0
  // While finality stands still, the bytes are alive: new ones could land beside them.
  if (answer === "send" && height <= bound) {
    return refusedAnswer(
      `its bytes can land until block height ${bound}, and ${height} is final: only give_up is possible yet`
    )
  }
  const left = (why.figures.until ?? causeSince + answerableAfter) - now
  return left <= 0
    ? Result.succeed(whenUnproven(transaction, answer))
    : refusedAnswer(`a proof may still be found: an answer is possible in ${Math.ceil(left / 60_000)} minutes`)
}

const isGiven = ({ facts, attempts }: Transaction<Solana>): boolean =>
  facts.given !== undefined && attempts.length === 0

/**
 * The message as it was given: with a deterministic signer, equal messages have one signature, and the chain executes one of
 * them. It names its blockhash, and so its chain.
 */
const messageOf = ({ transaction }: SolanaRequest): string | undefined =>
  transaction === undefined
    ? undefined
    : Result.getOrUndefined(Result.map(decodeTransaction(bytesOf(transaction)), identityOf))

/** After the first signature, a cancel only prevents new bytes. */
const cancel = (transaction: Transaction<Solana>): Result.Result<Cancellation, TransactionConflict> => {
  const decided = cancelOpen(transaction)
  if (decided !== undefined) return decided
  const isUnsigned = transaction.state === "pending" && !transaction.restored && !isGiven(transaction)
  const why = cause(transaction.restored ? "restored_unproven" : "canceling")
  return Result.succeed(isUnsigned ? { _tag: "finish" } : { _tag: "intend", intent: "cancel", cause: why })
}

/** Bytes that exist can land whatever the request says now, so only a transaction without any can be replaced. */
const canReplaceUnsigned = (transaction: Transaction<Solana>): Result.Result<void, TransactionConflict> => {
  const bound = transaction.attempts.at(-1)?.offer.bound ?? transaction.facts.given?.offer?.bound
  if (bound === undefined && !isGiven(transaction)) return canReplace(transaction)
  const until = bound === undefined ? "" : ` until block height ${bound}`
  return Result.flatMap(canReplace(transaction), () =>
    Result.fail(new TransactionConflict({ error: `is signed: its bytes can land${until}, so it cannot be replaced` }))
  )
}

export const solanaRules: Rules<Solana> = {
  type: "solana",
  request: RequestJson,
  facts: FactsJson,
  offer: OfferJson,
  refusal: RefusalJson,
  counters: CountersJson,
  receipt: ReceiptJson,
  shown: SolanaTransactionResponse,
  targetOf: ({ relayer, network }) =>
    relayer.network_type === "solana" && network.network_type === "solana" ? { relayer, network } : undefined,
  laneOf: ({ relayer, network }) => ({
    chain: `solana:${network.name}`,
    address: relayer.address,
    window: network.transaction_window ?? windowSize
  }),
  pollInterval: () => pollAfter,
  // Programs and accounts of a request are public as soon as it lands. Its data can be secret until then.
  auditedOf: ({ transaction, instructions }) =>
    transaction === undefined
      ? { programs: instructions?.map(({ program_id }) => program_id) ?? [] }
      : { prebuilt_bytes: (transaction.length / 4) * 3 },
  identityOf: messageOf,
  failing,
  exclusiveOf: () => undefined,
  termsOf: (target, transaction) => {
    const request = newestRequest(transaction)
    // Instructions have no place for a payment of a user.
    const isSponsored = formOf(target, request) === "sponsored"
    return { ...solanaTermsOf(target, request), isSponsored, isAllowed: paysFees(target) || isSponsored }
  },
  survey: () => undefined,
  // The place has no meaning on the chain: it counts what the relayer has signed.
  placeOf: ({ accounts: [{ address, nextSequence }] }) => ({ account: address, sequence: nextSequence }),
  decide,
  costOf: (request, { fee, out }) => (request === undefined ? fee : fee + out),
  maxFeeOf: ({ fee }) => fee,
  hear: (_, attempt, answers, at) => hear(attempt, answers, at),
  couldBe: () => false,
  canReplace: canReplaceUnsigned,
  replacementViolations: (transaction, _, validUntil) => deadlineViolations(transaction, validUntil),
  replaced,
  cancel,
  withGiven: (facts, given) => ({ ...facts, given }),
  isGiven,
  resolve,
  // The bytes of a prebuilt request cannot be varied, so it is the same transaction.
  repeated: ({ facts }) =>
    facts.isPrebuilt ? finish({ state: "failed", cause: cause("already_accepted") }) : undefined,
  explain,
  show: showTransaction
}
