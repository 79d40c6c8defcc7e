// An instance beside a newer version that has changed the schema: it stops writing if the change is incompatible.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { latestMigration, migrationsTable } from "../../../src/sql/migrations/index.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { layerEach } from "../../../testkit/layerEach.ts"

const upgrade = (oldest: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`INSERT INTO ${sql(migrationsTable)} (migration_id, name) VALUES (999, 'future')`
    yield* sql`UPDATE schema_mark SET oldest = ${oldest}`
  })

const create = TestApi.call("/api/v1/signers", { body: { type: "plain" } })
const ready = TestApi.call("/api/v1/ready", { key: null })

layerEach(TestApi.layer())("an instance of an earlier version", (it) => {
  it.effect("answers 503 and is not ready within ten seconds after an incompatible migration, until it is undone", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* create).status, 201)
      yield* upgrade(999)
      assert.strictEqual((yield* ready).status, 503)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* create).status, 503)
      assert.strictEqual((yield* TestApi.call("/api/v1/health", { key: null })).status, 200)

      const sql = yield* SqlClient.SqlClient
      const [before] = yield* sql<{ count: number }>`SELECT count(*)::int AS count FROM signers`
      assert.strictEqual(before?.count, 1)
      yield* sql`UPDATE schema_mark SET oldest = ${latestMigration}`
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* create).status, 201)
    })
  )

  it.effect("goes on after a compatible migration", () =>
    Effect.gen(function* () {
      yield* upgrade(latestMigration)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* create).status, 201)
      assert.strictEqual((yield* ready).status, 200)
    })
  )
})
