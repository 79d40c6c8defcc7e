// The time steps of a series of numbers. A response has all steps of its period, also those in which nothing happened.
import { DateTime, Effect, Schema } from "effect"
import { field } from "./Field.ts"
import { Instant } from "./Instant.ts"
import { count } from "./Page.ts"
import { BadRequest } from "./Request.ts"

/** The most steps of a response. A plot has no pixels for more. */
const maxSteps = 1000

const second = 1000
const hour = 3600 * second

/** Seconds. */
const defaultStep = 60

export const SeriesQuery = {
  since: Schema.optionalKey(
    field(
      Instant,
      "First moment of the series; the first step contains it. The default is an hour ago.",
      "2026-01-02T03:00:00Z"
    )
  ),
  step: Schema.optionalKey(
    count(`Seconds of a step. At most ${maxSteps} steps fit into a response.`, defaultStep, defaultStep)
  )
}
export interface SeriesQuery {
  readonly since?: DateTime.Utc
  readonly step?: number
}

/** In milliseconds. `since` is the beginning of a step: steps begin at multiples of their length. */
export interface Series {
  readonly since: number
  readonly step: number
  readonly steps: number
}

/** `longest`: the most milliseconds between `since` and now. */
export const seriesOf = (
  { since, step: seconds = defaultStep }: SeriesQuery,
  now: number,
  longest: number
): Effect.Effect<Series, BadRequest> => {
  const asked = since === undefined ? now - Math.min(hour, longest) : DateTime.toEpochMillis(since)
  const refuse = (name: string, message: string) => Effect.fail(BadRequest.of([{ field: name, message }]))
  if (asked > now) return refuse("since", "must not be in the future")
  if (now - asked > longest) return refuse("since", `must be at most ${longest / hour} hours ago`)
  if (seconds < 1) return refuse("step", "must be at least 1 second")
  const step = seconds * second
  const first = Math.floor(asked / step) * step
  const steps = Math.floor((now - first) / step) + 1
  if (steps > maxSteps) {
    const least = Math.ceil((now - asked) / (maxSteps - 1) / second)
    return refuse("step", `must be at least ${least} seconds for this period`)
  }
  return Effect.succeed({ since: first, step, steps })
}

/** All steps in order. A step without a row has `none`. `at` returns the beginning of the step of a row. */
export const filled = <Row extends { readonly at: number }, A>(
  { since, step, steps }: Series,
  rows: ReadonlyArray<Row>,
  show: (row: Row | undefined) => A
): ReadonlyArray<{ readonly at: DateTime.Utc } & A> => {
  const byStart = new Map(rows.map((row) => [row.at, row]))
  return Array.from({ length: steps }, (_, index) => {
    const at = since + index * step
    return { at: DateTime.makeUnsafe(at), ...show(byStart.get(at)) }
  })
}
