// The deliveries of an instance that drains or stops.
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { commitSignalOf, CommitSignals, Draining } from "../../../../src/server/lifecycle/Lifecycle.ts"
import * as QueueRepo from "../../../../src/server/notifications/delivery/QueueRepo.ts"
import * as Receiver from "../../../../testkit/Receiver.ts"
import * as TestDatabase from "../../../../testkit/TestDatabase.ts"
import * as World from "./World.ts"

const all = { free: 1000, perReceiver: 1000, busy: new Map<string, number>() }

/** Lets the event loop run, because connections are real. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

describe("an instance that stops", () => {
  const stopped = Effect.fnUntraced(function* (during: (receiver: Receiver.Receiver) => Effect.Effect<void>) {
    const receiver = yield* Receiver.make
    receiver.answer = () => "hang"
    const scope = yield* Scope.make()
    const database = yield* Effect.service(SqlClient.SqlClient)
    const connected = Layer.succeed(SqlClient.SqlClient, database)
    const services = yield* Layer.build(Layer.fresh(Layer.provideMerge(World.instance({ job: false }), connected)))
    return yield* Effect.gen(function* () {
      const sender = yield* Layer.buildWithScope(Layer.fresh(Layer.provide(World.instance(), connected)), scope)
      const { id } = yield* World.create(receiver.url)
      yield* World.publish("relayer.updated", World.relayer(id))
      yield* Context.get(sender, CommitSignals).get("deliveries").now
      yield* receiver.arrived(1)
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* during(receiver)
      yield* Effect.forkChild(Effect.forever(Effect.andThen(Effect.yieldNow, TestClock.adjust("10 millis"))))
      yield* Fiber.join(closing)
      const repo = yield* QueueRepo.make
      return { log: yield* World.log(id), claimable: yield* repo.claim(all) }
    }).pipe(Effect.provideContext(services), Effect.provideService(SqlClient.SqlClient, database))
  })

  it.effect("waits for a response that arrives soon", () =>
    Effect.gen(function* () {
      const { log, claimable } = yield* stopped((receiver) => Effect.sync(() => receiver.letGo()))
      assert.deepStrictEqual(World.outcomes(log), [["delivered", "delivered"]])
      assert.isEmpty(claimable)
    }).pipe(Effect.provide(TestDatabase.layer), Effect.scoped)
  )

  it.effect("releases deliveries without a response to other instances at once", () =>
    Effect.gen(function* () {
      const { log, claimable } = yield* stopped(() => Effect.void)
      assert.deepStrictEqual(World.outcomes(log), [["pending"]])
      assert.deepStrictEqual(
        claimable.map(({ id }) => id),
        log.map(({ id }) => id)
      )
    }).pipe(Effect.provide(TestDatabase.layer), Effect.scoped)
  )
})

describe("an instance that drains", () => {
  it.effect("claims no delivery", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make
      const { id } = yield* World.create(receiver.url)
      yield* World.publish("relayer.updated", World.relayer(id))
      yield* World.attempted(id, 1)
      const due = yield* commitSignalOf("deliveries")
      // A round without a claim uses no connection, so several rounds fit into each turn of the event loop.
      const rounds = Effect.repeat(Effect.andThen(due.now, Effect.promise(turn)), { times: 20 })
      yield* (yield* Draining).begin
      yield* rounds
      yield* World.publish("relayer.paused", World.relayer(id))
      yield* rounds
      const { log, claimable } = yield* Effect.gen(function* () {
        const repo = yield* QueueRepo.make
        return { log: yield* World.log(id), claimable: yield* repo.claim(all) }
      })
      assert.deepStrictEqual(World.outcomes(log), [["pending"], ["delivered", "delivered"]])
      assert.lengthOf(claimable, 1)
    }).pipe(Effect.provide(World.layer()))
  )
})
