// The queue of keystores that are decrypted.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { CurrentCaller } from "../../../src/domain/access/Caller.ts"
import * as LocalKey from "../../../src/server/signers/backends/LocalKey.ts"

const { maxOfCaller, maxQueued } = LocalKey

const setUp = () => {
  const queue = LocalKey.makeKeystoreQueue()
  const as = (id: string) => Effect.provideService(CurrentCaller, { id, scopes: ["signers:write"] })
  const wait = (id: string) => Effect.forkChild(as(id)(queue.run(Effect.never)), { startImmediately: true })
  const refused = (id: string) => Effect.map(Effect.flip(as(id)(queue.run(Effect.void))), ({ _tag }) => _tag)
  return { queue, as, wait, refused }
}

describe("the queue of keystores", () => {
  it.effect("has room for a few of each caller", () =>
    Effect.gen(function* () {
      const { queue, as, wait, refused } = setUp()
      for (let n = 0; n < maxOfCaller; n++) yield* wait("a")
      assert.strictEqual(yield* refused("a"), "ServiceUnavailable")
      assert.strictEqual(yield* as("b")(queue.run(Effect.succeed("opened"))), "opened")
    })
  )

  it.effect("is short for callers, and not for the administrator and programs", () =>
    Effect.gen(function* () {
      const { queue, wait, refused } = setUp()
      for (let n = 0; n < maxQueued; n++) yield* wait(`caller-${n}`)
      assert.strictEqual(yield* refused("another"), "ServiceUnavailable")
      assert.strictEqual(yield* queue.run(Effect.succeed("opened")), "opened")
      const asAdministrator = Effect.provideService(CurrentCaller, { id: "administrator" })
      assert.strictEqual(yield* asAdministrator(queue.run(Effect.succeed("opened"))), "opened")
    })
  )

  it.effect("has room again when work fails or is interrupted", () =>
    Effect.gen(function* () {
      const { queue, as, wait, refused } = setUp()
      for (let n = 0; n < maxOfCaller; n++)
        assert.strictEqual(yield* Effect.flip(as("a")(queue.run(Effect.fail("no")))), "no")
      const waiting = yield* Effect.forEach(Array.from({ length: maxOfCaller }), () => wait("a"))
      assert.strictEqual(yield* refused("a"), "ServiceUnavailable")
      yield* Fiber.interruptAll(waiting)
      assert.strictEqual(yield* as("a")(queue.run(Effect.succeed("opened"))), "opened")
    })
  )
})
