// Processes of the service on one database, which can die at a named point of a step.
import { Deferred, Effect, Exit, Layer, Redacted, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { networks as all } from "../../../src/process/Networks.ts"
import { CrashPoints } from "../../../src/server/lanes/LaneSending.ts"
import type { CrashPoint } from "../../../src/server/lanes/LaneSending.ts"
import type { ServedNetwork } from "../../../src/server/ServedNetworks.ts"
import * as Services from "../../../src/server/Services.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

const services = (networks: ReadonlyArray<ServedNetwork>) =>
  Layer.fresh(
    Services.layer({
      administratorKey: Redacted.make(TestApi.apiKey),
      masterKey: Redacted.make(TestApi.masterKey),
      outboundAllow: ["127.0.0.0/8"],
      healthCheckInterval: "1 hour",
      networks
    })
  )

/** The process stops at the point for ever, as far as others can see. `reached`: it has. */
export const start = Effect.fnUntraced(function* (crashAt?: CrashPoint, networks: ReadonlyArray<ServedNetwork> = all) {
  const sql = yield* SqlClient.SqlClient
  const reached = yield* Deferred.make<void>()
  const at = (point: CrashPoint) =>
    point === crashAt ? Effect.andThen(Deferred.succeed(reached, undefined), Effect.never) : Effect.void
  const scope = yield* Scope.make()
  yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
  const layer = services(networks).pipe(Layer.provide(Layer.succeed(SqlClient.SqlClient, sql)))
  yield* Layer.buildWithScope(layer, scope).pipe(Effect.provideService(CrashPoints, at))
  return { reached: Deferred.await(reached), end: Scope.close(scope, Exit.void) }
})
