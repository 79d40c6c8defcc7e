// The watch of the audit log: an instance reports records that are gone or changed after it has verified them.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Option, References } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import type { AuditHead } from "../../../src/domain/audit/Audit.ts"
import { AuditHeadStore } from "../../../src/server/audit/Audit.ts"
import type { HeadStore } from "../../../src/server/audit/Audit.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"
import { createSigner, verify } from "./Log.ts"

const reason = "the audit log was cut off or changed after this instance had verified it"

const readiness = Effect.map(
  Effect.flatMap(TestApi.TestApi, (api) => api.call("/api/v1/ready", { key: null })),
  ({ json }) => json as { readonly status: string; readonly components: { readonly audit: object } }
)

/** Lets the jobs run until the status of readiness is this one. */
const passUntil = (status: string) =>
  Effect.andThen(TestClock.adjust("1 second"), readiness).pipe(
    Effect.repeat({ until: (ready) => ready.status === status })
  )

const inMemory = () => {
  let stored: AuditHead | undefined
  const store: HeadStore = {
    read: Effect.sync(() => Option.fromUndefinedOr(stored)),
    write: (head) => Effect.sync(() => void (stored = head))
  }
  return { store, head: () => stored }
}

const pastHead = ({ head }: ReturnType<typeof inMemory>, position: number) =>
  Effect.repeat(Effect.andThen(TestClock.adjust("1 second"), verify()), { until: () => head()?.position === position })

/** What the owner of the database can do. */
const asOwner = (statement: (sql: SqlClient.SqlClient) => Effect.Effect<unknown, unknown>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`ALTER TABLE audit DISABLE TRIGGER USER`
    yield* statement(sql)
    yield* sql`ALTER TABLE audit ENABLE TRIGGER USER`
  })

describe("an instance that has verified the audit log", () => {
  const attacks: ReadonlyArray<readonly [string, number, Parameters<typeof asOwner>[0]]> = [
    ["is cut off", 3, (sql) => sql`DELETE FROM audit WHERE position > 2`],
    ["is truncated", 1, (sql) => sql`TRUNCATE audit`],
    ["is rewritten", 4, (sql) => sql`UPDATE audit SET hash = sha256(hash)`]
  ]
  for (const [what, broken_at, attack] of attacks) {
    it.effect(`is degraded, warns, and finds it broken when the log ${what}, also after a restart`, () => {
      const warnings: Array<string> = []
      const logger = Logger.make(({ fiber, logLevel, message }) => {
        const { condition } = fiber.getRef(References.CurrentLogAnnotations)
        // A busy machine causes other warnings.
        if (logLevel === "Warn" && condition === "audit") warnings.push(String(message))
      })
      const memory = inMemory()
      const attacked = Effect.gen(function* () {
        for (const id of ["a", "b", "c", "d"]) yield* createSigner(id)
        yield* pastHead(memory, 4)
        assert.deepInclude(yield* verify(), { valid: true, checked: 4 })
        assert.strictEqual((yield* readiness).status, "healthy")
        yield* asOwner(attack)
        assert.deepInclude(yield* verify(), { valid: false, ...(what === "is rewritten" ? {} : { broken_at }) })
        const { components } = yield* passUntil("degraded")
        assert.deepStrictEqual(components.audit, { status: "unhealthy", reason })
        assert.deepStrictEqual(warnings, [reason])
        const api = yield* TestApi.TestApi
        const { text } = yield* api.call("/metrics/component_healthy", { key: null })
        assert.include(text, 'component_healthy{component="audit"} 0\n')
        assert.include(text, 'component_healthy{component="events"} 1\n')
      })
      const restarted = Effect.gen(function* () {
        yield* createSigner("e")
        assert.deepInclude(yield* verify(), { valid: false })
        const { components } = yield* passUntil("degraded")
        assert.deepStrictEqual(components.audit, { status: "unhealthy", reason })
      })
      const on = <E>(use: Effect.Effect<void, E, TestApi.TestApi | SqlClient.SqlClient>) =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* Effect.provide(
            use,
            Layer.fresh(TestApi.layerWith({}, Layer.succeed(SqlClient.SqlClient, sql))).pipe(
              Layer.provide(Layer.succeed(AuditHeadStore, Option.some(memory.store)))
            )
          )
        })
      return Effect.andThen(on(attacked), on(restarted)).pipe(
        Effect.provide(Layer.merge(TestDatabase.layer, Logger.layer([logger])))
      )
    })
  }
})
