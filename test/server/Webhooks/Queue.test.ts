// The queue of deliveries: several instances share it, one that dies loses nothing, and what is paused waits.
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import type { EventType } from "../../../src/domain/Event.ts"
import type { NotificationId } from "../../../src/domain/Notification.ts"
import { Notifications } from "../../../src/server/Notifications/Notifications.ts"
import { QueueRepo } from "../../../src/server/Webhooks/QueueRepo.ts"
import { WakeUp } from "../../../src/server/Webhooks/WakeUp.ts"
import * as Receiver from "../../support/Receiver.ts"
import * as TestDatabase from "../../support/TestDatabase.ts"
import * as World from "./World.ts"

const webhookId = (seen: Receiver.Seen) => String(seen.headers["webhook-id"])

const all = { free: 1000, perReceiver: 1000, busy: new Map<string, number>() }

const eventsOf = (id: NotificationId) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(sql<{ type: EventType }>`SELECT type FROM events WHERE resource_id = ${id} ORDER BY id`, (rows) =>
      rows.map(({ type }) => type)
    )
  )

describe("two instances", () => {
  it.effect("never send the same delivery at the same time, nor one of the same relayer", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make
      const database = yield* TestDatabase.make
      const instance = (worker: boolean) =>
        Layer.build(Layer.fresh(Layer.provideMerge(World.instance({ worker }), World.connection(database))))
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
          for (const lane of lanes) yield* World.tell("relayer.updated", World.relayer(id, lane, { name: `n${n}` }))
        }
        const workers = yield* Effect.all([instance(true), instance(true)], { concurrency: 2 })
        yield* World.until(
          Effect.gen(function* () {
            for (const worker of workers) yield* Context.get(worker, WakeUp).latch.open
            return (yield* World.log(id)).every(({ state }) => state === "delivered")
          })
        )
        yield* receiver.arrived(100)
      }).pipe(Effect.provideContext(writer))
      assert.strictEqual(receiver.seen.length, 100)
      assert.strictEqual(new Set(receiver.seen.map(webhookId)).size, 100)
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

  it.effect("claim every delivery once; a claim whose holder is gone is free when its lease has ended", () =>
    Effect.gen(function* () {
      const repo = yield* QueueRepo
      const { id } = yield* World.create("http://127.0.0.1:9/hook")
      for (let n = 0; n < 50; n++) yield* World.tell("relayer.updated", World.relayer(id, `relayer-${n}`))
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

      // Who has lost its claim has nothing to say any more.
      const before = claimed.find(({ id }) => id === first.id)
      assert(before !== undefined)
      const attempt = { outcome: "delivered", ms: 1, status: 200 } as const
      const wait = { backOff: 1000, asked: undefined }
      assert.isUndefined(yield* repo.settle(before, attempt, wait))
      assert.strictEqual(yield* repo.settle(first, attempt, wait), "delivered")
      assert.isUndefined(yield* repo.settle(first, attempt, wait))
    }).pipe(Effect.provide(Layer.provideMerge(QueueRepo.layer, World.layer({ worker: false }))))
  )

  it.effect("claim no more than there is room for, in all and for each receiver", () =>
    Effect.gen(function* () {
      const repo = yield* QueueRepo
      const ids: Array<NotificationId> = []
      for (let n = 0; n < 3; n++) ids.push((yield* World.create("http://127.0.0.1:9/hook")).id)
      for (const id of ids) {
        for (let n = 0; n < 10; n++) yield* World.tell("relayer.updated", World.relayer(id, `relayer-${n}`))
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
    }).pipe(Effect.provide(Layer.provideMerge(QueueRepo.layer, World.layer({ worker: false }))))
  )
})

describe("a notification", () => {
  it.effect("that is paused keeps what happens for 24 hours, and sends it in order when it is resumed", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make
      const notifications = yield* Notifications
      const { id } = yield* World.create(receiver.url)
      const paused = yield* notifications.update(id, { paused: true })
      assert.isTrue(paused.paused)
      yield* World.tell("relayer.updated", World.relayer(id, "relayer-1", { name: "too old" }))
      yield* World.pass("25 hours")
      yield* World.tell("relayer.updated", World.relayer(id, "relayer-1", { name: "first" }))
      yield* World.tell("relayer.updated", World.relayer(id, "relayer-1", { name: "second" }))
      yield* TestClock.adjust("5 seconds")
      yield* World.until(Effect.map(World.log(id), (log) => log.at(-1)?.state === "failed"))
      yield* notifications.update(id, { paused: false })
      yield* receiver.arrived(2)
      yield* World.attempted(id, 0, 1, 1)
      assert.deepStrictEqual(
        receiver.seen.map(({ json }) => json.payload.relayer?.name),
        ["first", "second"]
      )
      assert.deepStrictEqual(yield* eventsOf(id), [
        "notification.created",
        "notification.updated",
        "notification.updated"
      ])
    }).pipe(Effect.provide(World.layer()))
  )

  it.effect("whose receiver is gone is paused, with an event", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make
      receiver.answer = () => ({ status: 410 })
      const notifications = yield* Notifications
      const { id } = yield* World.create(receiver.url)
      yield* World.tell("relayer.updated", World.relayer(id))
      const [delivery] = yield* World.attempted(id, 1)
      assert.deepStrictEqual(World.outcomes(delivery === undefined ? [] : [delivery]), [["failed", "gone"]])
      assert.isTrue((yield* notifications.get(id)).paused)
      assert.deepStrictEqual(yield* eventsOf(id), ["notification.created", "notification.paused"])
    }).pipe(Effect.provide(World.layer()))
  )

  it.effect("that has failed for three days is paused, with an event; one success in between starts anew", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make
      const notifications = yield* Notifications
      const { id } = yield* World.create(receiver.url)
      const sql = yield* SqlClient.SqlClient
      const isPaused = Effect.map(notifications.get(id), ({ paused }) => paused)
      let count = 0
      const send = Effect.fnUntraced(function* (status: number) {
        receiver.answer = () => ({ status })
        yield* World.tell("relayer.updated", World.relayer(id, `relayer-${count++}`))
        yield* World.until(Effect.map(World.log(id), ([latest]) => latest?.attempts.length === 1))
        yield* sql`UPDATE deliveries SET state = 'failed' WHERE state = 'pending'`
      })
      yield* send(500)
      yield* World.pass("47 hours")
      yield* send(200)
      yield* World.pass("47 hours")
      yield* send(500)
      yield* World.pass("71 hours")
      yield* send(500)
      assert.isFalse(yield* isPaused)
      yield* World.pass("2 hours")
      yield* send(500)
      assert.isTrue(yield* isPaused)
      yield* notifications.update(id, { paused: false })
      yield* send(500)
      assert.isFalse(yield* isPaused)
      assert.deepStrictEqual(yield* eventsOf(id), [
        "notification.created",
        "notification.paused",
        "notification.updated"
      ])
    }).pipe(Effect.provide(World.layer()))
  )

  it.effect("whose key cannot be read fails alone, and holds up nobody", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make
      const sql = yield* SqlClient.SqlClient
      const broken = yield* World.create(receiver.url)
      const sound = yield* World.create(receiver.url)
      yield* sql`UPDATE notifications SET signing_key_sealed = signing_key_sealed || '\\x00' WHERE id = ${broken.id}`
      yield* World.tell("relayer.updated", World.relayer(broken.id))
      yield* World.tell("relayer.updated", World.relayer(sound.id))
      yield* World.attempted(sound.id, 1)
      const log = yield* World.attempted(broken.id, 1)
      assert.deepStrictEqual(World.outcomes(log), [["pending", "error"]])
      yield* World.tell("relayer.updated", World.relayer(sound.id))
      yield* World.attempted(sound.id, 1, 1)
      assert.strictEqual(receiver.seen.length, 2)
    }).pipe(Effect.provide(World.layer()))
  )

  it.effect("is deleted with its deliveries and its keys, also while one is on its way", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make
      receiver.answer = () => "hang"
      const notifications = yield* Notifications
      const sql = yield* SqlClient.SqlClient
      const { id } = yield* World.create(receiver.url)
      yield* notifications.update(id, { signing_key: Redacted.make("x".repeat(32)) })
      yield* World.tell("relayer.updated", World.relayer(id))
      yield* receiver.arrived(1)
      yield* notifications.delete(id)
      receiver.letGo()
      const other = yield* World.create(receiver.url)
      receiver.answer = () => undefined
      yield* World.tell("relayer.updated", World.relayer(other.id))
      yield* World.attempted(other.id, 1)
      const rows = yield* sql`SELECT 1 FROM deliveries WHERE notification_id = ${id}`
      assert.isEmpty(rows)
    }).pipe(Effect.provide(World.layer()))
  )
})

describe("what is old", () => {
  it.effect("goes after 30 days, with its attempts; and so do keys that sign no more", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make
      const notifications = yield* Notifications
      const sql = yield* SqlClient.SqlClient
      const { id } = yield* World.create(receiver.url)
      yield* World.tell("relayer.updated", World.relayer(id))
      yield* World.attempted(id, 1)
      yield* notifications.update(id, { signing_key: Redacted.make("x".repeat(32)) })
      yield* World.pass("31 days")
      yield* World.tell("relayer.updated", World.relayer(id))
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
