// A wait for what a request or a query shows, while the test clock stands still.
import { Effect } from "effect"

/** Real milliseconds between two tries, each of which takes a few of the service and of PostgreSQL. */
const pause = 10

const aWhile = Effect.promise(() => new Promise((resolve) => setTimeout(resolve, pause)))

/** Repeats `self` until its result is so. Events, for example, are held back by older transactions in any database of the server. */
export const awaited = <A, E, R>(self: Effect.Effect<A, E, R>, isSo: (found: A) => boolean): Effect.Effect<A, E, R> =>
  Effect.repeat(
    Effect.tap(self, (found) => (isSo(found) ? Effect.void : aWhile)),
    { until: isSo }
  )
