// An apply writes everything or nothing: with a fault in each of its statements, beside another apply, and if a key service is away.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { cases } from "../../../testkit/Depth.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { applied, apply, call, document, plan, planned, rows, treasury } from "./requests.ts"

const tables = [
  "networks",
  "notifications",
  "signers",
  "relayers",
  "api_keys",
  "events",
  "audit",
  "configurations",
  "managed_objects"
]

/** Makes statements that write to the tables fail, once `failAt` says from which on. */
const prepareFaults = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE fault (number bigint)`
  yield* sql`INSERT INTO fault VALUES (NULL)`
  yield* sql`CREATE SEQUENCE writes`
  yield* sql`CREATE FUNCTION fail_at() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF nextval('writes') >= (SELECT number FROM fault) THEN RAISE EXCEPTION 'fault'; END IF;
      RETURN NULL;
    END $$`
  for (const table of tables) {
    // Records are linked, and events are numbered, after the transaction that inserts them.
    const update = table === "audit" || table === "events" ? sql`` : sql`OR UPDATE`
    yield* sql`
      CREATE TRIGGER fault AFTER INSERT ${update} OR DELETE ON ${sql(table)}
        FOR EACH STATEMENT EXECUTE FUNCTION fail_at()`
  }
}).pipe(Effect.orDie)

/** From now on, this statement and all after it fail, so that a retry does not succeed. Null: none fails. */
const failAt = Effect.fnUntraced(function* (number: number | null) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE fault SET number = ${number}::bigint`
  yield* sql`SELECT setval('writes', 1, false)`
}, Effect.orDie)

const relayer = (name: string, signer_id: string, more: object = {}) => ({
  name,
  network_type: "evm",
  network: "other",
  signer_id,
  ...more
})

const key = (name: string) => ({ name, scopes: ["relayers:read"] })

const hook = (path: string) => ({ url: `https://hooks.example.com/${path}` })

/** A document that has more than `document`, so that the next one can change and delete objects of each kind. */
const begun = {
  ...document,
  networks: { ...document.networks, "evm:gone": { from: "sepolia" } },
  signers: { ...document.signers, gone: { type: "plain" } },
  notifications: { ...document.notifications, gone: hook("gone") },
  relayers: { ...document.relayers, renamed: relayer("Before", "treasury-key", { network: "sepolia" }) },
  api_keys: { ...document.api_keys, renamed: key("Before") }
}

/** `begun` with 20 changes: each kind has creations, changes and deletions (signers have no changes), and one relayer is replaced. */
const changed = {
  ...document,
  networks: {
    "evm:acme": { from: "sepolia", tags: ["t"] },
    "evm:other": { from: "acme" },
    "evm:base": { tags: ["x"] }
  },
  signers: { ...document.signers, second: { type: "plain" }, third: { type: "plain" } },
  notifications: { ops: hook("changed"), more: hook("more"), most: hook("most") },
  relayers: {
    treasury: { ...document.relayers.treasury, name: "T", signer_id: "second" },
    renamed: relayer("After", "treasury-key", { network: "sepolia" }),
    fresh: relayer("F", "second", { notification_id: "more" }),
    newest: relayer("N", "third")
  },
  api_keys: { renamed: key("After"), fresh: { ...key("Fresh"), relayer_ids: ["fresh"] }, newest: key("N") }
}

const options = { prune: true, replace: ["relayers.treasury"], destroy_keys: ["gone"] }

/** How often two applies run at once. */
const rounds = cases(100)

layerEach(TestApi.layer())("an apply", (it) => {
  it.effect("writes nothing if any of its statements fails", () =>
    Effect.gen(function* () {
      yield* applied(begun)
      const before = yield* rows
      const { counts: planCounts, digest, seen } = yield* planned(changed, options)
      assert.strictEqual(planCounts.create + planCounts.change + planCounts.delete, 20)
      yield* prepareFaults
      const attempt = Effect.fnUntraced(function* (number: number) {
        yield* failAt(number)
        return yield* call("/api/v1/configuration/apply", { body: { document: changed, options, digest, seen } })
      })
      let failed = 0
      for (let number = 1; (yield* attempt(number)).status !== 200; number += 1) {
        assert.isBelow(number, 200)
        assert.strictEqual(yield* rows, before, `after a fault in statement ${number}`)
        failed = number
      }
      // One statement or more for each object, and one per table for their records and events.
      assert.isAtLeast(failed, 20)
      yield* failAt(null)
      const { counts } = yield* planned(changed, options)
      assert.deepInclude(counts, { create: 0, change: 0, delete: 0 })
    })
  )

  it.effect("of two that run at once with one plan, one wins, each time", () =>
    Effect.gen(function* () {
      yield* applied(document)
      for (let round = 0; round < rounds; round += 1) {
        const given = treasury({ name: `Round ${round}` })
        const { digest, seen } = yield* planned(given)
        const once = call("/api/v1/configuration/apply", { body: { document: given, digest, seen } })
        const answers = yield* Effect.all([once, once], { concurrency: 2 })
        assert.deepStrictEqual(answers.map(({ status }) => status).toSorted(), [200, 412], answers[0].text)
      }
    })
  )

  it.effect("that is repeated with its idempotency key gets the same response, with the same keys", () =>
    Effect.gen(function* () {
      const { digest, seen } = yield* planned(document)
      const headers = { "idempotency-key": "apply-1" }
      const once = call("/api/v1/configuration/apply", { body: { document, digest, seen }, headers })
      const [first, second] = [yield* once, yield* once]
      assert.strictEqual(first.status, 200, first.text)
      assert.strictEqual(second.text, first.text)
      assert.strictEqual(second.headers.get("idempotency-replayed"), "true")
    })
  )

  it.effect("writes nothing if a key service does not answer, and names the signer", () =>
    Effect.gen(function* () {
      const config = { address: "http://127.0.0.1:1", role_id: "r", secret_id: "s-secret", key_name: "k" }
      const given = { ...document, signers: { ...document.signers, away: { type: "vault", config } } }
      const before = yield* rows
      const answer = yield* apply(given)
      assert.strictEqual(answer.status, 502, answer.text)
      assert.match(String(answer.json["error"]), /^signers\.away: /)
      assert.notInclude(answer.text, "s-secret")
      assert.strictEqual(yield* rows, before)
      assert.strictEqual((yield* apply(document)).status, 200)
    })
  )

  it.effect("has no plan if a service refuses objects, and the refusal names each of them", () =>
    Effect.gen(function* () {
      const notifications = {
        one: { url: "https://10.0.0.1/hook" },
        two: { url: "https://10.0.0.2/hook" },
        fine: { url: "https://hooks.example.com/x" }
      }
      const answer = yield* plan({ version: 1, name: "n", notifications })
      assert.strictEqual(answer.status, 422, answer.text)
      assert.match(String(answer.json["error"]), /^notifications\.one: url: .*\nnotifications\.two: url: /)
      assert.strictEqual((yield* call("/api/v1/notifications/fine")).status, 404)
    })
  )
})
