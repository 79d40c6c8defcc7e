// The whole API in real time, and a writer of events.
import { Effect, Layer, Logger, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Events } from "../../../src/server/events/Events.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

export const layer = (options: TestApi.Options = {}) =>
  Layer.provideMerge(Events.layer, TestApi.layer(options)).pipe(Layer.provideMerge(Logger.layer([])))

/** An event of the relayer `id`; its data is `data`. Returns its id. */
export const emit = (id: string, data: string = id) =>
  Effect.flatMap(Events, (events) => events.emit({ type: "relayer.updated", id, schema: Schema.String, data }))

/**
 * Waits until the event is shown: any transaction on the server of the tests that is older holds it back, in whichever
 * database.
 */
export const shown = (id: number) =>
  Effect.flatMap(TestApi.TestApi, ({ call }) =>
    Effect.repeat(call(`/api/v1/events?after=${id}&limit=1`), { until: ({ status }) => status === 200 })
  )

/** Connections of this database that listen. */
export const listeners = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ readonly pid: number }>`
    SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`
)

/** Somebody listens. */
export const listening = Effect.repeat(listeners, { until: (found) => found.length > 0 })
