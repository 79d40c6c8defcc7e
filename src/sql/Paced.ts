// Long computations in pieces, so that other requests are served in between: there is one event loop for all of them.
import { Effect } from "effect"

/** Milliseconds of a piece, far below the 50 that no response may occupy the event loop for. */
const piece = 5

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
