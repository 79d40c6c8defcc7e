// Plans of configurations, with the real database: what they find, what they show, and what they refuse.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { actionsOf, call, createAll, document, key, plan, planned, refusedPlan, signingKey } from "./requests.ts"

const rows = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ text: string }>`
    SELECT json_build_array((SELECT json_agg(t) FROM relayers t), (SELECT json_agg(t) FROM networks t),
      (SELECT json_agg(t) FROM notifications t), (SELECT json_agg(t) FROM signers t), (SELECT json_agg(t) FROM events t),
      (SELECT json_agg(t.action) FROM audit t))::text AS text`
  return row?.text
})

const relayer = (changes: object) => ({
  ...document,
  relayers: { ...document.relayers, treasury: { ...document.relayers.treasury, ...changes } }
})

layerEach(TestApi.layer())("plans of configurations", (it) => {
  it.effect("a plan of a new document creates everything in order, and changes nothing", () =>
    Effect.gen(function* () {
      const before = yield* rows
      const found = yield* planned(document)
      assert.deepStrictEqual(actionsOf(found), [
        "create networks.evm:acme",
        "create notifications.ops",
        "create signers.treasury-key",
        "create relayers.payouts",
        "create relayers.treasury",
        "create api_keys.dashboard"
      ])
      assert.deepStrictEqual(found.counts, { create: 6, change: 0, delete: 0, unchanged: 0 })
      assert.strictEqual(yield* rows, before)
    })
  )

  it.effect("objects that are as the document says have no changes, also their secrets and masked URLs", () =>
    Effect.gen(function* () {
      yield* createAll
      const found = yield* planned(document)
      assert.deepStrictEqual(
        found.steps.flatMap(({ changes }) => changes),
        []
      )
      const stored = {
        ...document,
        networks: { "evm:acme": { from: "sepolia", rpc_urls: [{ url: "https://rpc.acme.example/***" }] } },
        signers: { "treasury-key": { type: "plain", config: { key: { stored: true } } } },
        notifications: { ops: { url: "https://hooks.example.com/***", signing_key: { stored: true } } }
      }
      assert.deepStrictEqual(
        (yield* planned(stored)).steps.flatMap(({ changes }) => changes),
        []
      )
    })
  )

  it.effect("changes are shown by field, and secrets only as changed", () =>
    Effect.gen(function* () {
      yield* createAll
      const other = "fedcba9876543210fedcba9876543210"
      const answer = yield* plan({
        ...relayer({ policies: { min_balance: "100000000000000000", gas_price_cap: 120_000_000_000 } }),
        networks: { "evm:acme": { from: "sepolia", rpc_urls: [{ url: "https://rpc.acme.example/v1/other-path" }] } },
        notifications: { ops: { url: "https://hooks.example.com/relayer", signing_key: other } }
      })
      assert.strictEqual(answer.status, 200, answer.text)
      for (const secret of [other, signingKey, key, "secret-path", "other-path"]) assert.notInclude(answer.text, secret)
      const { steps } = answer.json.data as { steps: ReadonlyArray<{ id: string; changes: ReadonlyArray<object> }> }
      const changes = Object.fromEntries(steps.map(({ id, changes }) => [id, changes]))
      assert.deepStrictEqual(changes["treasury"], [
        {
          path: "policies.gas_price_cap",
          before: "90000000000",
          after: "120000000000",
          is_secret: false,
          is_warning: true
        }
      ])
      assert.deepStrictEqual(changes["ops"], [{ path: "signing_key", is_secret: true, is_warning: false }])
      assert.deepInclude(changes["evm:acme"]?.[0], { path: "rpc_urls.0.url", is_secret: true, remark: "same host" })
    })
  )

  it.effect("a plan that compares secrets has one audit record with their fields, and no other plan has one", () =>
    Effect.gen(function* () {
      yield* createAll
      const records = Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        return yield* sql<{ id: string; after: unknown }>`
          SELECT resource_id AS id, after FROM audit WHERE action = 'configuration.compared'`
      })
      yield* planned({ version: 1, name: "payments", relayers: document.relayers })
      assert.deepStrictEqual(yield* records, [])
      yield* planned(document)
      const fields = ["notifications.ops.signing_key", "signers.treasury-key.config.key"]
      const [record, ...others] = yield* records
      assert.deepStrictEqual([record?.id, others], ["payments", []])
      assert.deepStrictEqual(record?.after, { fields })
    })
  )

  it.effect("after 100 wrong guesses of a secret, a right one is reported as changed", () =>
    Effect.gen(function* () {
      yield* createAll
      const guess = (signing_key: string) =>
        Effect.map(
          planned({
            version: 1,
            name: "guess",
            notifications: { ops: { ...document.notifications.ops, signing_key } }
          }),
          ({ steps }) => steps.flatMap(({ changes }) => changes.map(({ path }) => path))
        )
      assert.deepStrictEqual(yield* guess(signingKey), [])
      for (let index = 0; index < 100; index += 1) yield* guess(`${index}`.padStart(32, "x"))
      assert.deepStrictEqual(yield* guess(signingKey), ["signing_key"])
    })
  )

  it.effect("values of variables are shown as in the file", () =>
    Effect.gen(function* () {
      yield* createAll
      const body = {
        document: relayer({ name: "of-the-variable" }),
        templates: { "relayers.treasury.name": "${RELAYER_X}" }
      }
      const answer = yield* call("/api/v1/configuration/plan", { body })
      assert.include(answer.text, "${RELAYER_X}")
      assert.notInclude(answer.text, "of-the-variable")
    })
  )

  it.effect("the digest stays for the same document and state, and a health check does not change it", () =>
    Effect.gen(function* () {
      yield* createAll
      const digest = Effect.map(planned(document), (found) => found.digest)
      const first = yield* digest
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE relayers SET version = version + 1, system_disabled = true WHERE id = 'payouts'`
      assert.strictEqual(yield* digest, first)
      assert.notStrictEqual((yield* planned(relayer({ name: "T" }))).digest, first)
      assert.notStrictEqual((yield* planned(document, { prune: true })).digest, first)
      yield* call("/api/v1/relayers/payouts", { method: "PATCH", body: { paused: true } })
      assert.notStrictEqual(yield* digest, first)
    })
  )

  it.effect("a file without paused does not resume a paused relayer", () =>
    Effect.gen(function* () {
      yield* createAll
      yield* call("/api/v1/relayers/treasury", { method: "PATCH", body: { paused: true } })
      const paths = (given: object) =>
        Effect.map(planned(given), ({ steps }) => steps.flatMap(({ changes }) => changes.map(({ path }) => path)))
      assert.deepStrictEqual(yield* paths(document), [])
      assert.deepStrictEqual(yield* paths(relayer({ paused: false })), ["paused"])
    })
  )

  it.effect("a built-in network with its own values has no changes", () =>
    Effect.gen(function* () {
      const { json } = yield* call("/api/v1/networks/evm:sepolia")
      const { average_blocktime_ms, required_confirmations } = json.data as Record<string, unknown>
      const given = (network: object) => ({ version: 1, name: "n", networks: { "evm:sepolia": network } })
      const same = yield* planned(given({ average_blocktime_ms, required_confirmations }))
      assert.deepStrictEqual(
        same.steps.flatMap(({ changes }) => changes),
        []
      )
      const other = yield* planned(given({ average_blocktime_ms: 1 }))
      assert.deepStrictEqual(
        other.steps.map(({ changes }) => changes.length),
        [1]
      )
    })
  )

  it.effect("everything that is wrong is refused at once, each with its path", () =>
    Effect.gen(function* () {
      yield* createAll
      const invalid = yield* refusedPlan({
        ...document,
        relayers: { a: { name: "A", network_type: "evm" } },
        notifications: { n: { signing_kye: "x" } }
      })
      assert.include(invalid, "relayers.a.network")
      assert.include(invalid, "notifications.n.signing_kye: is not a known field; did you mean signing_key?")
      const missing = yield* refusedPlan(relayer({ signer_id: "nobody", notification_id: "nothing" }))
      assert.include(missing, "relayers.treasury.signer_id: no signer with this id, in the file or in the service")
      assert.include(missing, "relayers.treasury.notification_id: no notification with this id")
      const stored = { ...document.notifications.ops, signing_key: { stored: true } }
      const nothing = yield* refusedPlan({ version: 1, name: "x", notifications: { unknown: stored } })
      assert.include(nothing, "notifications.unknown.signing_key: there is no stored value")
      const other = { "treasury-key": { type: "plain", config: { key: key.replace("4c", "4d") } } }
      const replaced = yield* refusedPlan({ ...document, signers: other })
      assert.include(replaced, "signers.treasury-key.config.key: cannot be changed; --replace signers.treasury-key")
    })
  )

  it.effect("a caller needs the scopes of the sections, and gives no key more than it has", () =>
    Effect.gen(function* () {
      yield* createAll
      const create = Effect.fnUntraced(function* (body: object) {
        const answer = yield* call("/api/v1/api-keys", { body: { name: "ci", ...body } })
        assert.strictEqual(answer.status, 201, answer.text)
        return (answer.json.data as { key: string }).key
      })
      const narrow = yield* create({ id: "ci", scopes: ["relayers:*"] })
      const sections = { version: 1, name: "payments", relayers: document.relayers }
      assert.strictEqual((yield* plan(sections, {}, { key: narrow })).status, 200)
      assert.strictEqual((yield* plan(document, {}, { key: narrow })).status, 403)
      const limited = yield* create({ scopes: ["relayers:*"], relayer_ids: ["treasury"] })
      assert.strictEqual((yield* plan(sections, {}, { key: limited })).status, 403)
      const keys = yield* create({
        id: "keys",
        scopes: ["relayers:read", "api-keys:write"],
        expires_at: "2100-01-01T00:00:00Z"
      })
      const wanted = { version: 1, name: "k", api_keys: { keys: { name: "ci 2", scopes: ["relayers:write"] } } }
      const refused = yield* refusedPlan(wanted, {}, { key: keys })
      assert.include(refused, "api_keys.keys: is the key of the caller")
      assert.include(refused, "api_keys.keys.scopes: the caller lacks relayers:write")
      assert.include(refused, "api_keys.keys.expires_at: must not be absent or later than 2100-01-01")
    })
  )

  it.effect(
    "a second plan of a caller meanwhile gets 429 with the time to wait, and a plan of another caller does not",
    () =>
      Effect.gen(function* () {
        const { json } = yield* call("/api/v1/api-keys", { body: { name: "other", scopes: ["*"] } })
        const { key } = json.data as { readonly key: string }
        const answers = yield* Effect.all([plan(document), plan(document), plan(document, {}, { key })], {
          concurrency: 3
        })
        const [one, two, other] = answers
        assert.deepStrictEqual([one.status, two.status].toSorted(), [200, 429])
        assert.strictEqual(other.status, 200, other.text)
        const refused = one.status === 429 ? one : two
        assert.strictEqual(refused.headers.get("retry-after"), "1")
        assert.strictEqual((yield* plan(document)).status, 200)
      })
  )

  it.effect("a document with more than 5,000 objects is refused", () =>
    Effect.gen(function* () {
      const signers = Object.fromEntries(Array.from({ length: 5001 }, (_, index) => [`s${index}`, { type: "plain" }]))
      assert.strictEqual((yield* plan({ version: 1, name: "large", signers })).status, 413)
      const { s0: _, ...fewer } = signers
      assert.strictEqual((yield* plan({ version: 1, name: "large", signers: fewer })).status, 200)
    })
  )

  it.effect("a document may be larger than other bodies", () =>
    Effect.gen(function* () {
      const whitelist_receivers = Array.from({ length: 1000 }, (_, index) => `0x${`${index}`.padStart(40, "0")}`)
      const one = {
        name: "R",
        network_type: "evm",
        network: "sepolia",
        signer_id: "s",
        policies: { whitelist_receivers }
      }
      const relayers = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`r${index}`, one]))
      const answer = yield* plan({ version: 1, name: "large", signers: { s: { type: "plain" } }, relayers })
      assert.strictEqual(answer.status, 200, answer.text.slice(0, 300))
      const tooLarge = yield* call("/api/v1/configuration/plan", { body: " ".repeat(8 * 1024 * 1024 + 1) })
      assert.strictEqual(tooLarge.status, 413)
    })
  )
})
