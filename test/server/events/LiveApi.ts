// The whole API with a writer of events, and waits for what real connections deliver.
import { Effect, Layer, Logger, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Events } from "../../../src/server/events/Events.ts"
import { awaited } from "../../../testkit/Awaited.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

export const layer = (options: TestApi.Options = {}) =>
  Layer.provideMerge(Events.layer, TestApi.layer(options)).pipe(Layer.provideMerge(Logger.layer([])))

/** Publishes an event of the relayer `id` with `data`, and returns the id of the event. */
export const emit = (id: string, data: string = id) =>
  Effect.flatMap(Events, (events) => events.emit({ type: "relayer.updated", id, schema: Schema.String, data }))

/** Waits until the event is visible. Older transactions hold it back, in any database of the PostgreSQL of the tests. */
export const shown = (id: number) =>
  Effect.flatMap(TestApi.TestApi, ({ call }) =>
    awaited(call(`/api/v1/events?after=${id}&limit=1`), ({ status }) => status === 200)
  )

/** The connections to this database that listen for notifications. */
export const listeners = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ readonly pid: number }>`
    SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`
)

/** Waits until a connection listens. */
export const listening = awaited(listeners, (found) => found.length > 0)

const step = 100
const steps = 45

/** Real milliseconds before a step. They grow, so that a busy machine gets more than a minute for all steps. */
const pause = (count: number) => 10 * 1.17 ** count

/** Interruption would lose the sleeps that this step wakes. */
const pass = Effect.uninterruptible(TestClock.adjust(step))

const pauseFor = (milliseconds: number) =>
  Effect.promise(() => new Promise((resolve) => setTimeout(resolve, milliseconds)))

/**
 * Runs `self` while at most 4.5 seconds of the test clock pass. The tail reads the table every 5 seconds, so that only a
 * notification can wake it, or the poll for events that wait for an older transaction. If neither does, `self` never ends.
 */
export const soon = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.raceFirst(
    self,
    Effect.gen(function* () {
      for (let count = 0; count < steps; count++) {
        yield* pauseFor(pause(count))
        yield* pass
      }
      return yield* Effect.never
    })
  )

/** Runs `self` while the test clock passes without a limit. */
export const asTimePasses = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.raceFirst(self, Effect.forever(Effect.andThen(pauseFor(5), pass)))
