// Requests with an idempotency key that wait for a webhook receiver, a chain or Vault.
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { maxOutboundWork } from "../../../src/server/limits/RateLimits.ts"
import * as EvmRpc from "../../../testkit/EvmRpc.ts"
import * as Receiver from "../../../testkit/Receiver.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { Vault } from "../../../testkit/Vault.ts"
import { relayerAt } from "../health/RelayerAt.ts"
import { config, prepared } from "../signers/fixtures.ts"

const call = TestApi.callBelow("/api/v1")

const post = (at: string, key: string, options: TestApi.Call = {}) =>
  call(at, { method: "POST", ...options, headers: { "idempotency-key": key } })

/** A notification whose receiver does not answer before `letGo`. */
const slow = Effect.fnUntraced(function* (id: string) {
  const receiver = yield* Receiver.make
  receiver.answer = () => "hang"
  const created = yield* call("/notifications", { body: { id, url: receiver.url } })
  assert.strictEqual(created.status, 201, created.text)
  return { receiver, test: (key: string, options?: TestApi.Call) => post(`/notifications/${id}/test`, key, options) }
})

const start = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.forkChild(self, { startImmediately: true })

const count = (query: (sql: SqlClient.SqlClient) => Effect.Effect<ReadonlyArray<{ n: bigint }>, unknown>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => Effect.map(query(sql), ([row]) => Number(row?.n)))

const transactionsWaiting = count(
  (sql) => sql`
    SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'`
)

const testsOf = (id: string) =>
  count(
    (sql) => sql`
      SELECT count(*) AS n FROM deliveries d JOIN notifications n ON n.seq = d.notification_seq
      WHERE n.id = ${id} AND d.event = 'test'`
  )

const live = Layer.provideMerge(TestApi.layer(), Vault.layer)

layer(live)("a request with an idempotency key", (it) => {
  it.effect("holds no connection while a receiver does not answer", () =>
    Effect.gen(function* () {
      const { receiver, test } = yield* slow("many")
      // More than the pool has connections.
      const tests = yield* Effect.forEach(Array.from({ length: 12 }).keys(), (n) => start(test(`many-${n}`)))
      yield* receiver.arrived(12)
      assert.strictEqual(yield* transactionsWaiting, 0)
      assert.strictEqual((yield* call("/relayers")).status, 200)
      assert.strictEqual((yield* call("/ready")).status, 200)
      receiver.letGo()
      for (const fiber of tests) assert.strictEqual((yield* Fiber.join(fiber)).status, 200)
    })
  )

  it.effect("is refused without a statement on its key if the caller has too much outbound work in progress", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { receiver, test } = yield* slow("refused")
      const { json } = yield* call("/api-keys", {
        body: { name: "x", scopes: ["notifications:write", "relayers:write"] }
      })
      const { key } = json.data as { readonly key: string }
      const tests = yield* Effect.forEach(Array.from({ length: maxOutboundWork }).keys(), (n) =>
        start(test(`refused-${n}`, { key }))
      )
      yield* receiver.arrived(maxOutboundWork)
      const refusals = Effect.gen(function* () {
        yield* sql`LOCK TABLE idempotency_keys, notifications, relayers IN ACCESS EXCLUSIVE MODE`
        return [yield* test("one-more", { key }), yield* post("/relayers/x/check", "one more", { key })]
      })
      for (const { status, headers } of yield* sql.withTransaction(refusals)) {
        assert.deepStrictEqual([status, headers.get("retry-after")], [429, "1"])
      }
      receiver.answer = () => undefined
      receiver.letGo()
      for (const fiber of tests) assert.strictEqual((yield* Fiber.join(fiber)).status, 200)
      assert.strictEqual((yield* test("one-more", { key })).status, 200)
    })
  )

  it.effect("is refused with Retry-After while the first one works, and then gets its response", () =>
    Effect.gen(function* () {
      const { receiver, test } = yield* slow("repeated")
      const first = yield* start(test("repeated"))
      yield* receiver.arrived(1)
      const second = yield* test("repeated")
      assert.deepStrictEqual([second.status, second.headers.get("retry-after")], [409, "1"])
      const other = yield* post("/signers", "repeated", { body: { type: "plain" } })
      assert.strictEqual(other.status, 422)
      receiver.letGo()
      const { text } = yield* Fiber.join(first)
      const third = yield* test("repeated")
      assert.deepStrictEqual([third.text, third.headers.get("idempotency-replayed")], [text, "true"])
      assert.strictEqual(receiver.seen.length, 1)
    })
  )

  it.effect("leaves a key that is free when the lease ends, if its instance dies", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { receiver, test } = yield* slow("crashed")
      const first = yield* start(test("crashed"))
      yield* receiver.arrived(1)
      yield* sql`UPDATE idempotency_keys SET claimed_until = now() WHERE claim IS NOT NULL`
      receiver.answer = () => undefined
      const second = yield* test("crashed")
      assert.strictEqual(second.status, 200, second.text)
      // The first one was only slow: its result is dropped, because the second one has been acknowledged.
      receiver.letGo()
      assert.strictEqual((yield* Fiber.join(first)).status, 409)
      assert.strictEqual(yield* testsOf("crashed"), 1)
      assert.strictEqual((yield* test("crashed")).text, second.text)
    })
  )

  it.effect("frees its key when its effect is refused after the work", () =>
    Effect.gen(function* () {
      const vault = yield* prepared
      const body = { id: "taken", type: "vault", config: config(vault) }
      assert.strictEqual((yield* call("/signers", { body })).status, 201)
      assert.strictEqual((yield* post("/signers", "refused", { body })).status, 409)
      assert.strictEqual((yield* post("/signers", "refused", { body: { ...body, id: "free" } })).status, 201)
      vault.faults.set("kv", 500)
      assert.strictEqual((yield* post("/signers", "later", { body: { ...body, id: "later" } })).status, 400)
      vault.faults.clear()
      assert.strictEqual((yield* post("/signers", "later", { body: { ...body, id: "later" } })).status, 201)
      assert.strictEqual((yield* post("/signers/later/verify", "verify")).status, 200)
    })
  )

  it.effect("sees in its response what its check has stored", () =>
    Effect.gen(function* () {
      const rpc = yield* EvmRpc.make({ balance: 7n })
      const relayer = yield* relayerAt([rpc.url])
      const checked = yield* relayer.check({ "idempotency-key": "check" })
      assert.deepInclude(checked.json.data, { health: "healthy", balance: "7" })
      assert.strictEqual((yield* relayer.check({ "idempotency-key": "check" })).text, checked.text)
    })
  )
})

layer(live)("outbound work", (it) => {
  it.effect("is limited for each caller, and not for the administrator", () =>
    Effect.gen(function* () {
      const { receiver, test } = yield* slow("limited")
      const created = yield* call("/api-keys", { body: { name: "limited", scopes: ["notifications:*"] } })
      const { key } = created.json.data as { readonly key: string }
      const tests = yield* Effect.forEach(Array.from({ length: maxOutboundWork }).keys(), (n) =>
        start(test(`limited-${n}`, { key }))
      )
      yield* receiver.arrived(maxOutboundWork)
      const refused = yield* test("refused", { key })
      assert.deepStrictEqual([refused.status, refused.headers.get("retry-after")], [429, "1"])
      const administrators = yield* start(test("administrator"))
      yield* receiver.arrived(maxOutboundWork + 1)
      receiver.letGo()
      for (const fiber of [...tests, administrators]) assert.strictEqual((yield* Fiber.join(fiber)).status, 200)
      receiver.answer = () => undefined
      assert.strictEqual((yield* test("refused", { key })).status, 200)
    })
  )
})

layer(live)("a response that cannot be stored", (it) => {
  it.effect("rolls back the effect of its request, with and without outbound work", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const vault = yield* prepared
      yield* sql`
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$`
      yield* sql`
        CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON idempotency_keys FOR EACH ROW
          WHEN (new.status IS NOT NULL) EXECUTE FUNCTION refuse()`
      for (const body of [{ type: "plain" }, { type: "vault", config: config(vault) }]) {
        assert.strictEqual((yield* post("/signers", body.type, { body })).status, 500)
      }
      const written = count(
        (sql) => sql`
          SELECT (SELECT count(*) FROM signers) + (SELECT count(*) FROM audit) + (SELECT count(*) FROM idempotency_keys) AS n`
      )
      assert.strictEqual(yield* written, 0)
      yield* sql`DROP TRIGGER refuse ON idempotency_keys`
      for (const body of [{ type: "plain" }, { type: "vault", config: config(vault) }]) {
        assert.strictEqual((yield* post("/signers", body.type, { body })).status, 201)
      }
    })
  )
})
