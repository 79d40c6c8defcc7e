// The job that links audit records: a failure is reported, and records are linked as soon as it is over.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, References } from "effect"
import { SqlClient } from "effect/sql"
import { signer } from "../../../testkit/fixtures.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

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
