// The examples that call the services run on the test kit, without a database and a node.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Redacted } from "effect"
import * as SendServices from "../../../examples/send-services.ts"
import * as WithoutHttp from "../../../examples/without-http.ts"
import { TestChain, TestRelayer } from "../../../src/testkit/index.ts"
import * as Programs from "./Programs.ts"

/** The examples name a built-in network, which the kit does not have: its only one gets the name. */
const kit = TestRelayer.layer({
  network: TestChain.evm({ name: "sepolia", blockTime: "1 second", confirmations: 1 })
})

describe("the examples on the test kit", () => {
  it.effect("examples/send-services.ts sends one wei, and ends when it is confirmed", () =>
    Effect.gen(function* () {
      const chain = yield* TestChain
      const given = { rpcUrl: "https://ignored.example", chainId: 31_337, key: Redacted.make(Programs.key) }
      const { to } = Programs.payment
      const running = yield* Effect.forkChild(SendServices.program({ ...given, to }))
      const hasEnded = Effect.sync(() => running.pollUnsafe() !== undefined)
      yield* chain.mineUntil("the program has ended", hasEnded)
      assert.strictEqual((yield* Fiber.join(running)).status, "confirmed")
      assert.strictEqual(yield* chain.payments({ to, value: 1n }), 1)
    }).pipe(Effect.provide(kit))
  )

  it.effect("examples/without-http.ts creates a relayer, and lists it", () =>
    Effect.gen(function* () {
      const { network, network_type } = yield* WithoutHttp.program
      assert.deepStrictEqual([network_type, network], ["evm", "sepolia"])
    }).pipe(Effect.provide(kit))
  )
})
