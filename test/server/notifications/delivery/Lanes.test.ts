// Deliveries keep the order of their relayer, and no receiver holds up another.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Receiver from "../../../../testkit/Receiver.ts"
import * as World from "./World.ts"

describe("deliveries of a relayer", () => {
  it.effect("arrive in order: while one fails, later ones wait, and those of other relayers do not", () =>
    Effect.gen(function* () {
      const receiver = yield* Receiver.make
      let isBroken = true
      receiver.answer = ({ json }) =>
        isBroken && json.payload.relayer?.id === "relayer-1" ? { status: 500 } : undefined
      const { id } = yield* World.create(receiver.url)
      for (let n = 1; n <= 5; n++) {
        for (const name of ["relayer-1", "relayer-2"]) {
          yield* World.publish("relayer.updated", World.relayer(id, name, { name: `${n}` }))
        }
      }
      const names = (id: string) =>
        receiver.seen
          .filter(({ json }) => json.payload.relayer?.id === id)
          .map(({ json }) => json.payload.relayer?.name)
      yield* World.until(
        Effect.map(World.log(id), (log) => log.filter(({ state }) => state === "delivered").length === 5)
      )
      assert.deepStrictEqual(names("relayer-2"), ["1", "2", "3", "4", "5"])
      yield* World.attempted(id, 1)
      assert.deepStrictEqual(names("relayer-1"), ["1"])
      isBroken = false
      yield* World.pass("1 minute")
      yield* World.until(Effect.map(World.log(id), (log) => log.every(({ state }) => state === "delivered")))
      assert.deepStrictEqual(names("relayer-1"), ["1", "1", "2", "3", "4", "5"])
    }).pipe(Effect.provide(World.layer()))
  )

  it.effect("a slow receiver gets sixteen concurrent deliveries and does not delay other receivers", () =>
    Effect.gen(function* () {
      const slow = yield* Receiver.make
      slow.answer = () => "hang"
      const fast = yield* Receiver.make
      const slowId = (yield* World.create(slow.url)).id
      const fastId = (yield* World.create(fast.url)).id
      for (let n = 1; n <= 100; n++) yield* World.publish("relayer.updated", World.relayer(slowId, `slow-${n}`))
      yield* slow.arrived(16)
      for (let n = 1; n <= 100; n++) yield* World.publish("relayer.updated", World.relayer(fastId, `fast-${n}`))
      yield* fast.arrived(100)
      assert.strictEqual(new Set(fast.seen.map(Receiver.webhookId)).size, 100)
      assert.strictEqual(slow.seen.length, 16)
      slow.answer = () => undefined
      slow.letGo()
      yield* slow.arrived(100)
      assert.isAtMost(slow.mostAtOnce(), 16)
      assert.isAtMost(fast.mostAtOnce(), 16)
      assert.strictEqual(new Set(slow.seen.map(Receiver.webhookId)).size, 100)
    }).pipe(Effect.provide(World.layer()))
  )
})
