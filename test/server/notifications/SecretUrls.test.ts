// URLs of webhooks with a secret in their path or query, as Slack and Discord use them: who gets them.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { awaited } from "../../../testkit/Awaited.ts"
import { evmRelayer, notification, signer } from "../../../testkit/fixtures.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import type * as TestApi from "../../../testkit/TestApi.ts"
import { call, make } from "../access/requests.ts"

const path = "/api/v1/notifications/notification-1"
const url = "https://hooks.example.com/services/T0/path-secret?token=query-secret"
const moved = "https://hooks.example.com/services/T0/path-secret-2"
const masked = "https://hooks.example.com/***"

const requests: ReadonlyArray<readonly [string, TestApi.Call]> = [
  ["/api/v1/signers", { body: signer }],
  ["/api/v1/notifications", { body: { ...notification, url } }],
  ["/api/v1/relayers", { body: { ...evmRelayer, notification_id: "notification-1" } }],
  [path, { method: "PATCH", body: { paused: true } }]
]

const prepared = Effect.forEach(requests, ([at, options]) =>
  Effect.map(call(at, options), ({ status, text }) => assert.include([200, 201], status, text))
)

const urls = Effect.fnUntraced(function* (key?: string) {
  const own = key === undefined ? {} : { key }
  const listed = yield* call("/api/v1/notifications", own)
  const [first] = listed.json.data as ReadonlyArray<{ readonly url: string }>
  const { data } = (yield* call(path, own)).json as { readonly data: { readonly url: string } }
  return [first?.url, data.url]
})

layer(Prepared.layer(prepared))("the URL of a notification", (it) => {
  it.effect("is shown to the administrator and to a key that may write notifications", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* urls(), [url, url])
      const { key } = yield* make({ scopes: ["notifications:*"] })
      assert.deepStrictEqual(yield* urls(key), [url, url])
    })
  )

  it.effect("is masked for a key that may only read notifications, narrowed or not", () =>
    Effect.gen(function* () {
      for (const relayers of [{}, { relayer_ids: ["relayer-1"] }]) {
        const { key } = yield* make({ scopes: ["notifications:read"], ...relayers })
        assert.deepStrictEqual(yield* urls(key), [masked, masked])
      }
    })
  )

  it.effect("is masked in events and audit records of all its changes", () =>
    Effect.gen(function* () {
      const other = { ...notification, id: "other", url }
      const at = "/api/v1/notifications/other"
      yield* call("/api/v1/notifications", { body: other })
      yield* call(at, { method: "PATCH", body: { url: moved } })
      yield* call(at, { method: "DELETE" })
      const { key } = yield* make({ scopes: ["events:read", "audit:read"] })
      const events = call("/api/v1/events?resource_id=notification-1&wait=25", { key })
      const read = [
        yield* awaited(events, ({ text }) => text.includes("notification.updated")),
        yield* call("/api/v1/audit?resource_id=notification-1", { key })
      ]
      for (const { text } of read) {
        assert.include(text, masked)
        assert.notInclude(text, "secret")
      }
      const { text } = yield* call("/api/v1/audit?resource_id=other", { key })
      assert.include(text, "notification.deleted")
      assert.notInclude(text, "secret")
    })
  )

  it.effect("is not replaced by its masked form", () =>
    Effect.gen(function* () {
      for (const answer of [
        yield* call(path, { method: "PATCH", body: { url: masked } }),
        yield* call("/api/v1/notifications", { body: { ...notification, id: "copy", url: masked } })
      ]) {
        assert.deepStrictEqual([answer.status, answer.json.error], [400, "url: is masked: send the URL itself"])
      }
      assert.deepStrictEqual(yield* urls(), [url, url])
    })
  )
})
