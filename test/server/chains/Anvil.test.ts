// Inspections of accounts on a real EVM node.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Anvil from "../../../testkit/Anvil.ts"
import { freePort } from "../../../testkit/process/Ports.ts"
import { evm, make, urls } from "./fixtures.ts"

const other = `0x${"cd".repeat(20)}`

describe("anvil", () => {
  it.effect("provides nonce and balance of an account until it stops", () =>
    Effect.gen(function* () {
      const anvil = yield* Anvil.start({ port: yield* freePort })
      const { chains } = yield* make()
      const inspect = (address: string, min_balance = "1") =>
        chains.inspect({ ...evm({ address, chain_id: 31337, policies: { min_balance } }), urls: urls(anvil.url) })
      const healthy = { url: anvil.url, weight: 100, breaker: "closed", failed: false, latency_ms: 0 } as const

      assert.deepStrictEqual(yield* inspect(Anvil.funded), {
        network_type: "evm",
        nonce: 0n,
        balance: 10_000n * 10n ** 18n,
        failures: [],
        providers: [healthy]
      })

      yield* anvil.call("eth_sendTransaction", [{ from: Anvil.funded, to: other, value: "0x7" }])
      assert.deepInclude(yield* inspect(Anvil.funded), { nonce: 1n, failures: [] })
      assert.deepInclude(yield* inspect(other, "7"), { nonce: 0n, balance: 7n, failures: [] })
      assert.deepInclude(yield* inspect(other, "8"), { failures: [{ type: "BalanceCheckFailed", code: "too_low" }] })

      yield* anvil.call("anvil_setBalance", [other, `0x${(2n ** 128n - 1n).toString(16)}`])
      assert.deepInclude(yield* inspect(other), { balance: 2n ** 128n - 1n, failures: [] })
      yield* anvil.call("anvil_setBalance", [other, `0x${(2n ** 200n).toString(16)}`])
      assert.deepInclude(yield* inspect(other), { balance: 2n ** 200n, failures: [] })

      yield* anvil.kill
      const gone = yield* inspect(other)
      assert.deepStrictEqual(gone.failures, [{ type: "RpcValidationFailed", code: "unreachable" }])
      assert.deepInclude(gone.providers[0], { failed: true, code: "unreachable" })
    })
  )

  it.effect("with another chain id is the wrong chain", () =>
    Effect.gen(function* () {
      const anvil = yield* Anvil.start({ chainId: 1337 })
      const { chains } = yield* make()
      const reading = yield* chains.inspect({
        ...evm({ address: Anvil.funded, chain_id: 31337 }),
        urls: urls(anvil.url)
      })
      assert.deepStrictEqual(reading.failures, [{ type: "ChainIdMismatch", code: "mismatch" }])
      assert.notProperty(reading, "balance")
    })
  )
})
