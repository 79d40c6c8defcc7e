// Limits how often a secret is compared: a caller that guesses would otherwise learn from plans when a guess is right.
import { Clock, Duration, Effect } from "effect"

/** Comparisons of one secret that may find a difference within an hour. */
const maxDifferences = 100
const period = Duration.toMillis(Duration.hours(1))

/** Secrets that are remembered. The oldest is forgotten first. */
const maxRemembered = 10_000

interface Counted {
  readonly since: number
  readonly count: number
}

/** Counts per instance, because it is a limit for guessing and not a quota. */
export const make = Effect.sync(() => {
  const counted = new Map<string, Counted>()

  /** Whether the secret may be compared. `isEqual` is what the comparison would find. */
  return (path: string, isEqual: boolean): Effect.Effect<boolean> =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const before = counted.get(path)
      const current = before !== undefined && now - before.since < period ? before : { since: now, count: 0 }
      if (current.count >= maxDifferences) return false
      if (isEqual) return true
      counted.delete(path)
      counted.set(path, { since: current.since, count: current.count + 1 })
      const oldest = counted.keys().next()
      if (counted.size > maxRemembered && oldest.done !== true) counted.delete(oldest.value)
      return true
    })
})
