// The other requests about transactions, and their responses.
import { Effect, Schema, SchemaIssue, SchemaTransformation } from "effect"
import { TransactionHash } from "../chain/Address.ts"
import { RelayerId } from "../relayer/Relayer.ts"
import { field, shown } from "../request/Field.ts"
import { CursorQuery } from "../request/Page.ts"
import * as Shown from "../request/Shown.ts"
import { flag, Instant, searchText } from "../request/Text.ts"
import { Figures } from "./Cause.ts"
import { maxBatch } from "./Numbers.ts"
import { Code } from "./Code.ts"
import { ExternalId, TransactionId, TransactionStatus } from "./TransactionId.ts"

const id = "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"

/** Requests to send that are accepted together, all or none. */
export const batchOf = <S extends Schema.Top>(body: S, ...examples: ReadonlyArray<S["Encoded"]>) =>
  Schema.Struct({
    transactions: field(
      Schema.Array(body).check(Schema.isBetweenLength(1, maxBatch)),
      "Transactions in the order of their acceptance.",
      ...(examples.length === 0 ? [] : [examples])
    )
  })

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
  reason: field(Shown.Words, "The same as a sentence, with the figures that decide.", "Its signer does not answer."),
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
export const ListedOrigin = Schema.Literals(["request", "gap", "channel", "restore"])

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
