// Two instances of the API and a writer of events on one database, each with its own connections.
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Logger } from "effect"
import { inject } from "vitest"
import { Events } from "../../../src/server/events/Events.ts"
import * as Lifecycle from "../../../src/server/lifecycle/Lifecycle.ts"
import { clientConfig } from "../../../testkit/Postgres.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"

type Peer = Layer.Success<ReturnType<typeof TestApi.layer>>

export type Instance = Context.Context<Peer>

export class Peers extends Context.Service<Peers, readonly [Instance, Instance]>()(
  "effect-relayer/test/server/events/Peers"
) {}

/** The two instances may have different options. */
export const layerOf = (first: TestApi.Options, second: TestApi.Options) =>
  Layer.unwrap(
    Effect.map(TestDatabase.make, (name) => {
      const database = PgClient.layer({ ...clientConfig(inject("postgres"), name), applicationName: "effect-relayer" })
      const instance = (options: TestApi.Options) =>
        Layer.build(Layer.fresh(TestApi.layerWith(options, Layer.fresh(database))))
      return Layer.effect(Peers, Effect.all([instance(first), instance(second)])).pipe(
        Layer.merge(Layer.provide(Events.layer, Lifecycle.layer)),
        Layer.provideMerge(database),
        Layer.provideMerge(Logger.layer([]))
      )
    })
  )

export const layer = layerOf({}, {})
