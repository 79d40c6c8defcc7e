// How soon a transaction should be executed, which decides its price.
import { Schema } from "effect"

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
export const max = (one: Speed, other: Speed): Speed => (urgency(one) >= urgency(other) ? one : other)
