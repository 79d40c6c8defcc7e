// Relayers that are created at once share transactions, but each caller gets the error of its own relayer.
// A batch waits for what another one holds by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Array, Effect, Fiber, Layer, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { evmRelayer, notification, signer } from "../../../testkit/fixtures.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import { until } from "../../../testkit/process/Folder.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

const relayer = (n: number, other: object = {}) => ({
  ...evmRelayer,
  id: `relayer-${n}`,
  signer_id: `signer-${n}`,
  notification_id: "notification-1",
  ...other
})

const create = (body: object) =>
  Effect.flatMap(TestApi.TestApi, (api) =>
    api.call("/api/v1/relayers", { body, headers: { "x-request-id": "at-once" } })
  )

const atOnce = (bodies: ReadonlyArray<object>) =>
  Effect.map(Effect.forEach(bodies, create, { concurrency: "unbounded" }), (answers) =>
    answers.map(({ status, json }) => [status, json.error ?? json.message ?? "created"])
  )

const setUp = (count: number) =>
  Effect.gen(function* () {
    const api = yield* TestApi.TestApi
    yield* api.call("/api/v1/notifications", { body: notification })
    const ids = Array.makeBy(count, (n) => `signer-${n}`)
    yield* Effect.forEach(ids, (id) => api.call("/api/v1/signers", { body: { ...signer, id } }))
  })

const made = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<{ id: string; transaction: string; records: number; events: number; webhook: string }>`
    SELECT r.id, r.xmin::text AS transaction,
      (SELECT count(*)::int FROM audit a WHERE a.resource_id = r.id AND a.action = 'relayer.created'
        AND a.key_id = 'administrator' AND a.request_id = 'at-once' AND a.after::text = r.json) AS records,
      (SELECT count(*)::int FROM events e WHERE e.resource_id = r.id AND e.type = 'relayer.created'
        AND e.request_id = 'at-once' AND e.data::text = r.json) AS events,
      (SELECT string_agg(d.body, ' ') FROM deliveries d JOIN events e ON e.id = d.event_id
        WHERE d.lane = r.id AND e.resource_id = r.id AND d.body::json ->> 'id' = d.id
        AND d.body::json #>> '{payload,relayer,id}' = r.id) AS webhook
    FROM relayers r ORDER BY r.seq`
})

layerEach(Prepared.layer(setUp(60)))("relayers created at once", (it) => {
  it.live("each has its own record, event and delivery; many share a transaction", () =>
    Effect.gen(function* () {
      yield* atOnce(Array.makeBy(60, (n) => relayer(n)))
      const found = yield* made
      assert.lengthOf(found, 60)
      for (const { id, records, events, webhook } of found) {
        assert.deepStrictEqual([records, events], [1, 1], id)
        assert.include(JSON.parse(webhook), { event: "relayer_update" }, id)
      }
      assert.isBelow(new Set(found.map(({ transaction }) => transaction)).size, 60)
    })
  )

  it.live("an invalid one fails with its own error, and the others are created", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const sound = Array.makeBy(20, (n) => relayer(n))
      const faults = [
        [relayer(20, { id: "relayer-0", network: "sepolia" }), 409, "Relayer with this ID already exists"],
        [relayer(24, { id: "relayer-0", notification_id: "nowhere" }), 409, "Relayer with this ID already exists"],
        [relayer(22, { signer_id: "nobody" }), 400, "signer_id: no signer with this id"],
        [relayer(23, { notification_id: "nowhere" }), 400, "notification_id: no notification with this id"]
      ] as const
      yield* create(relayer(0))
      yield* create(relayer(1))
      const answers = yield* atOnce([...sound.slice(2), ...faults.map(([body]) => body)])
      assert.deepStrictEqual(answers, [
        ...sound.slice(2).map(() => [201, "created"]),
        ...faults.map(([, status, text]) => [status, text])
      ])
      const found = yield* made
      assert.sameMembers(
        found.map(({ id }) => id),
        sound.map(({ id }) => id)
      )
      const [events] = yield* sql<{
        count: number
      }>`SELECT count(*)::int AS count FROM events WHERE type = 'relayer.created'`
      assert.strictEqual(events?.count, 20)
    })
  )

  it.live("one of those with the same id is created", () =>
    Effect.gen(function* () {
      const answers = yield* atOnce(Array.makeBy(30, (n) => relayer(n, { id: "the-same" })))
      assert.deepStrictEqual(answers.map(([status]) => status).sort(), [201, ...Array.replicate(409, 29)])
      assert.deepStrictEqual(
        (yield* made).map(({ id, records, events }) => [id, records, events]),
        [["the-same", 1, 1]]
      )
    })
  )

  it.live("one whose signer or notification is being deleted waits for that, and the others do not", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const sql = yield* SqlClient.SqlClient
      yield* api.call("/api/v1/notifications", { body: { ...notification, id: "going" } })
      const waiting = [relayer(0), relayer(1, { notification_id: "going" })]
      const deleting = Effect.gen(function* () {
        yield* sql`DELETE FROM signers WHERE id = 'signer-0'`
        yield* sql`DELETE FROM notifications WHERE id = 'going'`
        const waits = yield* Effect.forkChild(atOnce(waiting), { startImmediately: true })
        const others = yield* atOnce(Array.makeBy(20, (n) => relayer(n + 2)))
        assert.deepStrictEqual(others, Array.replicate([201, "created"], 20))
        assert.isUndefined(waits.pollUnsafe())
        return waits
      })
      const waits = yield* sql.withTransaction(deleting)
      assert.deepStrictEqual(yield* Fiber.join(waits), [
        [400, "signer_id: no signer with this id"],
        [400, "notification_id: no notification with this id"]
      ])
    })
  )

  it.live("one whose id is being taken waits for that, and later ones do not", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const isWaiting = Effect.map(
        sql`SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))`,
        (rows) => (rows.length > 0 ? true : undefined)
      )
      const taking = Effect.gen(function* () {
        yield* sql`
          INSERT INTO relayers (id, name, network_type, network, address, paused, signer_id)
          VALUES ('relayer-1', 'x', 'evm', 'elsewhere', 'a', false, 'signer-1')`
        const waits = yield* Effect.forkChild(create(relayer(1)), { startImmediately: true })
        yield* until("it to wait", Effect.orDie(isWaiting))
        const others = yield* atOnce(Array.makeBy(20, (n) => relayer(n + 2)))
        assert.deepStrictEqual(others, Array.replicate([201, "created"], 20))
        assert.isUndefined(waits.pollUnsafe())
        yield* sql`DELETE FROM relayers WHERE id = 'relayer-1'`
        return waits
      })
      const waits = yield* sql.withTransaction(taking)
      assert.strictEqual((yield* Fiber.join(waits)).status, 201)
    })
  )
})

const warnings: Array<string> = []
const logger = Logger.make(({ logLevel, message }) => {
  const [text] = Array.ensure(message).map(String)
  // A busy machine causes warnings that are not about relayers.
  if (logLevel === "Warn" && text?.startsWith("relayers are created") === true) warnings.push(text)
})

const failingBatches = Prepared.layer(
  Effect.gen(function* () {
    yield* setUp(30)
    const sql = yield* SqlClient.SqlClient
    yield* sql`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$`
    yield* sql`
      CREATE TRIGGER refuse BEFORE INSERT ON relayers
      FOR EACH ROW WHEN (NEW.name = 'refused') EXECUTE FUNCTION refuse()`
  })
).pipe(Layer.provide(Logger.layer([logger])))

layer(failingBatches, { excludeTestServices: true })("batches of relayers that fail", (it) => {
  it.effect("only the faulty relayers of a batch fail", () =>
    Effect.gen(function* () {
      const bodies = Array.makeBy(20, (n) => relayer(n, n % 5 === 0 ? { name: "refused" } : {}))
      const answers = yield* atOnce(bodies)
      assert.deepStrictEqual(
        answers.map(([status]) => status),
        Array.makeBy(20, (n) => (n % 5 === 0 ? 500 : 201))
      )
    })
  )

  it.effect("one warning is logged until a batch succeeds again", () =>
    Effect.gen(function* () {
      const sound = (n: number) => create(relayer(n))
      const faulty = create(relayer(29, { name: "refused" }))
      yield* sound(20)
      warnings.length = 0
      yield* Effect.repeat(faulty, { times: 2 })
      assert.deepStrictEqual(warnings, ["relayers are created one by one because their batch failed"])
      yield* sound(21)
      yield* faulty
      assert.lengthOf(warnings, 2)
      yield* sound(23)
    })
  )

  it.effect("a relayer whose signer does not exist is refused without a warning", () =>
    Effect.gen(function* () {
      warnings.length = 0
      const { status, json } = yield* create(relayer(22, { signer_id: "typo" }))
      assert.strictEqual(status, 400)
      assert.include(json.error ?? "", "signer_id")
      assert.deepStrictEqual(warnings, [])
    })
  )
})
