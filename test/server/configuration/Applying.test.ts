// Applies of configurations, with the real database: what they write, and that they write all of it or nothing.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { actionsOf, applied, apply, call, createAll, document, planned, rows, treasury } from "./requests.ts"

const actionsIn = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const found = yield* sql<{ action: string }>`
    SELECT action FROM audit WHERE action <> 'configuration.compared' ORDER BY id`
  return found.map(({ action }) => action)
})

layerEach(TestApi.layer())("applies of configurations", (it) => {
  it.effect("an apply creates everything in order, with a record of each object; the second writes nothing", () =>
    Effect.gen(function* () {
      const { changed, keys } = yield* applied(document)
      assert.deepStrictEqual(
        changed.map(({ action, kind, id }) => `${action} ${kind}.${id}`),
        [
          "create networks.evm:acme",
          "create notifications.ops",
          "create signers.treasury-key",
          "create relayers.payouts",
          "create relayers.treasury",
          "create api_keys.dashboard"
        ]
      )
      assert.deepStrictEqual(
        keys.map(({ id }) => id),
        ["dashboard"]
      )
      const [key] = keys
      assert.strictEqual((yield* call("/api/v1/relayers/treasury", { key: key?.key ?? "" })).status, 200)
      assert.deepStrictEqual(yield* actionsIn, [
        "network.created",
        "notification.created",
        "signer.created",
        "relayer.created",
        "relayer.created",
        "key.created",
        "configuration.applied"
      ])
      const before = yield* rows
      const second = yield* planned(document)
      assert.deepStrictEqual(second.counts, { create: 0, change: 0, delete: 0, unchanged: 6 })
      assert.deepStrictEqual((yield* applied(document)).changed, [])
      assert.strictEqual(yield* rows, before)
    })
  )

  it.effect("existing objects are adopted, and only what differs is changed", () =>
    Effect.gen(function* () {
      yield* createAll
      const changed = treasury({ policies: { min_balance: "100000000000000000", gas_price_cap: 120_000_000_000 } })
      const { counts } = yield* applied(changed)
      assert.deepInclude(counts, { create: 0, change: 1 })
      const { json } = yield* call("/api/v1/relayers/treasury")
      assert.deepInclude(json.data, { policies: { min_balance: 100000000000000000, gas_price_cap: 120_000_000_000 } })
      assert.deepStrictEqual(
        actionsOf(yield* planned(changed)).filter((text) => !text.startsWith("none")),
        []
      )
      const updates = (yield* actionsIn).filter((action) => action.endsWith(".updated"))
      assert.deepStrictEqual(updates, ["relayer.updated"])
    })
  )

  it.effect("the digest of another document is refused, and nothing is written", () =>
    Effect.gen(function* () {
      const { digest, seen } = yield* planned(document)
      const before = yield* rows
      const other = treasury({ name: "Other" })
      const answer = yield* call("/api/v1/configuration/apply", { body: { document: other, digest, seen } })
      assert.strictEqual(answer.status, 412, answer.text)
      assert.include(String(answer.json["error"]), "is that of a plan of another document")
      assert.strictEqual(yield* rows, before)
    })
  )

  it.effect("a change since the plan is refused, and the answer names the object, its field and the caller", () =>
    Effect.gen(function* () {
      yield* applied(document)
      const patch = call("/api/v1/relayers/treasury", { method: "PATCH", body: { policies: { gas_price_cap: 1 } } })
      const answer = yield* apply(treasury({ name: "T" }), {}, { before: patch })
      assert.strictEqual(answer.status, 412, answer.text)
      const error = String(answer.json["error"])
      assert.match(
        error,
        /^relayers\.treasury: has changed since the plan, at \d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z by the administrator \(policies\.gas_price_cap\)$/
      )
    })
  )

  it.effect("a health check between plan and apply changes nothing about the apply", () =>
    Effect.gen(function* () {
      yield* applied(document)
      const sql = yield* SqlClient.SqlClient
      const check = Effect.orDie(
        sql`UPDATE relayers SET version = version + 1, system_disabled = true WHERE id = 'treasury'`
      )
      const answer = yield* apply(treasury({ name: "T" }), {}, { before: check })
      assert.strictEqual(answer.status, 200, answer.text)
    })
  )

  it.effect("an object that has gone since the plan is named with the objects that use it", () =>
    Effect.gen(function* () {
      yield* createAll
      const { networks: _, ...rest } = document
      const gone = Effect.andThen(
        call("/api/v1/relayers/payouts", { method: "DELETE" }),
        call("/api/v1/networks/evm:acme", { method: "DELETE" })
      )
      const before = yield* apply(rest, {}, { before: gone })
      assert.strictEqual(before.status, 412, before.text)
      assert.include(
        String(before.json["error"]),
        "networks.evm:acme: does not exist any more; used by relayers.payouts"
      )
    })
  )

  it.effect("differences are changes of the file, of the service, or of both", () =>
    Effect.gen(function* () {
      yield* applied(document)
      const patch = (body: object) => call("/api/v1/relayers/treasury", { method: "PATCH", body })
      yield* patch({ name: "By hand", policies: { gas_price_cap: 1 } })
      const given = treasury({
        policies: { min_balance: "1", gas_price_cap: 120_000_000_000 }
      })
      const { steps } = yield* planned(given)
      const step = steps.find(({ id }) => id === "treasury")
      assert.deepStrictEqual(
        step?.changes.map(({ path, origin }) => [path, origin]),
        [
          ["name", "drift"],
          ["policies.gas_price_cap", "both"],
          ["policies.min_balance", "file"]
        ]
      )
      assert.strictEqual(step?.drift?.by, "administrator")
      assert.match(step?.drift?.at ?? "", /^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/)
    })
  )

  it.effect("an object that is not in the document is kept, and deleted with prune", () =>
    Effect.gen(function* () {
      yield* applied(document)
      const { treasury: kept } = document.relayers
      const without = { ...document, relayers: { treasury: kept } }
      const keep = actionsOf(yield* planned(without))
      assert.include(keep, "keep relayers.payouts")
      assert.deepStrictEqual((yield* applied(without)).changed, [])
      assert.include(actionsOf(yield* planned(without, { prune: true })), "delete relayers.payouts")
      yield* applied(without, { prune: true })
      assert.strictEqual((yield* call("/api/v1/relayers/payouts")).status, 404)
    })
  )

  it.effect("an apply does not resume a paused relayer unless the document says so", () =>
    Effect.gen(function* () {
      yield* applied(document)
      yield* call("/api/v1/relayers/treasury", { method: "PATCH", body: { paused: true } })
      yield* applied(treasury({ name: "T" }))
      const isPaused = Effect.map(
        call("/api/v1/relayers/treasury"),
        ({ json }) => (json.data as { paused: boolean }).paused
      )
      assert.isTrue(yield* isPaused)
      yield* applied(treasury({ name: "T", paused: false }))
      assert.isFalse(yield* isPaused)
    })
  )

  it.effect("what the document leaves out of an object that it had before is removed", () =>
    Effect.gen(function* () {
      const { dashboard } = document.api_keys
      const { ops } = document.notifications
      const { notification_id: _, ...relayer } = document.relayers.treasury
      const limits = { max_value: "5", solana: { max_value: "7", receivers: [] } }
      const rich = {
        ...treasury({
          custom_rpc_urls: [{ url: "https://own.example.com/v1/secret-path" }],
          custom_private_rpc_urls: [{ url: "https://private.example.com/v1/secret-path" }],
          policies: { min_balance: "7", gas_price_cap: 9, whitelist_receivers: [] }
        }),
        api_keys: {
          dashboard: { ...dashboard, transaction_limits: limits, expires_at: "2090-01-01T00:00:00Z" }
        }
      }
      const poor = {
        ...document,
        notifications: { ops: { url: ops.url } },
        relayers: { ...document.relayers, treasury: { ...relayer, policies: { min_balance: "7" } } },
        api_keys: { dashboard: { name: "Board", scopes: ["relayers:read"], transaction_limits: { solana: {} } } }
      }
      yield* applied(rich)
      assert.lengthOf((yield* applied(poor)).changed, 3)
      const stored = (path: string) => Effect.map(call(`/api/v1/${path}`), ({ json }) => json.data as object)
      const treasured = yield* stored("relayers/treasury")
      assert.deepInclude(treasured, { policies: { min_balance: 7 } })
      assert.doesNotHaveAnyKeys(treasured, ["notification_id", "custom_rpc_urls", "custom_private_rpc_urls"])
      const board = yield* stored("api-keys/dashboard")
      assert.deepInclude(board, { name: "Board", transaction_limits: { solana: {} } })
      assert.doesNotHaveAnyKeys(board, ["relayer_ids", "expires_at"])
      assert.deepInclude(yield* stored("notifications/ops"), { has_signing_key: false })
      assert.deepInclude(yield* planned(poor), { counts: { create: 0, change: 0, delete: 0, unchanged: 6 } })
      yield* applied(rich)
      assert.deepInclude(yield* planned(rich), { counts: { create: 0, change: 0, delete: 0, unchanged: 6 } })
    })
  )

  it.effect("a parent network and its child change in one apply", () =>
    Effect.gen(function* () {
      const networks = (blocktime: number) => ({
        version: 1,
        name: "n",
        networks: {
          "evm:parent": { from: "sepolia", average_blocktime_ms: blocktime },
          "evm:a-child": { from: "parent", tags: [`t${blocktime}`] },
          "evm:sepolia": { average_blocktime_ms: blocktime, tags: ["x"] }
        }
      })
      yield* applied(networks(1000))
      const { changed } = yield* applied(networks(2000))
      assert.strictEqual(changed.length, 3)
      assert.deepStrictEqual((yield* applied(networks(2000))).changed, [])
    })
  )

  it.effect("built-in networks with their own values stay built-in, also if the document owns them", () =>
    Effect.gen(function* () {
      const { json } = yield* call("/api/v1/networks/evm:sepolia")
      const { average_blocktime_ms } = json.data as { average_blocktime_ms: number }
      const given = (networks: object) => ({ version: 1, name: "n", networks })
      yield* applied(given({ "evm:sepolia": { average_blocktime_ms } }))
      const source = Effect.map(
        call("/api/v1/networks/evm:sepolia"),
        ({ json }) => (json.data as { source: string }).source
      )
      assert.strictEqual(yield* source, "builtin")
      yield* applied(given({ "evm:sepolia": { average_blocktime_ms: 1 } }))
      assert.strictEqual(yield* source, "overridden")
      yield* applied(given({}), { prune: true })
      assert.strictEqual(yield* source, "builtin")
      assert.deepStrictEqual((yield* applied(given({}), { prune: true })).changed, [])
    })
  )
})
