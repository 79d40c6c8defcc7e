// The other requests about transactions, and their responses: cancels, explanations, lists, statistics. With the moments of a send.
import { DateTime, Effect, Predicate, Schema, SchemaIssue, SchemaTransformation } from "effect"
import { TransactionHash } from "../../domain/chain/Amount.ts"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import { field, shown } from "../../domain/request/Field.ts"
import { CursorQuery, SeriesQuery } from "../../domain/request/Page.ts"
import type { Violation } from "../../domain/request/Request.ts"
import * as Shown from "../../domain/request/Shown.ts"
import { flag, Instant, searchText } from "../../domain/request/Shown.ts"
import { lacking, lackingOf } from "../../domain/request/Violations.ts"
import { Code, Figures } from "./Cause.ts"
import { ExternalId, maxBatch, maxValidity, TransactionId, TransactionStatus } from "./TransactionValues.ts"
import type { Moment } from "./TransactionValues.ts"

const id = "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"

/** Requests to send that are accepted together, all or none. */
export const batchOf = <S extends Schema.Top>(body: S, ...examples: ReadonlyArray<S["Encoded"]>) => {
  const lacks = lackingOf(body.ast)
  const batch = Schema.Struct({
    transactions: field(
      Schema.Array(body).check(Schema.isBetweenLength(1, maxBatch)),
      "Transactions in the order of their acceptance.",
      ...(examples.length === 0 ? [] : [examples])
    )
  })
  if (lacks === undefined) return batch
  return lacking(batch, ({ transactions }) =>
    (Array.isArray(transactions) ? transactions.slice(0, maxBatch) : []).flatMap((one: unknown, index) =>
      Predicate.isObject(one)
        ? lacks({ ...one }).map(({ field, message }) => ({ field: `transactions.${index}.${field}`, message }))
        : []
    )
  )
}

export const CancelQuery = {
  only_pending: Schema.optionalKey(
    flag(
      "Whether the transaction is only canceled if nothing of it was ever signed. Otherwise the response is 409, nothing is sent, and the transaction stays as it is."
    )
  )
}

/** What a read of a transaction can wait for. Each is reached when the transaction is final, too. */
export const TransactionWait = Schema.Literals(["hash", "mined", "confirmed"])
export type TransactionWait = typeof TransactionWait.Type

export const ReadQuery = {
  wait: Schema.optionalKey(
    field(
      TransactionWait,
      "Waits until the transaction has a `hash`, is in a block (`mined`), or is final (`confirmed`), or until it has ended in another way. After four fifths of the time limit of the request, 24 seconds by default, the response is the transaction as it is then: repeat the request to go on.",
      "mined"
    )
  )
}

/** What a cancel of all open transactions did. The names are those of existing clients. */
export const CanceledTransactions = Schema.Struct({
  queued_for_cancellation_transaction_ids: field(
    Schema.Array(TransactionId),
    "Transactions that are canceled, or that a no-op is to replace.",
    [id]
  ),
  failed_to_queue_transaction_ids: field(
    Schema.Array(TransactionId),
    "Transactions that can no longer be canceled, because they changed meanwhile.",
    []
  ),
  total_processed: field(Schema.Natural, "How many open transactions were processed.", 1),
  remaining: Schema.optionalKey(
    field(
      Schema.Natural,
      "How many open transactions are left, because the time of the request was over. Repeat the request to continue. Absent if there are none.",
      4000
    )
  )
}).annotate({ identifier: "CanceledTransactions", description: "What a cancel of all open transactions did." })
export type CanceledTransactions = typeof CanceledTransactions.Type

/** Why a transaction is in its state, and what happens next. */
export const TransactionExplanation = Schema.Struct({
  status: field(TransactionStatus, "State of the transaction.", "pending"),
  code: field(Code, "What it waits for, or why it ended.", "gas_price_above_cap"),
  reason: field(
    Shown.Words,
    "The same as a sentence, with the figures that decide.",
    "The transaction's signer does not answer."
  ),
  next: field(Shown.Words, "What happens next, and what would help.", "The service checks it again with each block."),
  figures: field(Figures, "The figures that decide.", { base_fee: "42000000000", cap: "40000000000" }),
  since: field(Instant, "Since when it has this code.", "2026-11-22T12:00:00.000Z"),
  next_at: shown(Instant, "When the service checks it again. Absent if it is final.", "2026-11-22T12:00:02.000Z")
}).annotate({ identifier: "TransactionExplanation", description: "Why a transaction is in its state." })
export type TransactionExplanation = typeof TransactionExplanation.Type

/** What an operator decides about transactions whose outcome cannot be proven. */
export const ResyncNonce = Schema.Struct({
  answer: Schema.optionalKey(
    field(Schema.Literals(["send", "give_up"]), "Whether such transactions are sent or end as `failed`.", "give_up")
  ),
  transaction_id: Schema.optionalKey(field(TransactionId, "Only this transaction. If absent, all of the account.", id))
}).annotate({
  identifier: "ResyncNonceRequest",
  description: "What an operator decides about the nonces of an account."
})
export type ResyncNonce = typeof ResyncNonce.Type

/** Why a transaction exists, as lists can select it: a caller asked for it, or the service made it. */
const ListedOrigin = Schema.Literals(["request", "gap", "channel", "restore"])

/** Which transactions a list has. `status` may be repeated. */
export const TransactionFilter = {
  status: Schema.optionalKey(field(Schema.Array(TransactionStatus), "Only these states.", ["pending"])),
  code: Schema.optionalKey(
    field(
      Schema.Array(searchText),
      "Only transactions that are not final and have one of these codes; may be repeated.",
      ["insufficient_funds"]
    )
  ),
  held: Schema.optionalKey(
    flag("Whether only transactions that are not final and wait for something else than their turn are listed.")
  ),
  hash: Schema.optionalKey(
    field(TransactionHash, "Only transactions with an attempt of this hash.", `0x${"5c".repeat(32)}`)
  ),
  external_id: Schema.optionalKey(field(ExternalId, "Only the transaction with this identifier.", "order-1234")),
  created_after: Schema.optionalKey(field(Instant, "Accepted at or after this moment.", "2026-11-22T12:00:00.000Z")),
  created_before: Schema.optionalKey(field(Instant, "Accepted before this moment.", "2026-11-23T12:00:00.000Z")),
  origin: Schema.optionalKey(
    field(
      ListedOrigin,
      "`gap` lists the no-ops that the service made for unused nonces, `channel` the transactions that make and end channels of stellar, `restore` those that restore what a call needs.",
      "gap"
    )
  )
}
export type TransactionFilter = {
  readonly [K in keyof typeof TransactionFilter]?: (typeof TransactionFilter)[K]["Type"]
}

export const TransactionQuery = { ...CursorQuery, ...TransactionFilter }
export interface TransactionQuery extends CursorQuery, TransactionFilter {}

export const AllTransactionsQuery = {
  per_page: CursorQuery.per_page,
  cursor: CursorQuery.cursor,
  relayer_id: Schema.optionalKey(
    field(Schema.Array(RelayerId), "Only of these relayers; may be repeated.", ["payouts"])
  ),
  ...TransactionFilter
}
export interface AllTransactionsQuery extends Pick<CursorQuery, "per_page" | "cursor">, TransactionFilter {
  readonly relayer_id?: ReadonlyArray<RelayerId>
}

const expected = "an integer from 0 to 2^63-1"

/** The largest sequence that a network type of the service has, and that the database can store. */
export const maxSequence = 2n ** 63n - 1n

const LargeSequence = Schema.BigInt.check(
  Schema.isBetweenBigInt({ minimum: BigInt(Number.MAX_SAFE_INTEGER) + 1n, maximum: maxSequence })
)

/** A sequence in a path, such as a nonce. Above 2^53-1 it is a `bigint`, so that it keeps all its digits. */
export const SequenceParam = Schema.String.annotate({
  contentMediaType: "application/json",
  contentSchema: { type: "integer", minimum: 0, description: "Nonce or sequence of the transaction.", examples: [7] }
}).pipe(
  Schema.decodeTo(
    Schema.Union([Schema.Natural, LargeSequence]),
    SchemaTransformation.transformEffect({
      decode: (text: string, options) => {
        const sequence = /^\d{1,19}$/.test(text) ? BigInt(text) : -1n
        if (sequence < 0n || sequence > maxSequence) {
          return Effect.fail(new SchemaIssue.InvalidValue({ expected }, text, options))
        }
        return Effect.succeed(Number.isSafeInteger(Number(sequence)) ? Number(sequence) : sequence)
      },
      encode: (sequence: number | bigint) => Effect.succeed(String(sequence))
    })
  )
)

// The two moments of a send: it begins at `not_before`, and has no effect after `valid_until`.

type Timed = {
  readonly valid_until?: DateTime.Utc | undefined
  readonly not_before?: DateTime.Utc | undefined
}

const millisOf = (moment: DateTime.Utc | undefined): Moment | undefined =>
  moment === undefined ? undefined : DateTime.toEpochMillis(moment)

const days = maxValidity / 86_400_000
const tooFar = `must be within ${days} days`

/** `validity`: milliseconds until the deadline of a send that gives none. Each network type has its own. */
export const timing = (validity: number) => {
  /** The deadline that the request gives, else `validity` after it may begin. */
  const deadlineOf = ({ valid_until, not_before }: Timed, now: Moment): Moment =>
    millisOf(valid_until) ?? Math.max(millisOf(not_before) ?? now, now) + validity

  const deadline = (request: Timed, { now }: { readonly now: Moment }): Violation | undefined => {
    const validUntil = millisOf(request.valid_until)
    if (validUntil === undefined) return undefined
    if (validUntil <= now) return { field: "valid_until", message: "must be in the future" }
    return validUntil > now + maxValidity ? { field: "valid_until", message: tooFar } : undefined
  }

  const beginning = (request: Timed, { now }: { readonly now: Moment }): Violation | undefined => {
    const notBefore = millisOf(request.not_before)
    if (notBefore === undefined) return undefined
    if (notBefore >= now + maxValidity) return { field: "not_before", message: tooFar }
    return notBefore >= deadlineOf(request, now)
      ? { field: "not_before", message: "must be before valid_until" }
      : undefined
  }

  return { deadlineOf, deadline, beginning }
}

// The numbers of an overview: how many transactions became final, how long they took, and how many are open.

const hour = 3_600_000

/** The longest time, in milliseconds, of a series that counts rows: 6,000 transactions are about 250 database pages. */
export const longestCounted = 6 * hour

/** The longest time, in milliseconds, of a series that is read from sums. */
export const longestStatistics = 7 * 24 * hour

/** Milliseconds of a sum. Steps of a series that is read from sums are multiples of it. */
export const sumStep = hour / 4

const at = "2026-01-02T03:04:00.000Z"

export const StatisticsQuery = {
  ...SeriesQuery,
  relayer_id: Schema.optionalKey(field(RelayerId, "Only transactions of this relayer.", "payouts"))
}
export interface StatisticsQuery extends SeriesQuery {
  readonly relayer_id?: RelayerId
}

const Final = Schema.Struct({
  confirmed: field(Schema.Natural, "Confirmed transactions.", 57),
  failed: field(Schema.Natural, "Failed ones.", 1),
  canceled: field(Schema.Natural, "Canceled ones.", 0),
  expired: field(Schema.Natural, "Expired ones.", 0)
}).annotate({ identifier: "FinalCounts", description: "Transactions that became final, by their state." })

const Step = Schema.Struct({
  at: field(Instant, "Beginning of the step.", at),
  final: field(Final, "Transactions that became final in the step."),
  p50_ms: shown(
    Schema.Natural,
    "Milliseconds from acceptance to confirmation, of half of those confirmed in the step at most. Absent if none was.",
    14_000
  ),
  p95_ms: shown(Schema.Natural, "The same of 95 % of them.", 31_000)
}).annotate({ identifier: "TransactionStep", description: "Transactions that became final in a step of time." })

const Open = Schema.Struct({
  pending: field(Schema.Natural, "Transactions that nothing was signed for.", 12),
  in_flight: field(Schema.Natural, "Signed transactions that are not final.", 4),
  held: field(Schema.Natural, "How many of both wait for something else than their turn.", 2),
  oldest_at: shown(Instant, "When the oldest of them was accepted.", at)
}).annotate({ identifier: "OpenCounts", description: "Transactions that are not final." })

export const TransactionStatistics = Schema.Struct({
  steps: field(Schema.Array(Step), "All steps, the oldest first.", []),
  open: field(Open, "What is open now.")
}).annotate({ identifier: "TransactionStatistics", description: "Final transactions by steps of time, and open ones." })
export type TransactionStatistics = typeof TransactionStatistics.Type
