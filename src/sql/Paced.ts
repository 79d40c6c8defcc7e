// Long computations in pieces, so that other requests are served in between: there is one event loop for all of them.
import { Effect } from "effect"

/** Milliseconds of a piece: about as long as a short request takes, so that it waits for about as long as it works. */
const piece = 2

/** Like `Effect.forEach`, one after the other. The last piece has ended when it returns. */
export const forEach = Effect.fnUntraced(function* <A, B, E, R>(
  items: ReadonlyArray<A>,
  f: (item: A) => Effect.Effect<B, E, R>
) {
  const results: Array<B> = []
  let startedAt = performance.now()
  for (const item of items) {
    results.push(yield* f(item))
    if (performance.now() - startedAt < piece) continue
    yield* Effect.yieldNow
    startedAt = performance.now()
  }
  return results
})

/** Pauses by the machine's clock and not by `Clock`, because the processor time of others is real also under `TestClock`. */
const pause = (milliseconds: number) =>
  Effect.callback<void>((resume) => {
    const timer = setTimeout(() => resume(Effect.void), milliseconds)
    return Effect.sync(() => clearTimeout(timer))
  })

/**
 * Runs `work`, then pauses until it has taken at most `share` of the time, so that other requests have the processor and the
 * database meanwhile. On a busy machine, the work and the pause take longer.
 */
export const atShare =
  (share: number) =>
  <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend(() => {
      const startedAt = performance.now()
      return Effect.tap(work, () => pause((performance.now() - startedAt) * (1 / share - 1)))
    })
