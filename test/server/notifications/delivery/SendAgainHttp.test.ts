// Deliveries sent again over HTTP: one more attempt, a replay, a test.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { verifyWebhook } from "../../../../src/client/Webhook.ts"
import { evmRelayer, signer } from "../../../../testkit/fixtures.ts"
import { allDone, call, live, log, post, setUp, until } from "./Notified.ts"
import { signingKey } from "./World.ts"

const always = { since: "2020-01-01T00:00:00Z", until: "2100-01-01T00:00:00Z" }

layer(live)("a delivery", (it) => {
  it.effect("that was delivered or has failed is sent once more under its id by a retry", () =>
    Effect.gen(function* () {
      const { receiver, id } = yield* setUp("retry-1")
      const [first] = yield* until(id, allDone)
      const retry = post(`/notifications/${id}/deliveries/${first?.id}/retry`)
      const again = yield* retry
      assert.strictEqual(again.status, 200, again.text)
      assert.deepInclude(again.json.data, { id: first?.id, state: "pending" })
      yield* receiver.arrived(2)
      yield* until(id, allDone)

      receiver.answer = () => ({ status: 500 })
      yield* retry
      const [failed] = yield* until(id, ([one]) => one?.attempts.length === 3 && one.state !== "pending")
      assert.deepInclude(failed ?? {}, { state: "failed" })
      const sql = yield* SqlClient.SqlClient
      assert.lengthOf(yield* sql`SELECT 1 FROM deliveries WHERE id = ${first?.id ?? ""} AND failed_at IS NOT NULL`, 1)
      assert.deepStrictEqual(
        failed?.attempts.map(({ outcome }) => outcome),
        ["rejected", "delivered", "delivered"]
      )
      receiver.answer = () => undefined
      yield* retry
      yield* until(id, ([one]) => one?.attempts.length === 4 && one.state === "delivered")
      assert.strictEqual(new Set(receiver.seen.map(({ headers }) => headers["webhook-id"])).size, 1)
    })
  )

  it.effect("that is pending is attempted at once by a retry, and its attempts continue", () =>
    Effect.gen(function* () {
      const { receiver, id } = yield* setUp()
      receiver.answer = () => ({ status: 500 })
      yield* post("/signers", { ...signer, id: "pending-signer" })
      yield* post("/relayers", { ...evmRelayer, id: "pending-1", signer_id: "pending-signer", notification_id: id })
      const [first] = yield* until(id, ([one]) => one?.attempts.length === 1)
      yield* post(`/notifications/${id}/deliveries/${first?.id}/retry`)
      const [second] = yield* until(id, ([one]) => one?.attempts.length === 2)
      assert.deepInclude(second ?? {}, { state: "pending" })
    })
  )

  it.effect("of a time range is replayed in order, if it has the given state and is not a test", () =>
    Effect.gen(function* () {
      const { receiver, id } = yield* setUp("replay-1", "replay-2")
      for (const paused of [true, false]) yield* call("/relayers/replay-1", { method: "PATCH", body: { paused } })
      yield* post(`/notifications/${id}/test`)
      const before = yield* until(id, (shown) => shown.length === 7 && allDone(shown))
      const replay = (body: object) =>
        Effect.map(post(`/notifications/${id}/replay`, { ...always, ...body }), ({ json }) => json.data)
      assert.deepStrictEqual(yield* replay({ state: "failed" }), { replayed: 0 })
      assert.deepStrictEqual(yield* replay({ until: "2020-01-02T00:00:00Z" }), { replayed: 0 })
      const came = receiver.seen.length
      assert.deepStrictEqual(yield* replay({ dry_run: true }), { replayed: 6 })
      assert.isEmpty(yield* log(id, "?state=pending"))
      const { json } = yield* call(`/audit?action=notification.deliveries_replayed&resource_id=${id}&limit=10`)
      assert.notInclude(JSON.stringify(json.data), '"replayed":6')
      assert.deepStrictEqual(yield* replay({ state: "delivered" }), { replayed: 6 })
      yield* receiver.arrived(came + 6)
      yield* until(id, allDone)
      for (const relayer of ["replay-1", "replay-2"]) {
        const ids = receiver.seen
          .slice(came)
          .filter(({ json }) => json.payload.relayer?.id === relayer)
          .map(({ json }) => json.id)
        assert.deepStrictEqual(
          ids,
          before
            .filter(({ relayer_id }) => relayer_id === relayer)
            .map(({ id }) => id)
            .toReversed()
        )
      }
    })
  )

  it.effect("is not sent if a replay has too many", () =>
    Effect.gen(function* () {
      const { id } = yield* setUp()
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        INSERT INTO deliveries (id, notification_seq, lane, event, body, state)
        SELECT 'many-' || n, seq, 'many', 'relayer.updated', '{}', 'delivered'
        FROM notifications, generate_series(1, 10001) n WHERE id = ${id}`
      const refused = yield* post(`/notifications/${id}/replay`, always)
      assert.strictEqual(refused.json.error, "until: there are more than 10000 deliveries: choose a shorter period")
      const counted = yield* post(`/notifications/${id}/replay`, { ...always, dry_run: true })
      assert.strictEqual(counted.json.error, refused.json.error)
      assert.isEmpty(yield* log(id, "?state=pending"))
    })
  )

  it.effect(
    "of a test is sent at once and signed, even if the notification is paused, and its outcome is returned",
    () =>
      Effect.gen(function* () {
        const { receiver, id } = yield* setUp()
        const paused = yield* call(`/notifications/${id}`, { method: "PATCH", body: { paused: true } })
        assert.deepInclude(paused.json.data, { paused: true })
        const good = yield* post(`/notifications/${id}/test`)
        assert.strictEqual(good.status, 200, good.text)
        assert.deepInclude(good.json.data, { outcome: "delivered", status: 200, answer: "thanks" })
        const [seen] = receiver.seen
        assert(seen !== undefined)
        assert.deepInclude(seen.json, { event: "test" })
        yield* verifyWebhook({ secret: signingKey, headers: seen.headers, body: seen.body })

        receiver.answer = () => ({ status: 410, body: "gone" })
        const bad = yield* post(`/notifications/${id}/test`)
        assert.deepInclude(bad.json.data, { outcome: "gone", status: 410, answer: "gone" })
        const shown = yield* log(id)
        assert.deepStrictEqual(
          shown.map(({ type, state, attempts }) => [type, state, attempts.length]),
          [
            ["test", "failed", 1],
            ["test", "delivered", 1]
          ]
        )
      })
  )
})
