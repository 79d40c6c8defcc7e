// Changes and deletion of relayers over HTTP, with and without If-Match.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { evmRelayer, notification, solanaRelayer, stellarRelayer } from "../../../testkit/fixtures.ts"
import { RelayerId } from "../../../src/domain/relayer/Relayer.ts"
import { RelayerTargets } from "../../../src/server/relayers/RelayerTargets.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

const path = "/api/v1/relayers/relayer-1"

const patch = (body: unknown, headers: Record<string, string> = {}, at = path) =>
  Effect.flatMap(TestApi.TestApi, (api) => api.call(at, { method: "PATCH", body, headers }))

const get = (at = path) => Effect.flatMap(TestApi.TestApi, (api) => api.call(at))

const etag = Effect.map(get(), ({ headers }) => headers.get("etag"))

/** `relayer-1` at version 1. */
const setUp = Effect.gen(function* () {
  yield* Prepared.references
  yield* Prepared.create("notifications", { ...notification, id: "notification-2" })
  yield* Prepared.create("relayers", evmRelayer)
})

layerEach(Prepared.layer(setUp))("a relayer", (it) => {
  it.effect("a patch changes the fields that it names, and returns what a read returns", () =>
    Effect.gen(function* () {
      const before = yield* get()
      assert.match(before.headers.get("etag") ?? "", /^"\d+\.1"$/)
      const answer = yield* patch({ name: "Renamed", paused: true })
      assert.strictEqual(answer.status, 200, answer.text)
      assert.deepStrictEqual(answer.json.data, { ...(before.json.data as object), name: "Renamed", paused: true })
      assert.match(answer.headers.get("etag") ?? "", /^"\d+\.2"$/)
      const after = yield* get()
      assert.strictEqual(after.text, answer.text)
      assert.strictEqual(after.headers.get("etag"), answer.headers.get("etag"))
    })
  )

  it.effect("a patch has the content type of merge patches or of JSON", () =>
    Effect.gen(function* () {
      const type = (contentType: string) => patch({ name: "Renamed" }, { "content-type": contentType })
      for (const allowed of ["application/merge-patch+json", "application/json; charset=utf-8"]) {
        assert.strictEqual((yield* type(allowed)).status, 200, allowed)
      }
      for (const other of ["application/json-patch+json", "text/plain"]) {
        assert.strictEqual((yield* type(other)).status, 415, other)
      }
    })
  )

  it.effect("a patch merges policies field by field, null removes a field, and amounts keep all digits", () =>
    Effect.gen(function* () {
      const answer = yield* patch({
        policies: { gas_price_cap: null, eip1559_pricing: false, whitelist_receivers: [] }
      })
      assert.strictEqual(answer.status, 200, answer.text)
      assert.include(answer.text, `"min_balance":340282366920938463463374607431768211455`)
      const { policies } = answer.json.data as { policies: Record<string, unknown> }
      assert.deepStrictEqual(Object.keys(policies).sort(), [
        "eip1559_pricing",
        "gas_limit_estimation",
        "include_revert_data",
        "min_balance",
        "private_transactions",
        "whitelist_receivers"
      ])
      assert.deepStrictEqual(policies.whitelist_receivers, [])
      const exact = yield* patch(`{"policies": {"gas_price_cap": 340282366920938463463374607431768211454}}`)
      assert.include(exact.text, `"gas_price_cap":340282366920938463463374607431768211454`)
    })
  )

  it.effect("null removes the notification, the RPC URLs and the policies", () =>
    Effect.gen(function* () {
      const answer = yield* patch({ notification_id: null, custom_rpc_urls: null, policies: null })
      assert.strictEqual(answer.status, 200, answer.text)
      const data = answer.json.data as object
      assert.doesNotHaveAnyKeys(data, ["notification_id", "custom_rpc_urls", "policies"])
      const restored = yield* patch({
        notification_id: "notification-2",
        custom_rpc_urls: [{ url: "https://user:secret@rpc.example.net/key", weight: 7 }]
      })
      assert.deepInclude(restored.json.data, {
        notification_id: "notification-2",
        custom_rpc_urls: [{ url: "https://rpc.example.net/***", weight: 7 }]
      })
    })
  )

  it.effect("a patch that changes nothing creates no version and no record", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      yield* patch({ name: "Renamed", notification_id: "notification-2" })
      const before = yield* etag
      const records = Effect.map(api.call("/api/v1/audit?resource_id=relayer-1&limit=1000"), ({ json }) => json.data)
      const recorded = yield* records
      const answer = yield* patch({ name: "Renamed", notification_id: "notification-2" })
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.headers.get("etag"), before)
      assert.strictEqual((yield* patch({})).headers.get("etag"), before)
      assert.deepStrictEqual(yield* records, recorded)
    })
  )

  it.effect("a patch with If-Match needs the latest version", () =>
    Effect.gen(function* () {
      yield* patch({ paused: true })
      const current = (yield* etag) ?? ""
      for (const stale of [current.replace(".2", ".1"), `W/${current}`, "nonsense", '"99"', ""]) {
        const answer = yield* patch({ name: "stale" }, { "if-match": stale })
        assert.strictEqual(answer.status, 412, stale)
        assert.deepStrictEqual(answer.json, { data: null, message: "Precondition Failed", success: false })
      }
      assert.strictEqual(yield* etag, current)
      assert.strictEqual((yield* patch({ name: "A" }, { "if-match": `"1", ${current}` })).status, 200)
      assert.strictEqual((yield* patch({ name: "B" }, { "if-match": "*" })).status, 200)
    })
  )

  it.effect("concurrent patches change all the fields that they name", () =>
    Effect.gen(function* () {
      const changes = [
        { name: "Together" },
        { paused: true },
        { policies: { min_balance: 5 } },
        { notification_id: null }
      ]
      const answers = yield* Effect.forEach(changes, (change) => patch(change), { concurrency: "unbounded" })
      for (const { status, text } of answers) assert.strictEqual(status, 200, text)
      const { json } = yield* get()
      assert.deepInclude(json.data, {
        name: "Together",
        paused: true,
        policies: { ...evmRelayer.policies, min_balance: 5 }
      })
      assert.doesNotHaveAnyKeys(json.data as object, ["notification_id"])
    })
  )

  it.effect("one of several concurrent conditional patches succeeds, and the others fail with 412", () =>
    Effect.gen(function* () {
      const current = (yield* etag) ?? ""
      const answers = yield* Effect.forEach(
        Array.from({ length: 6 }, (_, n) => `writer ${n}`),
        (name) => patch({ name }, { "if-match": current }),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(answers.map(({ status }) => status).sort(), [200, 412, 412, 412, 412, 412])
    })
  )

  it.effect("an invalid patch is refused with the names of the wrong fields, and changes nothing", () =>
    Effect.gen(function* () {
      const before = yield* get()
      const deep = (depth: number) => `{"policies":${'{"a":'.repeat(depth)}1${"}".repeat(depth + 1)}`
      const cases: ReadonlyArray<readonly [unknown, string]> = [
        [
          { id: "other", network: "base", network_type: "solana", signer_id: "x", address: "0x" },
          "id: cannot be changed; network: cannot be changed; network_type: cannot be changed; signer_id: cannot be changed; address: cannot be changed"
        ],
        [
          { system_disabled: false, disabled_reason: null },
          "system_disabled: cannot be changed; disabled_reason: cannot be changed"
        ],
        [{ colour: "red" }, "colour: is not a known field"],
        [{ name: null }, "name: Expected string"],
        [{ paused: null }, "paused: Expected boolean"],
        [{ name: "" }, "name: Expected 1 to 256 characters"],
        [{ policies: { fee_payment_strategy: "user" } }, "policies.fee_payment_strategy: is not a known field"],
        [
          { policies: { min_balance: -1 } },
          "policies.min_balance: Expected an integer from 0 to 340282366920938463463374607431768211455, as a number or a decimal string"
        ],
        [deep(100), "policies.a: nests deeper than 32"],
        [deep(100_000), "policies.a: nests deeper than 32"],
        [{ notification_id: "nobody" }, "notification_id: no notification with this id"],
        [
          { custom_rpc_urls: [{ url: "https://a.example" }, { url: "http://169.254.169.254/latest" }] },
          "custom_rpc_urls.1.url: points to a cloud metadata address, which is not allowed"
        ],
        [
          { custom_rpc_urls: [{ url: "https://nowhere.example/***", weight: 7 }] },
          "custom_rpc_urls.0.url: is masked and stands for no stored URL: send the URL itself"
        ],
        [[], "body: Expected an object"],
        ["null", "body: Expected an object"],
        ['{"name":', "body: Expected valid JSON"]
      ]
      for (const [body, error] of cases) {
        const answer = yield* patch(body)
        assert.strictEqual(answer.status, 400, JSON.stringify(body)?.slice(0, 100))
        assert.strictEqual(answer.json.error, error)
      }
      assert.strictEqual((yield* get()).text, before.text)
      const missing = yield* patch({ name: "x" }, {}, "/api/v1/relayers/nobody")
      assert.deepStrictEqual([missing.status, missing.json.message], [404, "Relayer not found"])
    })
  )

  it.effect("a masked URL stands for the stored URL with that mask, the n-th occurrence for the n-th", () =>
    Effect.gen(function* () {
      const secrets = [
        { url: "https://rpc.example.net/first-key", weight: 10 },
        { url: "https://rpc.example.net/second-key", weight: 20 },
        { url: "https://rpc.example.org/third-key", weight: 30 }
      ]
      const [net, org] = ["https://rpc.example.net/***", "https://rpc.example.org/***"]
      const stored = Effect.gen(function* () {
        const targets = yield* RelayerTargets
        return (yield* targets.get(RelayerId.make("relayer-1"))).urls
      })
      assert.strictEqual((yield* patch({ custom_rpc_urls: secrets })).status, 200)

      const reordered = yield* patch({
        custom_rpc_urls: [
          { url: org, weight: 1 },
          { url: net, weight: 2 },
          { url: "https://new.example/key", weight: 3 },
          { url: net, weight: 4 }
        ]
      })
      assert.strictEqual(reordered.status, 200, reordered.text)
      const expected = [
        { url: "https://rpc.example.org/third-key", weight: 1 },
        { url: "https://rpc.example.net/first-key", weight: 2 },
        { url: "https://new.example/key", weight: 3 },
        { url: "https://rpc.example.net/second-key", weight: 4 }
      ]
      assert.deepStrictEqual(yield* stored, expected)

      const version = reordered.headers.get("etag")
      const shown = (reordered.json.data as { custom_rpc_urls: unknown }).custom_rpc_urls
      const same = yield* patch({ custom_rpc_urls: shown })
      assert.deepStrictEqual([same.status, same.headers.get("etag")], [200, version])

      const third = yield* patch({ custom_rpc_urls: [{ url: net }, { url: net }, { url: net }] })
      assert.deepStrictEqual(
        [third.status, third.json.error],
        [400, "custom_rpc_urls.2.url: is masked and stands for no stored URL: send the URL itself"]
      )
      assert.deepStrictEqual(yield* stored, expected)
    })
  )

  it.effect("a patch is refused if the result breaks a rule of the network type", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      for (const body of [solanaRelayer, stellarRelayer]) {
        assert.strictEqual((yield* api.call("/api/v1/relayers", { body })).status, 201)
      }
      const both = yield* patch({ policies: { allowed_accounts: [] } }, {}, "/api/v1/relayers/relayer-2")
      assert.strictEqual(
        both.json.error,
        "policies.disallowed_accounts: cannot be given together with allowed_accounts"
      )
      const unset = yield* patch({ policies: { fee_payment_strategy: null } }, {}, "/api/v1/relayers/relayer-3")
      assert.strictEqual(unset.status, 200, unset.text)
      assert.notInclude(unset.text, "fee_payment_strategy")
      const swap = yield* patch(
        { policies: { swap_config: { strategies: ["soroswap"] } } },
        {},
        "/api/v1/relayers/relayer-3"
      )
      assert.strictEqual(swap.json.error, "policies.swap_config: is only supported if the fee payment strategy is user")
      const none = yield* patch({ policies: null }, {}, "/api/v1/relayers/relayer-3")
      assert.strictEqual(none.status, 200, none.text)
    })
  )

  it.effect("a relayer is deleted once; a delete with If-Match needs the latest version", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const remove = (headers: Record<string, string> = {}) => api.call(path, { method: "DELETE", headers })
      yield* patch({ paused: true })
      assert.strictEqual((yield* remove({ "if-match": '"1"' })).status, 412)
      const deleted = yield* remove({ "if-match": (yield* etag) ?? "" })
      assert.deepStrictEqual(
        [deleted.status, deleted.json],
        [200, { success: true, data: "Relayer deleted successfully" }]
      )
      assert.strictEqual((yield* get()).status, 404)
      assert.strictEqual((yield* remove()).status, 404)
      assert.strictEqual((yield* api.call("/api/v1/relayers", { body: evmRelayer })).status, 201)
    })
  )
})
