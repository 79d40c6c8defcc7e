// The job that links audit records: each second, at the end of its instance, and as soon as a failure is over, which is reported.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Redacted, References } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Audit } from "../../../src/server/audit/Audit.ts"
import * as Lifecycle from "../../../src/server/lifecycle/Lifecycle.ts"
import { Secrets } from "../../../src/server/secrets/Secrets.ts"
import { signer } from "../../../testkit/fixtures.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"

/** The tasks that failed. */
const warnings: Array<string> = []

const logger = Logger.make(({ fiber, logLevel }) => {
  const { task } = fiber.getRef(References.CurrentLogAnnotations)
  // A busy machine causes warnings that are about no task.
  if (logLevel === "Warn" && task !== undefined) warnings.push(String(task))
})

describe("an instance that cannot link audit records", () => {
  it.effect("accepts changes, is degraded, counts the records, warns once per task, and links them afterwards", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const sql = yield* SqlClient.SqlClient
      yield* sql`ALTER TABLE audit RENAME COLUMN position TO elsewhere`
      for (const id of ["a", "b", "c"]) {
        assert.strictEqual((yield* api.call("/api/v1/signers", { body: { ...signer, id } })).status, 201)
      }
      const degraded = yield* TestApi.passUntil("/api/v1/ready", (text) => text.includes("degraded"))
      assert.strictEqual(degraded.status, 200)
      assert.strictEqual(JSON.parse(degraded.text).components.jobs.audit, "unhealthy")
      yield* TestApi.passUntil("/metrics/audit_unlinked_records", (text) =>
        text.includes("\naudit_unlinked_records 3\n")
      )
      assert.sameMembers(warnings, ["link", "watch"])

      yield* sql`ALTER TABLE audit RENAME COLUMN elsewhere TO position`
      yield* TestApi.passUntil("/api/v1/ready", (text) => !text.includes("degraded"))
      yield* TestApi.passUntil("/metrics/audit_unlinked_records", (text) =>
        text.includes("\naudit_unlinked_records 0\n")
      )
      const { json } = yield* api.call("/api/v1/audit/verify")
      assert.deepInclude(json.data as object, { valid: true, checked: 3 })
      assert.sameMembers(warnings, ["link", "watch"])
    }).pipe(Effect.provide(Layer.provideMerge(TestApi.layer(), Logger.layer([logger]))))
  )
})

const instance = Layer.fresh(Audit.layer).pipe(
  Layer.provide(Layer.merge(Lifecycle.layer, Secrets.layer({ current: Redacted.make(TestApi.masterKey) })))
)

const record = Effect.flatMap(Audit, ({ recordMany }) =>
  recordMany([
    { action: "signer.created", id: "a", after: "{}", origin: { keyId: "k", requestId: null, clientAddress: null } }
  ])
)

const unlinked = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(sql`SELECT FROM audit WHERE hash IS NULL`, (rows) => rows.length)
)

/** A verification links, which takes its turn behind the first link of the instance: when it has ended, a record stays unlinked. */
const linked = Effect.flatMap(Audit, ({ verify }) => verify())

const recordUnlinked = linked.pipe(Effect.andThen(record), Effect.andThen(unlinked))

layerEach(TestDatabase.layer)("an instance", (it) => {
  it.effect("links what was recorded when the next second begins", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("300 millis")
      yield* recordUnlinked
      yield* TestClock.adjust("699 millis")
      assert.isAbove(yield* unlinked, 0)
      yield* Effect.repeat(Effect.andThen(TestClock.adjust("1 second"), unlinked), { until: (count) => count === 0 })
    }).pipe(Effect.provide(instance))
  )

  it.effect("links what it has recorded when it stops", () =>
    Effect.gen(function* () {
      assert.isAbove(yield* recordUnlinked.pipe(Effect.provide(instance)), 0)
      assert.strictEqual(yield* unlinked, 0)
    })
  )
})
