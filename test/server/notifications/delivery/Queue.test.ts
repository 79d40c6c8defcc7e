// The queue of deliveries: instances share it, a dead instance loses no delivery, and old deliveries are deleted.
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import type { NotificationId } from "../../../../src/domain/notification/Notification.ts"
import { CommitSignals } from "../../../../src/server/lifecycle/Lifecycle.ts"
import { Notifications } from "../../../../src/server/notifications/Notifications.ts"
import * as QueueRepo from "../../../../src/server/notifications/delivery/QueueRepo.ts"
import * as Receiver from "../../../../testkit/Receiver.ts"
import * as TestDatabase from "../../../../testkit/TestDatabase.ts"
import * as World from "./World.ts"

const all = { free: 1000, perReceiver: 1000, busy: new Map<string, number>() }

describe("two instances", () => {
  it.effect("never send two deliveries of one relayer concurrently, nor one delivery twice", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make
      const database = yield* TestDatabase.make
      const instance = (job: boolean) =>
        Layer.build(Layer.fresh(Layer.provideMerge(World.instance({ job }), World.connection(database))))
      const writer = yield* instance(false)
      const lanes = Array.from({ length: 10 }, (_, index) => `relayer-${index}`)
      const under = new Map<string, number>()
      let overlaps = 0
      receiver.answer = ({ json }) => {
        const lane = json.payload.relayer?.id ?? ""
        if (under.has(lane)) overlaps++
        under.set(lane, 1)
        setImmediate(() => under.delete(lane))
        return undefined
      }
      yield* Effect.gen(function* () {
        const { id } = yield* World.create(receiver.url)
        for (let n = 0; n < 10; n++) {
          for (const lane of lanes) yield* World.publish("relayer.updated", World.relayer(id, lane, { name: `n${n}` }))
        }
        const senders = yield* Effect.all([instance(true), instance(true)], { concurrency: 2 })
        yield* World.until(
          Effect.gen(function* () {
            for (const sender of senders) yield* Context.get(sender, CommitSignals).get("deliveries").now
            return (yield* World.log(id)).every(({ state }) => state === "delivered")
          })
        )
        yield* receiver.arrived(100)
      }).pipe(Effect.provideContext(writer))
      assert.strictEqual(receiver.seen.length, 100)
      assert.strictEqual(new Set(receiver.seen.map(Receiver.webhookId)).size, 100)
      assert.strictEqual(overlaps, 0)
      for (const lane of lanes) {
        const names = receiver.seen
          .filter(({ json }) => json.payload.relayer?.id === lane)
          .map(({ json }) => json.payload.relayer?.name)
        assert.deepStrictEqual(
          names,
          Array.from({ length: 10 }, (_, n) => `n${n}`)
        )
      }
    }).pipe(Effect.scoped)
  )

  it.effect("claim every delivery once, and claims of a dead instance end with their lease", () =>
    Effect.gen(function* () {
      const repo = yield* QueueRepo.make
      const { id } = yield* World.create("http://127.0.0.1:9/hook")
      for (let n = 0; n < 50; n++) yield* World.publish("relayer.updated", World.relayer(id, `relayer-${n}`))
      const claims = yield* Effect.all(
        Array.from({ length: 8 }, () => repo.claim({ ...all, free: 10 })),
        { concurrency: 8 }
      )
      const claimed = [...claims.flat(), ...(yield* repo.claim(all))]
      assert.strictEqual(claimed.length, 50)
      assert.strictEqual(new Set(claimed.map(({ id }) => id)).size, 50)
      assert.isEmpty(yield* repo.claim(all))

      yield* World.pass("29 seconds")
      assert.isEmpty(yield* repo.claim(all))
      yield* World.pass("2 seconds")
      const [first, ...others] = yield* repo.claim(all)
      assert.strictEqual(others.length, 49)
      assert(first !== undefined)

      // The result of an attempt whose claim was replaced is ignored.
      const before = claimed.find(({ id }) => id === first.id)
      assert(before !== undefined)
      const attempt = { outcome: "delivered", ms: 1, status: 200 } as const
      const wait = { backOff: 1000, asked: undefined }
      assert.isTrue(Option.isNone(yield* repo.settle(before, attempt, wait)))
      assert.deepStrictEqual(yield* repo.settle(first, attempt, wait), Option.some("delivered"))
      assert.isTrue(Option.isNone(yield* repo.settle(first, attempt, wait)))
    }).pipe(Effect.provide(World.layer({ job: false })))
  )

  it.effect("claim no more deliveries than they can send, in total and per receiver", () =>
    Effect.gen(function* () {
      const repo = yield* QueueRepo.make
      const ids: Array<NotificationId> = []
      for (let n = 0; n < 3; n++) ids.push((yield* World.create("http://127.0.0.1:9/hook")).id)
      for (const id of ids) {
        for (let n = 0; n < 10; n++) yield* World.publish("relayer.updated", World.relayer(id, `relayer-${n}`))
      }
      const [full = "", half = ""] = ids
      const busy = new Map([
        [full, 4],
        [half, 2]
      ])
      const claimed = yield* repo.claim({ free: 100, perReceiver: 4, busy })
      const counts = ids.map((id) => claimed.filter(({ notification_id }) => notification_id === id).length)
      assert.deepStrictEqual(counts, [0, 2, 4])
      assert.strictEqual((yield* repo.claim({ free: 3, perReceiver: 4, busy: new Map() })).length, 3)
    }).pipe(Effect.provide(World.layer({ job: false })))
  )
})

describe("the upkeep of the queue", () => {
  it.effect("deletes deliveries after 30 days with their attempts, and signing keys that have expired", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make
      const notifications = yield* Notifications
      const sql = yield* SqlClient.SqlClient
      const { id } = yield* World.create(receiver.url)
      yield* World.publish("relayer.updated", World.relayer(id))
      yield* World.attempted(id, 1)
      yield* notifications.update(id, { signing_key: Redacted.make("x".repeat(32)) })
      yield* World.pass("31 days")
      yield* World.publish("relayer.updated", World.relayer(id))
      yield* World.attempted(id, 1, 1)
      const left = Effect.map(
        sql`
          SELECT (SELECT count(*)::int FROM deliveries) AS deliveries, (SELECT count(*)::int FROM delivery_attempts) AS attempts,
            (SELECT count(*)::int FROM notifications WHERE previous_signing_key_sealed IS NOT NULL) AS keys`,
        ([row]) => row
      )
      assert.deepStrictEqual(yield* left, { deliveries: 2, attempts: 2, keys: 1 })
      yield* TestClock.adjust("5 seconds")
      yield* World.until(Effect.map(left, (row) => row?.["keys"] === 0))
      assert.deepStrictEqual(yield* left, { deliveries: 1, attempts: 1, keys: 0 })
    }).pipe(Effect.provide(World.layer()))
  )
})
