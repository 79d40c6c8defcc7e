// A clock for code that measures durations: setting the wall clock forward or back does not affect it.
import { Clock, Effect } from "effect"

/** A clock whose wall time is the monotonic time of `clock`. */
const make = (clock: Clock.Clock): Clock.Clock => ({
  currentTimeMillisUnsafe: () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n),
  currentTimeMillis: Effect.map(clock.monotonicTimeNanos, (nanos) => Number(nanos / 1_000_000n)),
  currentTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
  currentTimeNanos: clock.monotonicTimeNanos,
  monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
  monotonicTimeNanos: clock.monotonicTimeNanos,
  sleep: (duration) => clock.sleep(duration)
})

const clocks = new WeakMap<Clock.Clock, Clock.Clock>()

const monotonic = (clock: Clock.Clock): Clock.Clock => {
  const found = clocks.get(clock)
  if (found !== undefined) return found
  const made = make(clock)
  clocks.set(clock, made)
  return made
}

/** `self` uses the monotonic clock. */
export const withMonotonic = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Clock.clockWith((clock) => Effect.provideService(self, Clock.Clock, monotonic(clock)))

/** `wrap` uses the monotonic clock; `self` inside of it keeps its clock. */
export const withMonotonicAround =
  <A, E, R, B, E2, R2>(wrap: (self: Effect.Effect<A, E, R>) => Effect.Effect<B, E2, R2>) =>
  (self: Effect.Effect<A, E, R>): Effect.Effect<B, E2, R2> =>
    Clock.clockWith((clock) =>
      Effect.provideService(wrap(Effect.provideService(self, Clock.Clock, clock)), Clock.Clock, monotonic(clock))
    )
