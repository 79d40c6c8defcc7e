// The whole API in real time, and beside it a writer of events.
import { Effect, Layer, Logger, Schema } from "effect"
import { Events } from "../../../src/server/Events/Events.ts"
import * as TestApi from "../../support/TestApi.ts"

export const layer = (options: TestApi.Options = {}) =>
  Layer.provideMerge(Events.layer, TestApi.layer(options)).pipe(Layer.provideMerge(Logger.layer([])))

export const options = { excludeTestServices: true }

/** An event of the relayer `id`; its data is `data`. Returns its id. */
export const emit = (id: string, data: string = id) =>
  Effect.flatMap(Events, (events) => events.emit({ type: "relayer.updated", id, schema: Schema.String, data }))
