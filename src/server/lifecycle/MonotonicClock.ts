// The time for what only asks how long ago something was: a clock that is set forward or back changes nothing of it.
import { Clock, Effect } from "effect"

/** The monotonic time of `clock`, also where its wall time is asked for. */
const steadyOf = (clock: Clock.Clock): Clock.Clock => ({
  currentTimeMillisUnsafe: () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n),
  currentTimeMillis: Effect.map(clock.monotonicTimeNanos, (nanos) => Number(nanos / 1_000_000n)),
  currentTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
  currentTimeNanos: clock.monotonicTimeNanos,
  monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
  monotonicTimeNanos: clock.monotonicTimeNanos,
  sleep: (duration) => clock.sleep(duration)
})

const known = new WeakMap<Clock.Clock, Clock.Clock>()

const steady = (clock: Clock.Clock): Clock.Clock => {
  const found = known.get(clock)
  if (found !== undefined) return found
  const made = steadyOf(clock)
  known.set(clock, made)
  return made
}

/** `self` asks a clock that nobody sets. */
export const steadily = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Clock.clockWith((clock) => Effect.provideService(self, Clock.Clock, steady(clock)))

/** What `wrap` does with `self` asks a clock that nobody sets; `self` itself asks the one of before. */
export const steadilyAround =
  <A, E, R, B, E2, R2>(wrap: (self: Effect.Effect<A, E, R>) => Effect.Effect<B, E2, R2>) =>
  (self: Effect.Effect<A, E, R>): Effect.Effect<B, E2, R2> =>
    Clock.clockWith((clock) =>
      Effect.provideService(wrap(Effect.provideService(self, Clock.Clock, clock)), Clock.Clock, steady(clock))
    )
