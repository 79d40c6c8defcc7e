// Kills of the service between the steps of a change: the change is committed completely or not at all.
// Processes run by the clock of the machine.
import { PgClient } from "@effect/sql-pg"
import { assert, describe, inject, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { clientConfig } from "../../testkit/Postgres.ts"
import * as TestDatabase from "../../testkit/TestDatabase.ts"
import { folder, until } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

const server = inject("postgres")

/** Writers of a table wait for an advisory lock, at their statement or at their commit. */
const makePoints = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE FUNCTION crash_point() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_advisory_xact_lock_shared(hashtextextended(TG_ARGV[0] || ' ' || TG_TABLE_NAME, 1));
      RETURN NEW;
    END $$`
  for (const table of ["relayers", "api_keys", "audit", "idempotency_keys"]) {
    yield* sql`
      CREATE TRIGGER crash_point_write BEFORE INSERT OR UPDATE ON ${sql(table)}
        FOR EACH ROW EXECUTE FUNCTION crash_point('write')`
    yield* sql`
      CREATE CONSTRAINT TRIGGER crash_point_commit AFTER INSERT OR UPDATE ON ${sql(table)}
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION crash_point('commit')`
  }
})

type Table = "relayers" | "api_keys" | "audit" | "idempotency_keys"

interface Point {
  readonly at: "write" | "commit"
  readonly table: Table
}

/** All rows that a change can write. */
const state = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ state: string }>`
    SELECT json_build_object(
      'relayers', (SELECT coalesce(json_agg(r ORDER BY r.id), '[]') FROM (
        SELECT id, name, version, policies FROM relayers) r),
      'total', (SELECT sum(count) FROM relayer_counts),
      'keys', (SELECT coalesce(json_agg(k ORDER BY k.id), '[]') FROM (
        SELECT id, encode(hash, 'hex'), encode(previous_hash, 'hex') AS previous FROM api_keys) k),
      'records', (SELECT coalesce(json_agg(a.action ORDER BY a.id), '[]') FROM audit a),
      'answers', (SELECT count(*) FROM idempotency_keys)
    )::text AS state`
  return row?.state ?? ""
})

/** Kills the service while `request` waits at `point`, and then waits until the database has ended its sessions. */
const killAt = Effect.fnUntraced(function* (
  service: Service.Listening,
  point: Point,
  request: Effect.Effect<Service.Answer>
) {
  const sql = yield* SqlClient.SqlClient
  yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(${`${point.at} ${point.table}`}, 1))`
      const sent = yield* Effect.forkChild(Effect.exit(request))
      const waiting = sql<{ n: bigint }>`
        SELECT count(*) AS n FROM pg_locks l JOIN pg_database d ON d.oid = l.database
        WHERE d.datname = current_database() AND l.locktype = 'advisory' AND NOT l.granted`
      yield* until(
        `a request at ${point.at} of ${point.table}`,
        Effect.map(Effect.orDie(waiting), ([row]) => (row?.n === 1n ? true : undefined))
      )
      yield* service.kill("SIGKILL")
      yield* service.exited
      yield* Fiber.await(sent)
    })
  )
  const left = sql<{ n: bigint }>`
    SELECT count(*) AS n FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'effect-relayer'`
  yield* until(
    "the end of the sessions of the service",
    Effect.map(Effect.orDie(left), ([row]) => (row?.n === 0n ? true : undefined))
  )
})

const relayer = { id: "r", name: "First", network: "sepolia", network_type: "evm", paused: false, signer_id: "s" }

interface Change {
  readonly name: string
  readonly path: string
  readonly call: Service.Call
  readonly points: ReadonlyArray<Point>
}

const once = { "idempotency-key": "once" }

const changes = (keyId: string): ReadonlyArray<Change> => [
  {
    name: "an idempotent create",
    path: "/api/v1/relayers",
    call: { body: relayer, headers: once },
    points: [
      { at: "write", table: "relayers" },
      { at: "write", table: "audit" },
      { at: "write", table: "idempotency_keys" },
      { at: "commit", table: "idempotency_keys" }
    ]
  },
  {
    name: "a patch",
    path: "/api/v1/relayers/r",
    call: { method: "PATCH", body: { name: "Second", policies: { min_balance: 7 } } },
    points: [
      { at: "write", table: "relayers" },
      { at: "write", table: "audit" },
      { at: "commit", table: "audit" }
    ]
  },
  {
    name: "a rotation of a key",
    path: `/api/v1/api-keys/${keyId}/rotate`,
    call: { method: "POST", headers: { "idempotency-key": "rotate" } },
    points: [
      { at: "write", table: "api_keys" },
      { at: "write", table: "audit" },
      { at: "commit", table: "api_keys" }
    ]
  }
]

describe("a service that is killed", () => {
  it.live("leaves a change complete or not at all, and accepts the same request again", () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.make
      const options = { folder: yield* folder, env: Service.onServer(server, database) }
      yield* Effect.gen(function* () {
        yield* makePoints
        let service = yield* Service.listen(options)
        yield* service.call("/api/v1/signers", { body: { id: "s", type: "plain" } })
        const made = yield* service.call("/api/v1/api-keys", { body: { name: "x", scopes: ["*"] } })
        const { id: keyId } = JSON.parse(made.text).data as { id: string }

        for (const change of changes(keyId)) {
          const before = yield* state
          for (const point of change.points) {
            yield* killAt(service, point, service.call(change.path, change.call))
            const after = yield* state
            const name = `${change.name}, at ${point.at} of ${point.table}`
            if (point.at === "write") assert.strictEqual(after, before, name)
            else assert.notStrictEqual(after, before, name)
            service = yield* Service.listen(options)
          }
          // The change was committed when the service was killed. The caller got no response and sends the request again.
          const committed = yield* state
          const again = yield* service.call(change.path, change.call)
          assert.include([200, 201], again.status, again.text)
          assert.strictEqual(yield* state, committed, change.name)
          if (change.call.headers !== undefined) assert.strictEqual(again.headers.get("idempotency-replayed"), "true")
        }

        const read = yield* service.call("/api/v1/relayers/r")
        assert.deepInclude(JSON.parse(read.text).data, { name: "Second", policies: { min_balance: 7 } })
        const rotated = yield* service.call(`/api/v1/api-keys/${keyId}/rotate`, {
          method: "POST",
          headers: { "idempotency-key": "rotate" }
        })
        const { key } = JSON.parse(rotated.text).data as { key: string }
        assert.strictEqual((yield* service.call("/api/v1/relayers", { key })).status, 200)
        const verified = yield* service.call("/api/v1/audit/verify")
        assert.deepInclude(JSON.parse(verified.text).data, { valid: true, checked: 5 })
      }).pipe(Effect.provide(Layer.fresh(PgClient.layer(clientConfig(server, database)))))
    })
  )
})
