// The deliveries of one notification while it is paused, failing, unreadable or deleted.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import type { KnownEventType } from "../../../../src/domain/event/Event.ts"
import type { NotificationId } from "../../../../src/domain/notification/Notification.ts"
import { Notifications } from "../../../../src/server/notifications/Notifications.ts"
import * as Receiver from "../../../../testkit/Receiver.ts"
import * as World from "./World.ts"

const eventsOf = (id: NotificationId) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(sql<{ type: KnownEventType }>`SELECT type FROM events WHERE resource_id = ${id} ORDER BY id`, (rows) =>
      rows.map(({ type }) => type)
    )
  )

/** How many deliveries have failed at a known time. */
const givenUp = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(
    sql`SELECT 1 FROM deliveries WHERE state = 'failed' AND failed_at <= clock_timestamp()`,
    (rows) => rows.length
  )
)

/** Lets the tasks of the job run again and again: one may still be at its first round when the time passes. */
const passUntil = <E, R>(check: Effect.Effect<boolean, E, R>) =>
  World.until(Effect.andThen(TestClock.adjust("1 second"), check))

describe("a notification", () => {
  it.effect("that is paused keeps deliveries for 24 hours, and sends them in order when it is resumed", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make
      const notifications = yield* Notifications
      const { id } = yield* World.create(receiver.url)
      const { value: paused } = yield* notifications.update(id, { paused: true })
      assert.isTrue(paused.paused)
      yield* World.publish("relayer.updated", World.relayer(id, "relayer-1", { name: "too old" }))
      yield* World.pass("25 hours")
      yield* World.publish("relayer.updated", World.relayer(id, "relayer-1", { name: "first" }))
      yield* World.publish("relayer.updated", World.relayer(id, "relayer-1", { name: "second" }))
      yield* passUntil(Effect.map(World.log(id), (log) => log.at(-1)?.state === "failed"))
      assert.strictEqual(yield* givenUp, 1)
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

  it.effect("whose receiver answers 410 is paused, and an event is published", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make
      receiver.answer = () => ({ status: 410 })
      const notifications = yield* Notifications
      const { id } = yield* World.create(receiver.url)
      yield* World.publish("relayer.updated", World.relayer(id))
      const [delivery] = yield* World.attempted(id, 1)
      assert.deepStrictEqual(World.outcomes(delivery === undefined ? [] : [delivery]), [["failed", "gone"]])
      assert.strictEqual(yield* givenUp, 1)
      assert.isTrue((yield* notifications.get(id)).value.paused)
      assert.deepStrictEqual(yield* eventsOf(id), ["notification.created", "notification.paused"])
    }).pipe(Effect.provide(World.layer()))
  )

  it.effect("that fails for three days without a success is paused, and an event is published", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make
      const notifications = yield* Notifications
      const { id } = yield* World.create(receiver.url)
      const sql = yield* SqlClient.SqlClient
      const isPaused = Effect.map(notifications.get(id), ({ value }) => value.paused)
      let count = 0
      const send = Effect.fnUntraced(function* (status: number) {
        receiver.answer = () => ({ status })
        yield* World.publish("relayer.updated", World.relayer(id, `relayer-${count++}`))
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

  it.effect("whose key cannot be opened fails without delaying others", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make
      const sql = yield* SqlClient.SqlClient
      const broken = yield* World.create(receiver.url)
      const sound = yield* World.create(receiver.url)
      yield* sql`UPDATE notifications SET signing_key_sealed = signing_key_sealed || '\\x00' WHERE id = ${broken.id}`
      yield* World.publish("relayer.updated", World.relayer(broken.id))
      yield* World.publish("relayer.updated", World.relayer(sound.id))
      yield* World.attempted(sound.id, 1)
      const log = yield* World.attempted(broken.id, 1)
      assert.deepStrictEqual(World.outcomes(log), [["pending", "error"]])
      yield* World.publish("relayer.updated", World.relayer(sound.id))
      yield* World.attempted(sound.id, 1, 1)
      assert.strictEqual(receiver.seen.length, 2)
    }).pipe(Effect.provide(World.layer()))
  )

  it.effect("is deleted with its deliveries and keys, even while a delivery is being sent", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make
      receiver.answer = () => "hang"
      const notifications = yield* Notifications
      const sql = yield* SqlClient.SqlClient
      const { id } = yield* World.create(receiver.url)
      yield* notifications.update(id, { signing_key: Redacted.make("x".repeat(32)) })
      yield* World.publish("relayer.updated", World.relayer(id))
      yield* receiver.arrived(1)
      yield* notifications.delete(id)
      receiver.letGo()
      const other = yield* World.create(receiver.url)
      receiver.answer = () => undefined
      yield* World.publish("relayer.updated", World.relayer(other.id))
      yield* World.attempted(other.id, 1)
      yield* passUntil(Effect.map(sql`SELECT 1 FROM deliveries`, (rows) => rows.length === 1))
    }).pipe(Effect.provide(World.layer()))
  )
})
