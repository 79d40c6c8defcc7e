// A database that has become read-only, like a primary that was demoted. The service notices it by the clock of the machine.
import { PgClient } from "@effect/sql-pg"
import { assert, inject, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { until } from "../../testkit/process/Folder.ts"
import { clientConfig } from "../../testkit/Postgres.ts"
import { TestApi, layerWith } from "../../testkit/TestApi.ts"
import * as TestDatabase from "../../testkit/TestDatabase.ts"

const relayers = 11

it.live("with a read-only database, lists and probes succeed, and writes get 503", () =>
  Effect.gen(function* () {
    const database = yield* TestDatabase.make
    const config = clientConfig(inject("postgres"), database)
    yield* Effect.gen(function* () {
      const { call } = yield* TestApi
      for (let n = 0; n < relayers; n++) {
        yield* call("/api/v1/signers", { body: { id: `s${n}`, type: "plain" } })
        const relayer = {
          id: `r${n}`,
          name: "x",
          network: "sepolia",
          network_type: "evm",
          paused: false,
          signer_id: `s${n}`
        }
        assert.strictEqual((yield* call("/api/v1/relayers", { body: relayer })).status, 201)
      }
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`ALTER DATABASE ${sql(database)} SET default_transaction_read_only = on`
        yield* sql`
          SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ${database} AND pid <> pg_backend_pid()`
      }).pipe(Effect.provide(Layer.fresh(PgClient.layer(config))))

      const write = call("/api/v1/signers", { body: { id: "late", type: "plain" } })
      const list = yield* until(
        "a list in a new session",
        Effect.map(call("/api/v1/relayers"), (answer) => (answer.status === 200 ? answer : undefined))
      )
      assert.match(list.headers.get("link") ?? "", /rel="next"/)
      const refused = yield* until(
        "a refused write in a new session",
        Effect.map(write, (answer) => (answer.status === 201 ? undefined : answer))
      )
      assert.strictEqual(refused.status, 503)
      assert.deepStrictEqual(refused.json, { data: null, message: "Service Unavailable", success: false })
      assert.match(refused.headers.get("retry-after") ?? "", /^\d+$/)
      assert.strictEqual((yield* call("/api/v1/ready")).status, 200)
    }).pipe(Effect.provide(layerWith({}, PgClient.layer({ ...config, applicationName: "effect-relayer" }))))
  })
)
