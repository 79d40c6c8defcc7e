// Tests, retries and replays of deliveries are in the audit log.
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as DeliveryJob from "../../../../src/server/notifications/delivery/DeliveryJob.ts"
import { awaited } from "../../../../testkit/Awaited.ts"
import * as TestApi from "../../../../testkit/TestApi.ts"
import { allDone, call, log, post, setUp, until } from "./Notified.ts"
import type { Shown } from "./Notified.ts"

const typesOf = ({ json }: TestApi.Answer) => (json.data as ReadonlyArray<Shown>).map(({ type }) => type)

layer(Layer.provideMerge(DeliveryJob.layer, TestApi.layer()))("the audit log", (it) => {
  it.effect("records each test, retry and replay with its caller, and no refused request", () =>
    Effect.gen(function* () {
      const { id } = yield* setUp("recorded-1")
      const [first] = yield* until(id, allDone)
      const scopes = ["notifications:write", "notifications:read"]
      const made = yield* post("/api-keys", { name: "on duty", scopes })
      const { id: key_id, key } = made.json.data as { readonly id: string; readonly key: string }
      const tested = yield* post(`/notifications/${id}/test`, undefined, key)
      yield* post(`/notifications/${id}/deliveries/${first?.id}/retry`, undefined, key)
      yield* until(id, allDone)
      const range = { since: "2020-01-01T00:00:00.000Z", until: "2100-01-01T00:00:00.000Z" }
      yield* post(`/notifications/${id}/replay`, range, key)
      assert.strictEqual((yield* post(`/notifications/${id}/deliveries/none/retry`, undefined, key)).status, 404)
      assert.strictEqual(
        (yield* post(`/notifications/${id}/replay`, { ...range, until: range.since }, key)).status,
        400
      )
      const { json } = yield* call(`/audit?resource=notification&resource_id=${id}&key_id=${key_id}&order=oldest`)
      const records = json.data as ReadonlyArray<{ readonly action: string; readonly after: object }>
      assert.deepStrictEqual(
        records.map(({ action, after }) => [action, after]),
        [
          ["notification.tested", { delivery_id: (tested.json.data as Shown).id, outcome: "delivered" }],
          ["notification.delivery_retried", { delivery_id: first?.id }],
          ["notification.deliveries_replayed", { ...range, replayed: 1 }]
        ]
      )
      // A new event is visible when the older transactions of other tests on the same server have ended.
      const events = yield* awaited(Effect.map(call(`/events?resource_id=${id}`), typesOf), (types) => types.length > 0)
      assert.deepStrictEqual(events, ["notification.created"])
    })
  )

  it.effect("prevents a retry or a replay if its record cannot be written", () =>
    Effect.gen(function* () {
      const { receiver, id } = yield* setUp("unrecorded-1")
      const [first] = yield* until(id, allDone)
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$`
      yield* sql`CREATE TRIGGER refuse BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION refuse()`
      const range = { since: "2020-01-01T00:00:00Z", until: "2100-01-01T00:00:00Z" }
      const answers = [
        yield* post(`/notifications/${id}/deliveries/${first?.id}/retry`),
        yield* post(`/notifications/${id}/replay`, range)
      ]
      yield* sql`DROP TRIGGER refuse ON audit`
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [500, 500]
      )
      assert.deepStrictEqual(
        (yield* log(id)).map(({ state }) => state),
        ["delivered"]
      )
      assert.strictEqual(receiver.seen.length, 1)
    })
  )
})
