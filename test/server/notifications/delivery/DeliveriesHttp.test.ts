// Deliveries over HTTP: the list, and the scopes to see and repeat them.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as TestApi from "../../../../testkit/TestApi.ts"
import { allDone, call, key, live, log, post, setUp, until } from "./Notified.ts"
import type { Shown } from "./Notified.ts"

layer(live)("deliveries", (it) => {
  it.effect("changes of relayers are sent, and are listed in pages with requests and responses", () =>
    Effect.gen(function* () {
      const { receiver, id } = yield* setUp("list-1")
      for (const paused of [true, false, true]) {
        yield* call("/relayers/list-1", { method: "PATCH", body: { paused } })
      }
      yield* receiver.arrived(7)
      const shown = yield* until(id, allDone)
      const types = shown.map(({ type }) => type)
      assert.deepStrictEqual(types, [
        "relayer.paused",
        "relayer.updated",
        "relayer.resumed",
        "relayer.updated",
        "relayer.paused",
        "relayer.updated",
        "relayer.created"
      ])
      assert.deepStrictEqual(
        receiver.seen.map(({ body }) => body),
        shown.map(({ body }) => body).toReversed()
      )
      const stored = (yield* call("/relayers/list-1")).text
      assert.include(
        receiver.seen.at(-1)?.body ?? "",
        stored.slice(stored.indexOf(`"policies"`), stored.indexOf("}") + 1)
      )

      const read: Array<Shown> = []
      let query = "?limit=3&state=delivered"
      while (query !== "") {
        const page = yield* call(`/notifications/${id}/deliveries${query}`)
        read.push(...(page.json.data as ReadonlyArray<Shown>))
        query = /deliveries(\?[^>]*)>; rel="next"/.exec(page.headers.get("link") ?? "")?.[1] ?? ""
      }
      assert.deepStrictEqual(read, shown)
      assert.isEmpty(yield* log(id, "?state=failed"))
      assert.lengthOf(yield* log(id, "?limit=0"), 0)
    })
  )

  it.effect("invalid requests are refused with an envelope", () =>
    Effect.gen(function* () {
      const { id } = yield* setUp()
      const other = yield* setUp("other-1", "other-2")
      const page = yield* call(`/notifications/${other.id}/deliveries?limit=1`)
      const cursor = /cursor=([^>&]*)/.exec(page.headers.get("link") ?? "")?.[1] ?? ""
      assert.notStrictEqual(cursor, "")
      const range = { since: "2026-01-01T00:00:00Z", until: "2027-01-01T00:00:00Z" }
      const refused: ReadonlyArray<readonly [string, TestApi.Call, number, string]> = [
        [`/notifications/${id}/deliveries?cursor=${cursor}`, {}, 400, "Bad Request"],
        [`/notifications/${id}/deliveries?cursor=${"A".repeat(80)}`, {}, 400, "Bad Request"],
        [`/notifications/${id}/deliveries?state=lost`, {}, 400, "Bad Request"],
        [`/notifications/${id}/deliveries?limit=x`, {}, 400, "Bad Request"],
        ["/notifications/none/deliveries", {}, 404, "Notification not found"],
        [`/notifications/${id}/deliveries/none/retry`, { method: "POST" }, 404, "Delivery not found"],
        ["/notifications/none/deliveries/none/retry", { method: "POST" }, 404, "Notification not found"],
        ["/notifications/none/test", { method: "POST" }, 404, "Notification not found"],
        ["/notifications/none/replay", { body: range }, 404, "Notification not found"],
        [`/notifications/${id}/replay`, { body: { since: range.since } }, 400, "Bad Request"],
        [`/notifications/${id}/replay`, { body: { since: range.until, until: range.since } }, 400, "Bad Request"],
        [`/notifications/${id}/replay`, { body: { ...range, state: "pending" } }, 400, "Bad Request"],
        [`/notifications/${id}/replay`, { body: "x".repeat(2_000_000) }, 413, "Payload Too Large"],
        [`/notifications/${id}/replay`, { body: { since: "yesterday", until: "now" } }, 400, "Bad Request"]
      ]
      for (const [path, options, status, message] of refused) {
        const answer = yield* call(path, options)
        assert.deepStrictEqual([answer.status, answer.json.message, answer.json.data], [status, message, null], path)
      }
      // A delivery of another notification is not found.
      const [delivery] = yield* until(other.id, allDone)
      const stolen = yield* post(`/notifications/${id}/deliveries/${delivery?.id}/retry`)
      assert.strictEqual(stolen.json.message, "Delivery not found")
    })
  )

  it.effect("a key sees the deliveries of its relayers, and cannot repeat them without the scope to write", () =>
    Effect.gen(function* () {
      const { id } = yield* setUp("scope-1", "scope-2")
      const all = yield* until(id, allDone)
      const reader = yield* key({ scopes: ["notifications:read"] })
      assert.strictEqual((yield* post(`/notifications/${id}/test`, undefined, reader)).status, 403)
      assert.deepStrictEqual(yield* log(id, "", reader), all)

      const narrow = yield* key({ scopes: ["notifications:read"], relayer_ids: ["scope-2"] })
      yield* post(`/notifications/${id}/test`)
      const seen = yield* log(id, "", narrow)
      assert.deepStrictEqual(
        seen.map(({ relayer_id }) => relayer_id),
        ["scope-2"]
      )
      const own = all.find(({ relayer_id }) => relayer_id === "scope-2")
      const refused = yield* post(`/notifications/${id}/deliveries/${own?.id}/retry`, undefined, narrow)
      assert.strictEqual(refused.status, 403)
    })
  )

  it.effect("deleting a notification succeeds or gets 409 while its relayer is changed and deleted concurrently", () =>
    Effect.gen(function* () {
      for (let n = 0; n < 15; n++) {
        const { id } = yield* setUp(`busy-${n}`)
        const [removed, changed, gone] = yield* Effect.all(
          [
            call(`/notifications/${id}`, { method: "DELETE" }),
            call(`/relayers/busy-${n}`, { method: "PATCH", body: { paused: true } }),
            call(`/relayers/busy-${n}`, { method: "DELETE" })
          ],
          { concurrency: 3 }
        )
        assert.include([200, 409], removed.status, removed.text)
        assert.include([200, 404], changed.status, changed.text)
        assert.strictEqual(gone.status, 200, gone.text)
      }
    })
  )

  it.effect("metrics count attempts by outcome", () =>
    Effect.gen(function* () {
      const { id } = yield* setUp("metrics-1")
      yield* until(id, allDone)
      const api = yield* TestApi.TestApi
      const counted = yield* api.call("/metrics/webhook_deliveries_total")
      assert.match(counted.text, /webhook_deliveries_total\{outcome="delivered"\} [1-9]/)
      const timed = yield* api.call("/metrics/webhook_delivery_seconds")
      assert.match(timed.text, /webhook_delivery_seconds_count [1-9]/)
      const pending = yield* api.call("/metrics/webhook_deliveries_pending")
      assert.match(pending.text, /webhook_deliveries_pending \d/)
    })
  )
})
