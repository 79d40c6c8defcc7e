// Moments, as the state machine of transactions uses them.
import { DateTime, Schema, SchemaTransformation } from "effect"
import * as Shown from "../request/Shown.ts"
import { Instant } from "../request/Text.ts"

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
