// Two instances of the services on one database, each with its own connections.
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Redacted } from "effect"
import { inject } from "vitest"
import { networks } from "../../src/process/Networks.ts"
import * as Services from "../../src/server/Services.ts"
import type { Audit } from "../../src/server/audit/Audit.ts"
import type { Claims } from "../../src/server/claims/Claims.ts"
import type { EventFeed } from "../../src/server/events/EventFeed.ts"
import type { Notifications } from "../../src/server/notifications/Notifications.ts"
import type { Relayers } from "../../src/server/relayers/Relayers.ts"
import type { Signers } from "../../src/server/signers/Signers.ts"
import { clientConfig } from "../../testkit/Postgres.ts"
import { masterKey } from "../../testkit/TestApi.ts"
import * as TestDatabase from "../../testkit/TestDatabase.ts"

export type Instance = Context.Context<Relayers | Signers | Notifications | Audit | EventFeed | Claims>

export class Instances extends Context.Service<Instances, readonly [Instance, Instance]>()(
  "effect-relayer/test/server/Instances"
) {}

export const layer = Layer.unwrap(
  Effect.map(TestDatabase.make, (name) => {
    const database = PgClient.layer(clientConfig(inject("postgres"), name))
    const instance = Layer.build(
      Layer.fresh(
        Layer.provide(
          Services.layerNoAuthentication({ networks, masterKey: Redacted.make(masterKey), jobs: false }),
          Layer.fresh(database)
        )
      )
    )
    return Layer.mergeAll(Layer.effect(Instances, Effect.all([instance, instance])), database)
  })
)
