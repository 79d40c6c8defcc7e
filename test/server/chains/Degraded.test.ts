// Inspections if some or all providers of a chain do not answer.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as EvmRpc from "../../../testkit/EvmRpc.ts"
import * as RpcServer from "../../../testkit/RpcServer.ts"
import { evm, make, urls } from "./fixtures.ts"

describe("providers", () => {
  it.effect("still give all numbers if one of them is dead", () =>
    Effect.gen(function* () {
      const server = yield* EvmRpc.make()
      const dead = yield* RpcServer.dead
      const { chains } = yield* make()
      const inspect = chains.inspect({ ...evm(), urls: urls(dead, server.url) })
      for (const breaker of ["closed", "closed", "open", "open"] as const) {
        const reading = yield* inspect
        assert.deepInclude(reading, { nonce: 7n, balance: 10n ** 18n, failures: [] })
        assert.deepInclude(reading.providers[0], { failed: true, breaker })
        assert.deepInclude(reading.providers[1], { failed: false, breaker: "closed" })
      }
    })
  )

  it.effect("that are all dead, have no weight, or do not exist are unreachable", () =>
    Effect.gen(function* () {
      const server = yield* EvmRpc.make()
      const { chains } = yield* make()
      for (const given of [
        urls(yield* RpcServer.dead, yield* RpcServer.dead),
        urls({ url: server.url, weight: 0 }),
        []
      ]) {
        const reading = yield* chains.inspect({ ...evm(), urls: given })
        assert.deepStrictEqual(reading.failures, [{ type: "RpcValidationFailed", code: "unreachable" }])
        assert.lengthOf(reading.providers, given.length)
      }
      assert.strictEqual(server.count(), 0)
    })
  )

  it.effect("with internal addresses are refused and not called", () =>
    Effect.gen(function* () {
      const server = yield* EvmRpc.make()
      const { chains } = yield* make({ allow: "10.0.0.1" })
      const reading = yield* chains.inspect({ ...evm(), urls: urls(server.url) })
      assert.deepStrictEqual(reading.failures, [{ type: "RpcValidationFailed", code: "refused" }])
      assert.strictEqual(server.count(), 0)
    })
  )
})
