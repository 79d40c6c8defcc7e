// The values that all transactions are made of: identifiers, moments, places, speeds, and every number that decides something, with its
// unit and its source.
import { DateTime, Schema, SchemaTransformation } from "effect"
import * as Shown from "../../domain/request/Shown.ts"
import { Instant, text } from "../../domain/request/Shown.ts"

/** A share as an exact fraction, because amounts are integers. */
export interface Ratio {
  readonly numerator: bigint
  readonly denominator: bigint
}

/** Milliseconds. */
const second = 1000
const minute = 60 * second
const hour = 60 * minute

/** Milliseconds between two polls of a lane with open transactions: the block time, but within these bounds. */
export const poll = { minimum: second, maximum: 12 * second } as const

/** Milliseconds after which bytes are sent again even if every node accepted them. Nodes drop silently (geth's pool limits). */
export const rebroadcastAfter = 30 * second

/** Milliseconds before bytes with an unknown outcome are sent again; doubles with each send up to `rebroadcastAfter`. */
export const unknownRetryAfter = second

/** Places that one commit gives away at most: encoding and signing 64 with a local key takes 10 ms of CPU. */
export const maxSignaturesPerCommit = 64

/** How often a request gets a new place after another transaction used its place. */
export const maxRequeues = 3

/** Milliseconds from acceptance to the deadline of a transaction without `valid_until` (the field's default). */
export const defaultValidity = 8 * hour

/** Milliseconds from acceptance to the latest deadline that is accepted. */
export const maxValidity = 7 * 24 * hour

/** Milliseconds that a transaction waits for funds while nothing of its lane is in flight. */
export const maxWaitForFunds = 10 * minute

/** UTF-16 code units of an `external_id`. */
export const maxExternalIdLength = 255

/** Transactions in one batch request. */
export const maxBatch = 100

/** Total that `pagination` reports at most; counting further would read every row. */
export const maxCountedTransactions = 10_000

/** Open transactions, above which a send is refused with 429. */
export const maxOpen = { perRelayer: 10_000, perService: 1_000_000 } as const

// Moments, as the state machine of transactions uses them.

/** Milliseconds since 1970-01-01T00:00:00Z. */
export type Moment = number

/** A moment, and the height of the chain then: of the newest block, slot or ledger. */
export interface Point {
  readonly at: Moment
  readonly height: number
}

const year = (number: number) => Date.UTC(number, 0)

/** The years that RFC 3339 can write: 0001 to 9999. */
const minimum = Date.parse("0001-01-01T00:00:00.000Z")
const maximum = Date.parse("9999-12-31T23:59:59.999Z")

/** A moment as the API writes it. */
export const MomentFromText = Instant.pipe(
  Schema.decodeTo(
    Schema.Int.check(Schema.isBetween({ minimum, maximum }), Shown.generatedBetween(year(2000), year(2099))),
    SchemaTransformation.transform({
      decode: (instant: DateTime.Utc) => DateTime.toEpochMillis(instant),
      encode: (moment: Moment) => DateTime.makeUnsafe(moment)
    })
  )
)

/** The earliest of the moments that are known. */
export const earliest = (first: Moment, ...others: ReadonlyArray<Moment | undefined>): Moment =>
  Math.min(first, ...others.filter((moment) => moment !== undefined))

// Identifiers and states of transactions, the same for all networks.

export const TransactionId = Schema.String.check(Schema.isUUID())
  .annotate({ description: "Identifier of the transaction.", examples: ["4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"] })
  .pipe(Schema.brand("TransactionId"))
export type TransactionId = typeof TransactionId.Type

/** The caller's own identifier of a transaction. */
export const ExternalId = text(1, maxExternalIdLength)

/** `sent`: signed and on its way. `submitted`: a node has it. */
export const TransactionStatus = Schema.Literals([
  "pending",
  "sent",
  "submitted",
  "mined",
  "confirmed",
  "failed",
  "canceled",
  "expired"
]).annotate({
  identifier: "TransactionStatus",
  message: "Expected pending, sent, submitted, mined, confirmed, failed, canceled or expired"
})
export type TransactionStatus = typeof TransactionStatus.Type

export class TransactionNotFound extends Schema.TaggedError<TransactionNotFound>()("TransactionNotFound", {}) {
  override readonly message = "the relayer has no transaction with this id"
}

// Places: where on the chain the bytes of a transaction count.

/** An account, and the sequence number there if the bytes use one. */
export interface Place {
  /** An account of the lane, or a foreign one whose sequences the lane does not count. */
  readonly account: string
  /** evm: the nonce. Absent: the bytes use no sequence of an account of the lane. */
  readonly sequence?: bigint
}

export const isSamePlace = (one: Place | undefined, other: Place | undefined): boolean =>
  one === other || (one !== undefined && one.account === other?.account && one.sequence === other.sequence)

/** The order in which bytes of one account are executed. Without a sequence, nothing comes before it. */
export const bySequence = (one: Place | undefined, other: Place | undefined): number => {
  const difference = (one?.sequence ?? 0n) - (other?.sequence ?? 0n)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

// How soon a transaction should be executed, which decides its price.

/** From the cheapest to the most urgent. */
export const Speed = Schema.Literals(["safeLow", "average", "fast", "fastest"]).annotate({
  identifier: "Speed",
  message: "Expected safeLow, average, fast or fastest"
})
export type Speed = typeof Speed.Type

/** Used if the request has no speed. */
export const defaultSpeed: Speed = "fast"

const urgency = (speed: Speed): number => Speed.literals.indexOf(speed)

/** The more urgent of two speeds. */
export const fasterOf = (one: Speed, other: Speed): Speed => (urgency(one) >= urgency(other) ? one : other)
