// How webhooks are sent, which responses count as delivered, and what happens after the others.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { createHmac } from "node:crypto"
import { verifyWebhook } from "../../../../src/client/Webhook.ts"
import * as Documented from "../../../../testkit/Documented.ts"
import * as Receiver from "../../../../testkit/Receiver.ts"
import * as World from "./World.ts"

const base64 = (key: string, text: string) => createHmac("sha256", key).update(text).digest("base64")

describe("a webhook", () => {
  it.effect("is sent at once in the format of the specification, with two kinds of signatures", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make
      const { id } = yield* World.create(receiver.url)
      const reason = { type: "RpcValidationFailed", details: "no RPC URL answers" }
      yield* World.publish(
        "relayer.disabled",
        World.relayer(id, "relayer-1", { system_disabled: true, disabled_reason: reason })
      )
      const [delivery] = yield* World.attempted(id, 1)
      assert.strictEqual(receiver.seen.length, 1)
      const [seen] = receiver.seen
      assert(seen !== undefined && delivery !== undefined)
      assert.strictEqual(seen.method, "POST")
      assert.deepInclude(seen.json, {
        id: delivery.id,
        event: "relayer_state_update",
        timestamp: "2026-11-21T12:00:00.000Z"
      })
      assert.deepInclude(seen.json.payload, { payload_type: "relayer_disabled", disable_reason: "no RPC URL answers" })
      assert.include(seen.body, `"min_balance":340282366920938463463374607431768211455,`)
      assert.include(seen.body, `"url":"https://rpc.example.com/***"`)
      assert.strictEqual(delivery.body, seen.body)
      assert.deepStrictEqual(Documented.webhookFaultsOf("relayer", seen), [])
      assert.deepInclude(seen.headers, {
        "content-type": "application/json",
        "webhook-id": delivery.id,
        "webhook-timestamp": "1795262400",
        "webhook-event-type": "relayer.disabled",
        "webhook-signature": `v1,${base64(World.signingKey, `${delivery.id}.1795262400.${seen.body}`)}`,
        "x-signature": base64(World.signingKey, seen.body)
      })
      assert.deepStrictEqual(World.outcomes([delivery]), [["delivered", "delivered"]])
      assert.deepInclude(delivery.attempts[0] ?? {}, { status: 200, answer: "thanks" })
      assert.deepInclude(delivery, { type: "relayer.disabled", relayer_id: "relayer-1" })
      assert.isDefined(delivery.event_id)

      const webhook = yield* verifyWebhook({ secret: World.signingKey, headers: seen.headers, body: seen.body })
      assert.deepInclude(webhook, { id: delivery.id, event: "relayer_state_update" })
    }).pipe(
      Effect.provide(World.layer()),
      // Time passes before the job starts, because the job would wake up every second.
      (test) => Effect.andThen(TestClock.setTime(Date.parse("2026-11-21T12:00:00Z")), test)
    )
  )

  it.effect("has no signature without a key, and is not sent for a relayer without a notification", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make
      const { id } = yield* World.create(receiver.url, "")
      const { notification_id: _, ...silent } = World.relayer(id, "relayer-2")
      yield* World.publish("relayer.created", silent)
      yield* World.publish("relayer.created", World.relayer(id))
      yield* World.attempted(id, 1)
      assert.deepStrictEqual(
        receiver.seen.map(({ json }) => json.payload.relayer?.id),
        ["relayer-1"]
      )
      const [seen] = receiver.seen
      assert.deepInclude(seen?.json ?? {}, { event: "relayer_update" })
      assert.notProperty(seen?.headers, "webhook-signature")
      assert.notProperty(seen?.headers, "x-signature")
    }).pipe(Effect.provide(World.layer()))
  )

  it.effect("is not sent if the transaction is rolled back", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make
      const sql = yield* SqlClient.SqlClient
      const { id } = yield* World.create(receiver.url)
      yield* Effect.flip(
        sql.withTransaction(Effect.andThen(World.publish("relayer.paused", World.relayer(id)), Effect.fail("no")))
      )
      yield* World.publish("relayer.resumed", World.relayer(id))
      yield* World.attempted(id, 1)
      assert.deepStrictEqual(
        receiver.seen.map(({ json }) => json.payload.payload_type),
        ["relayer_resumed"]
      )
    }).pipe(Effect.provide(World.layer()))
  )
})

describe("an attempt", () => {
  const failures: ReadonlyArray<readonly [Receiver.Fault, string, object]> = [
    [{ status: 500, body: "x".repeat(5000) }, "rejected", { status: 500, answer: "x".repeat(1024) }],
    [{ status: 429 }, "rejected", { status: 429 }],
    [{ status: 404, body: "nul\0 and \u{1f600}" }, "rejected", { status: 404, answer: "nul\u{fffd} and \u{1f600}" }],
    ["redirect", "rejected", { status: 307 }],
    ["reset", "unreachable", {}]
  ]
  for (const [fault, outcome, expected] of failures) {
    const name = typeof fault === "string" ? fault : `status ${fault.status}`
    it.effect(`that ends with ${name} has failed, and another one with the same id follows`, () =>
      Effect.gen(function* () {
        const receiver = yield* Receiver.make
        receiver.answer = () => fault
        const { id } = yield* World.create(receiver.url)
        yield* World.publish("relayer.updated", World.relayer(id))
        const [failed] = yield* World.attempted(id, 1)
        assert(failed !== undefined)
        assert.deepStrictEqual(World.outcomes([failed]), [["pending", outcome]])
        assert.deepInclude(failed.attempts[0] ?? {}, expected)
        assert.isTrue(World.waits(failed) > 3700 && World.waits(failed) < 6000, String(World.waits(failed)))
        receiver.answer = () => undefined
        yield* World.pass("6 seconds")
        const [delivered] = yield* World.attempted(id, 2)
        assert.deepStrictEqual(World.outcomes([delivered ?? failed]), [["delivered", "delivered", outcome]])
        const [first, second] = receiver.seen
        assert.deepStrictEqual(
          [first?.headers["webhook-id"], first?.body],
          [second?.headers["webhook-id"], second?.body]
        )
        assert.strictEqual(receiver.redirected(), 0)
      }).pipe(Effect.provide(World.layer()))
    )
  }

  it.effect("without a response ends after ten seconds", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make
      receiver.answer = () => "hang"
      const { id } = yield* World.create(receiver.url)
      yield* World.publish("relayer.updated", World.relayer(id))
      yield* receiver.arrived(1)
      yield* TestClock.adjust("10 seconds")
      const [failed] = yield* World.attempted(id, 1)
      assert(failed !== undefined)
      assert.deepStrictEqual(World.outcomes([failed]), [["pending", "timeout"]])
      assert.deepInclude(failed.attempts[0] ?? {}, { ms: 10_000 })
    }).pipe(Effect.provide(World.layer()))
  )

  it.effect("is judged by the status of the response, even if its body is incomplete or too long", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make
      const faults = ["cut off", "huge"] as const
      receiver.answer = () => faults[receiver.seen.length - 1]
      const { id } = yield* World.create(receiver.url)
      yield* World.publish("relayer.updated", World.relayer(id))
      yield* World.publish("relayer.deleted", World.relayer(id))
      const deliveries = yield* World.attempted(id, 1, 1)
      assert.deepStrictEqual(World.outcomes(deliveries), [
        ["delivered", "delivered"],
        ["delivered", "delivered"]
      ])
      for (const { attempts } of deliveries) assert.notProperty(attempts[0], "answer")
    }).pipe(Effect.provide(World.layer()))
  )

  it.effect("does not reach a name that resolves to an internal address or to no address", () =>
    Effect.gen(function* () {
      const inside = yield* World.create("https://inside.example/hook")
      yield* World.publish("relayer.updated", World.relayer(inside.id))
      const nowhere = yield* World.create("https://nowhere.example/hook")
      yield* World.publish("relayer.updated", World.relayer(nowhere.id))
      const [refused] = yield* World.attempted(inside.id, 1)
      assert.deepInclude(refused?.attempts[0] ?? {}, {
        outcome: "refused",
        answer: "resolves to a private address, which is not allowed"
      })
      const [unreachable] = yield* World.attempted(nowhere.id, 1)
      assert.deepInclude(unreachable?.attempts[0] ?? {}, { outcome: "unreachable" })
    }).pipe(
      Effect.provide(World.layer({ resolve: (name) => Promise.resolve(name === "inside.example" ? ["10.0.0.7"] : []) }))
    )
  )

  it.effect("is not sent by http to a host that is not allowed any more", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { id } = yield* World.create("https://hooks.example/hook", "")
      yield* sql`UPDATE notifications SET url = 'http://hooks.example/hook' WHERE id = ${id}`
      yield* World.publish("relayer.updated", World.relayer(id))
      const [refused] = yield* World.attempted(id, 1)
      assert.deepInclude(refused?.attempts[0] ?? {}, {
        outcome: "refused",
        answer: "the URL has http instead of https, which is not allowed"
      })
    }).pipe(Effect.provide(World.layer({ resolve: () => Promise.resolve(["8.8.8.8"]) })))
  )

  it.effect("is delayed by Retry-After, but never past the end of the 24 hours", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make
      const asked = ["600", "999999", "soon"]
      receiver.answer = () => ({ status: 503, headers: { "retry-after": asked[receiver.seen.length - 1] ?? "" } })
      const { id } = yield* World.create(receiver.url)
      yield* World.publish("relayer.updated", World.relayer(id))
      const wait = Effect.fnUntraced(function* (attempts: number) {
        const [delivery] = yield* World.attempted(id, attempts)
        return delivery === undefined ? Number.NaN : World.waits(delivery)
      })
      assert.closeTo(yield* wait(1), 600_000, 1000)
      yield* World.pass("11 minutes")
      const last = 86_400_000 - 11 * 60_000 - 60_000
      assert.closeTo(yield* wait(2), last, 5000)
      yield* World.pass(last + 1000)
      const [expired] = yield* World.attempted(id, 3)
      assert.deepInclude(expired ?? {}, { state: "pending" })
    }).pipe(Effect.provide(World.layer()))
  )

  it.effect("is repeated with growing delays and given up after 24 hours", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make
      receiver.answer = () => ({ status: 500 })
      const { id } = yield* World.create(receiver.url)
      yield* World.publish("relayer.updated", World.relayer(id))
      yield* World.publish("relayer.deleted", World.relayer(id, "relayer-2"))
      const all: Array<number> = []
      while (true) {
        const [, first] = yield* World.attempted(id, all.length + 1, all.length + 1)
        assert(first !== undefined)
        if (first.state === "failed") break
        all.push(World.waits(first))
        yield* World.pass(3_600_000 / 2 ** Math.max(0, 9 - all.length))
      }
      for (const [index, wait] of all.entries()) {
        const most = Math.min(5000 * 2 ** index, 3_600_000)
        assert.isTrue(wait > most * 0.74 && wait < most + 1000, `${index}: ${wait}`)
      }
      assert.isTrue(all.length > 25 && all.length < 40, String(all.length))
      assert.strictEqual(new Set(receiver.seen.map(Receiver.webhookId)).size, 2)
    }).pipe(Effect.provide(World.layer()))
  )
})
