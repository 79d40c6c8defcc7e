// Changes of a relayer by merge patches.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { evmRelayer } from "../../../testkit/fixtures.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { etag, get, patch, setUp } from "./Patched.ts"

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
})
