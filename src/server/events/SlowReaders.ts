// Disconnects readers that do not read their stream: its text would fill the memory.
import { Effect, Stream } from "effect"
import type { Duration, Fiber } from "effect"

/** Interrupts the fiber that runs the stream, and with it the response, if it has not pulled for `patience`. */
export const cutOff =
  (patience: Duration.Input) =>
  <A, E, R>(self: Stream.Stream<A, E, R>): Stream.Stream<A, E, R> =>
    Stream.transformPull(self, (pull, scope) =>
      Effect.sync(() => {
        let watch: Fiber.Fiber<void> | undefined
        return Effect.withFiber((reader) => {
          watch?.interruptUnsafe()
          return Effect.tap(pull, () =>
            Effect.sleep(patience).pipe(
              Effect.andThen(Effect.logInfo("event stream closed because its reader is too slow")),
              Effect.andThen(Effect.sync(() => reader.interruptUnsafe())),
              Effect.forkIn(scope),
              Effect.map((fiber) => (watch = fiber))
            )
          )
        })
      })
    )
