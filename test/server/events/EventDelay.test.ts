// A transaction on the database server that holds events back is reported.
import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Logger, References } from "effect"
import { SqlClient } from "effect/sql"
import { inject } from "vitest"
import { signer } from "../../../testkit/fixtures.ts"
import { clientConfig } from "../../../testkit/Postgres.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"

const get = (path: string) => Effect.flatMap(TestApi.TestApi, (api) => api.call(path, { key: null }))

/** Runs `use` while a transaction that has written is open in another database of the same server. */
const whileOpenElsewhere = <A, E, R>(use: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const name = yield* TestDatabase.make
    const other = { ...clientConfig(inject("postgres"), name), applicationName: "another application" }
    const open = yield* Deferred.make<void>()
    const end = yield* Deferred.make<void>()
    const holding = Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql.withTransaction(
        sql`SELECT pg_current_xact_id()::text`.pipe(
          Effect.andThen(Deferred.succeed(open, undefined)),
          Effect.andThen(Deferred.await(end))
        )
      )
    }).pipe(Effect.provide(PgClient.layer(other)))
    const fiber = yield* Effect.forkChild(holding)
    yield* Deferred.await(open)
    const result = yield* use
    yield* Deferred.succeed(end, undefined)
    yield* Fiber.join(fiber)
    return result
  })

describe("an open transaction in another database of the server", () => {
  const warnings: Array<Readonly<Record<string, unknown>>> = []
  const logger = Logger.make(({ fiber, logLevel, message }) => {
    const annotations = fiber.getRef(References.CurrentLogAnnotations)
    // A busy machine causes other warnings.
    if (logLevel === "Warn" && annotations.condition === "events") {
      warnings.push({ message: String(message), ...annotations })
    }
  })

  it.effect("holds events back, which readiness, the metrics and the log report until it ends", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const sql = yield* SqlClient.SqlClient
      yield* whileOpenElsewhere(
        Effect.gen(function* () {
          yield* api.call("/api/v1/signers", { body: signer })
          yield* TestApi.passUntil("/metrics/events_held_back", (text) => text.includes("\nevents_held_back 1\n"))
          assert.notInclude((yield* get("/api/v1/ready")).text, "degraded")

          yield* sql`UPDATE events SET at = at - interval '31 seconds'`
          const degraded = yield* TestApi.passUntil("/api/v1/ready", (text) => text.includes("degraded"))
          assert.strictEqual(degraded.status, 200)
          const { events, audit } = JSON.parse(degraded.text).components
          assert.strictEqual(events.status, "unhealthy")
          assert.match(events.reason, /^events wait for a transaction/)
          assert.deepStrictEqual(audit, { status: "healthy" })
          const { text } = yield* get("/metrics/events_held_back_seconds")
          assert.isAbove(Number(/\nevents_held_back_seconds (.*)\n/.exec(text)?.[1]), 30)
          assert.lengthOf(warnings, 1)
          const { application } = warnings[0] ?? assert.fail("no warning")
          // The oldest open transaction is reported. On a server that test files share, it may be that of another file.
          assert.include(["another application", "effect-relayer", "@effect/sql-pg"], application)
        })
      )
      yield* TestApi.passUntil("/api/v1/ready", (text) => !text.includes("degraded"))
      yield* TestApi.passUntil("/metrics/events_held_back", (text) => text.includes("\nevents_held_back 0\n"))
    }).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(TestApi.layer(), Logger.layer([logger]))))
  )
})
