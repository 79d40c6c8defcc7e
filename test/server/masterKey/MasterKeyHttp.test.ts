// Rotations of the master key over HTTP. A rotation waits for rows by the clock of the machine.
import { assert } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { MasterKeyStore } from "../../../src/server/masterKey/MasterKeys.ts"
import { signer } from "../../../testkit/fixtures.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import { until } from "../../../testkit/process/Folder.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

const rotate = (call: TestApi.Call = {}) =>
  Effect.flatMap(TestApi.TestApi, (api) => api.call("/api/v1/master-key/rotate", { method: "POST", ...call }))

const withFiles = Layer.succeed(
  MasterKeyStore,
  Option.some({ keep: () => Effect.void, files: Effect.succeed(["/data/key", "/data/key.1a2b3c4d"]) })
)

layerEach(Layer.provide(TestApi.layer(), withFiles))("a master key that is kept in a file", (it) => {
  it.effect("is rotated by the administrator only, and the response names the files to copy", () =>
    Effect.gen(function* () {
      for (const body of [{ scopes: ["master-key:write"] }, { scopes: ["*"] }]) {
        assert.strictEqual((yield* rotate({ key: yield* Prepared.createKey(body) })).status, 403)
      }
      const { json, status } = yield* rotate()
      assert.strictEqual(status, 200)
      const data = json.data as { readonly key_files: ReadonlyArray<string>; readonly note: string }
      assert.deepStrictEqual(data.key_files, ["/data/key", "/data/key.1a2b3c4d"])
      assert.include(data.note, "Copy these key files")
      assert.include(data.note, "need the earlier key")
    })
  )
})

layerEach(TestApi.layer())("a master key that the operator sets", (it) => {
  it.effect("is rotated with the scope, and the response says to keep the previous key", () =>
    Effect.gen(function* () {
      const { json, status } = yield* rotate({ key: yield* Prepared.createKey({ scopes: ["master-key:write"] }) })
      assert.strictEqual(status, 200)
      assert.deepInclude(json.data, { key_files: [] })
      assert.include(JSON.stringify(json.data), "keep it")
    })
  )
})

layerEach(Layer.provide(TestApi.layer(), withFiles))("a rotation with an idempotency key", (it) => {
  it.live("holds no connection of its request while it runs", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Prepared.create("signers", signer)
      const [locked, end] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const lock = yield* sql`SELECT 1 FROM signers FOR UPDATE`.pipe(
        Effect.andThen(Deferred.succeed(locked, undefined)),
        Effect.andThen(Deferred.await(end)),
        sql.withTransaction,
        Effect.forkScoped
      )
      yield* Deferred.await(locked)
      const rotation = yield* Effect.forkScoped(rotate({ headers: { "idempotency-key": "once" } }))
      yield* until(
        "the rotation to wait for the locked row",
        sql`SELECT count(DISTINCT key_id) FROM master_key HAVING count(DISTINCT key_id) = 2`.pipe(
          Effect.orDie,
          Effect.map((rows) => rows.length > 0 || undefined)
        )
      )
      // The only idle transaction is that of the test.
      yield* until(
        "no transaction that waits for its request",
        sql<{ n: bigint }>`
          SELECT count(*) AS n FROM pg_stat_activity
          WHERE datname = current_database() AND state = 'idle in transaction'`.pipe(
          Effect.orDie,
          Effect.map(([row]) => Number(row?.n) <= 1 || undefined)
        )
      )
      yield* Deferred.succeed(end, undefined)
      yield* Fiber.join(lock)
      const { status, text } = yield* Fiber.join(rotation)
      assert.strictEqual(status, 200, text)
      const again = yield* rotate({ headers: { "idempotency-key": "once" } })
      assert.deepStrictEqual([again.text, again.headers.get("idempotency-replayed")], [text, "true"])
    })
  )
})
