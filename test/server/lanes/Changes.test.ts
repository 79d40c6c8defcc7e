// What callers, prices and a second provider change about transactions that are on their way. Anvil makes blocks by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import * as Anvil from "../../../testkit/Anvil.ts"
import * as EvmProxy from "../../../testkit/EvmProxy.ts"
import { until } from "../../../testkit/process/Folder.ts"
import { accept, api, becomes, read, receiver, relayerAt } from "./fixtures.ts"

const noMining = { more: ["--no-mining"] }

layer(api, { excludeTestServices: true })("a transaction on its way", (it) => {
  it.effect("is canceled by a no-op that replaces it", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const node = yield* Anvil.start(noMining)
      const account = yield* relayerAt(node)
      const [id] = yield* accept(account)
      yield* becomes(id, "submitted")
      yield* ledger.cancel(account.relayerNumber, id)
      const attempts = yield* until(
        "the no-op",
        Effect.map(read(id), ({ attempts }) =>
          attempts.at(-1)?.outcome === "accepted" && attempts.length > 1 ? attempts : undefined
        )
      )
      assert.strictEqual(attempts.at(-1)?.kind, "noop")
      yield* node.call("evm_setIntervalMining", [1])
      yield* becomes(id, "canceled")
      assert.strictEqual(yield* node.call("eth_getBalance", [receiver, "latest"]), "0x0")
    })
  )

  it.effect("is replaced by a newer version of its request", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const node = yield* Anvil.start(noMining)
      const account = yield* relayerAt(node)
      const [id] = yield* accept(account)
      yield* becomes(id, "submitted")
      yield* ledger.replace(account.relayerNumber, id, { to: receiver, value: 9n, gas_limit: 21_000n })
      yield* until(
        "the newer version",
        Effect.map(read(id), ({ attempts }) => attempts.find(({ kind }) => kind === "replace"))
      )
      yield* node.call("evm_setIntervalMining", [1])
      yield* becomes(id, "confirmed")
      assert.strictEqual(yield* node.call("eth_getBalance", [receiver, "latest"]), "0x9")
    })
  )

  it.effect("is not final before a second provider has its block", () =>
    Effect.gen(function* () {
      const node = yield* Anvil.start({ blockTime: 1 })
      const proxies = [yield* EvmProxy.make(node.url), yield* EvmProxy.make(node.url)] as const
      const account = yield* relayerAt(node, { urls: proxies.map(({ url }) => url) })
      // The lane asks either of the two first. The other one, which gives the second opinion, has another fork without the transaction.
      let first: (typeof proxies)[number] | undefined
      const isSecond = (proxy: (typeof proxies)[number]) => first !== undefined && proxy !== first
      for (const proxy of proxies) {
        proxy.set("eth_getTransactionReceipt", {
          do: "change",
          result: (receipt) => {
            first ??= proxy
            return isSecond(proxy) ? null : receipt
          }
        })
        proxy.set("eth_getBlockByNumber", {
          do: "change",
          result: (block, { params }) =>
            params[0] !== "0x0" && isSecond(proxy)
              ? { ...(block as object), hash: `0x${"33".repeat(32)}`, parentHash: `0x${"33".repeat(32)}` }
              : block
        })
      }
      const [id] = yield* accept(account)
      yield* becomes(id, "mined")
      const height = Number(yield* node.call("eth_blockNumber", []))
      yield* until(
        "blocks",
        Effect.map(node.call("eth_blockNumber", []), (now) => (Number(now) > height + 3 ? true : undefined))
      )
      assert.strictEqual((yield* read(id)).state, "mined")
      for (const proxy of proxies) proxy.clear()
      yield* becomes(id, "confirmed")
    })
  )

  it.effect("waits while the base fee is above the cap, and goes on when it falls", () =>
    Effect.gen(function* () {
      const node = yield* Anvil.start(noMining)
      const account = yield* relayerAt(node, { policies: { gas_price_cap: "2000000000" } })
      yield* node.call("anvil_setNextBlockBaseFeePerGas", ["0x174876e800"])
      yield* node.call("anvil_mine", ["0x1"])
      const [id] = yield* accept(account)
      yield* becomes(id, "pending", "gas_price_above_cap")
      yield* node.call("anvil_setNextBlockBaseFeePerGas", ["0x3b9aca00"])
      yield* node.call("anvil_mine", ["0x1"])
      yield* node.call("evm_setIntervalMining", [1])
      yield* becomes(id, "confirmed")
    })
  )
})
