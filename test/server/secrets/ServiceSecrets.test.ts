// The secrets that the service makes for itself are committed before anything is made with them, and are the same in all processes.
import { PgClient } from "@effect/sql-pg"
import { assert, describe, inject, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { secretNames, Secrets, ServiceSecrets } from "../../../src/server/secrets/Secrets.ts"
import * as Services from "../../../src/server/Services.ts"
import { clientConfig } from "../../../testkit/Postgres.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"

const services = Layer.provideMerge(
  ServiceSecrets.layer,
  Services.layerSecrets({ masterKey: Redacted.make(TestApi.masterKey) })
)

/** The secrets of a process of its own on the database around it. */
const start = Effect.map(Layer.build(Layer.fresh(services)), (built) => Context.get(built, ServiceSecrets))

const read = ({ get }: ServiceSecrets["Service"]) => Effect.all(secretNames.map(get))

const count = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return (yield* sql`SELECT FROM service_secrets`).length
})

/** Runs `self` in a transaction that is rolled back, and gives its value. */
const rolledBack = Effect.fnUntraced(function* <A, R>(self: Effect.Effect<A, never, R>) {
  const sql = yield* SqlClient.SqlClient
  const undone = yield* Effect.flip(sql.withTransaction(Effect.flatMap(self, (value) => Effect.fail({ value }))))
  return "value" in undone ? undone.value : assert.fail(undone.message)
})

layerEach(TestDatabase.layer)("the secrets of the service", (it) => {
  it.effect("are all stored at the start, and the same in processes that start at the same moment", () =>
    Effect.gen(function* () {
      const processes = yield* Effect.all(
        Array.from({ length: 4 }, () => start),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(yield* count, secretNames.length)
      const [first = [], ...others] = yield* Effect.forEach(processes, read)
      assert.strictEqual(new Set(first).size, secretNames.length)
      for (const other of others) assert.deepStrictEqual(other, first)
    })
  )

  it.effect("stay if the transaction around the start is rolled back", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const first = yield* start
      const before = yield* read(first)
      yield* sql`DELETE FROM service_secrets`
      yield* rolledBack(first.load)
      assert.strictEqual(yield* count, secretNames.length)
      assert.deepStrictEqual(yield* read(yield* start), before)
    })
  )

  it.effect("are not remembered if they were stored in a transaction before the start: it may be rolled back", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* start
      yield* sql`DELETE FROM service_secrets`
      const early = Layer.provide(ServiceSecrets.layer, Secrets.layer({ current: Redacted.make(TestApi.masterKey) }))
      const notStarted = Context.get(yield* Layer.build(Layer.fresh(early)), ServiceSecrets)
      const gone = yield* rolledBack(notStarted.get("row_macs"))
      const kept = yield* notStarted.get("row_macs")
      assert.notStrictEqual(kept, gone)
      assert.strictEqual(yield* (yield* start).get("row_macs"), kept)
    })
  )

  it.effect(
    "are stored again if the database was put back to before the start, and replaced by those of another process",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const first = yield* start
        const before = yield* read(first)
        yield* sql`DELETE FROM service_secrets`
        yield* first.load
        assert.deepStrictEqual(yield* read(yield* start), before)

        yield* sql`DELETE FROM service_secrets`
        const second = yield* start
        const after = yield* read(second)
        assert.notDeepEqual(after, before)
        yield* first.load
        assert.deepStrictEqual(yield* read(first), after)
      })
  )

  it.effect("are shared in a transaction of their own", () =>
    Effect.gen(function* () {
      const first = yield* start
      const own = Redacted.make("own")
      assert.strictEqual(Redacted.value(yield* rolledBack(first.share("administrator_key", own))), "own")
      const second = yield* start
      const shared = yield* second.share("administrator_key", Redacted.make("other"))
      assert.strictEqual(Redacted.value(shared), "own")
    })
  )
})

/** As a process has by default. */
const poolSize = 10

describe("first requests at once", () => {
  it.effect("need no connection for a secret, as many as the pool has connections, each in a transaction", () =>
    Effect.gen(function* () {
      const config = clientConfig(inject("postgres"), yield* TestDatabase.make)
      const pool = PgClient.layer({ ...config, maxConnections: poolSize, applicationName: "effect-relayer" })
      const other = Context.get(yield* Layer.build(Layer.fresh(PgClient.layer(config))), SqlClient.SqlClient)
      yield* Effect.gen(function* () {
        const first = Effect.forEach(
          Array.from({ length: 2 * poolSize }, (_, index) => `s${index}`),
          (id) => Prepared.create("signers", { id, type: "plain" }, { headers: { "idempotency-key": id } }),
          { concurrency: "unbounded" }
        )
        // This transaction waits for the requests, so a request that reads or writes the table would never end.
        yield* Effect.andThen(other`LOCK TABLE service_secrets IN ACCESS EXCLUSIVE MODE`, first).pipe(
          other.withTransaction
        )
        const { json } = yield* TestApi.call("/api/v1/signers?per_page=100")
        assert.lengthOf(json.data as ReadonlyArray<unknown>, 2 * poolSize)
      }).pipe(Effect.provide(TestApi.layerWith({}, pool), { local: true }))
    })
  )
})
