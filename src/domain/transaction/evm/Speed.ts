// How soon a transaction should be mined, which decides its price and how long its lane waits before it raises it.
import { Schema } from "effect"
import { minimumPatience, patienceBlocks } from "./EvmNumbers.ts"
import type { Point } from "../Moment.ts"

/** From the cheapest to the most urgent. */
export const Speed = Schema.Literals(["safeLow", "average", "fast", "fastest"]).annotate({
  identifier: "Speed",
  message: "Expected safeLow, average, fast or fastest"
})
export type Speed = typeof Speed.Type

/** Used if the request has no speed, and for no-ops. */
export const defaultSpeed: Speed = "fast"

const urgency = (speed: Speed): number => Speed.literals.indexOf(speed)

/** The more urgent of two speeds. */
export const max = (one: Speed, other: Speed): Speed => (urgency(one) >= urgency(other) ? one : other)

/**
 * Whether the patience of `speed` is over, `times` times. It is counted in blocks, so a chain that stands still raises no
 * price, and in time, so short blocks do not raise it many times a second.
 */
export const isPatienceOver = (speed: Speed, since: Point, now: Point, times = 1): boolean =>
  now.height - since.height >= times * patienceBlocks[speed] && now.at - since.at >= times * minimumPatience
