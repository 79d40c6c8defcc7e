// Two instances of the API and a writer of events on one database, each with its own connections.
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Logger } from "effect"
import { inject } from "vitest"
import { Events } from "../../../src/server/events/Events.ts"
import * as Lifecycle from "../../../src/server/lifecycle/Lifecycle.ts"
import { clientConfig } from "../../../testkit/Postgres.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"

export type Peer = Layer.Success<ReturnType<typeof TestApi.layer>>

export class Peers extends Context.Service<Peers, readonly [Context.Context<Peer>, Context.Context<Peer>]>()(
  "effect-relayer/test/server/events/Peers"
) {}

export const layer = Layer.unwrap(
  Effect.map(TestDatabase.make, (name) => {
    const database = PgClient.layer({ ...clientConfig(inject("postgres"), name), applicationName: "effect-relayer" })
    const instance = Layer.build(Layer.fresh(TestApi.layerWith({}, Layer.fresh(database))))
    return Layer.effect(Peers, Effect.all([instance, instance])).pipe(
      Layer.merge(Layer.provide(Events.layer, Lifecycle.layer)),
      Layer.provideMerge(database),
      Layer.provideMerge(Logger.layer([]))
    )
  })
)
