// Nodes that lose, lie and refuse, in front of a lane: nothing is lost, and nothing is executed twice.
// Anvil makes blocks by the clock of the machine.
import { nonceOf } from "../../../src/networks/evm/rules/Evm.ts"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as Anvil from "../../../testkit/Anvil.ts"
import * as EvmProxy from "../../../testkit/EvmProxy.ts"
import type { Behaviour } from "../../../testkit/EvmProxy.ts"
import { accept, api, becomes, read, relayerAt } from "./fixtures.ts"

const send = "eth_sendRawTransaction"

const scenes: ReadonlyArray<readonly [name: string, method: string, behaviour: Behaviour, times: number]> = [
  ["forwards a transaction but drops the answer", send, { do: "silence" }, 1],
  ["drops a transaction", send, { do: "drop" }, 2],
  ["swallows a transaction", send, { do: "lie", result: () => `0x${"11".repeat(32)}` }, 1],
  ["says that a fresh nonce is too low", send, { do: "refuse", message: "nonce too low" }, 1],
  ["refuses with a text that nobody knows", send, { do: "refuse", message: "what is this" }, 2],
  ["has a full pool", send, { do: "refuse", message: "txpool is full" }, 1],
  ["calls a price too low", send, { do: "refuse", message: "transaction underpriced" }, 1],
  ["has too many requests", "*", { do: "status", status: 429 }, 5],
  ["is away for some calls", "*", { do: "drop" }, 6],
  ["knows no batches and no fee history", "eth_feeHistory", { do: "refuse", code: -32601, message: "unknown" }, 99],
  ["hides receipts for a while", "eth_getTransactionReceipt", { do: "lie", result: () => null }, 3],
  ["lags behind with its count", "eth_getTransactionCount", { do: "lie", result: () => "0x0" }, 6]
]

layer(api, { excludeTestServices: true, concurrent: true })("a node that", (it) => {
  it.effect.each(scenes)("%s", ([, method, behaviour, times]) =>
    Effect.gen(function* () {
      const node = yield* Anvil.start({ blockTime: 1 })
      const proxy = yield* EvmProxy.make(node.url)
      const account = yield* relayerAt(node, { urls: [proxy.url] })
      proxy.set(method, behaviour, times)
      const ids = yield* accept(account, 3)
      for (const id of ids) assert.isDefined((yield* becomes(id, "confirmed")).mined)
      assert.strictEqual(yield* node.call("eth_getTransactionCount", [account.address, "latest"]), "0x3")
    })
  )

  it.effect("refuses the 17th pending transaction of an account gets all of them in time", () =>
    Effect.gen(function* () {
      const node = yield* Anvil.start({ blockTime: 1 })
      const proxy = yield* EvmProxy.make(node.url)
      const account = yield* relayerAt(node, { urls: [proxy.url] })
      proxy.set(send, { do: "limit", pending: 16, message: "txpool is full" })
      for (const id of yield* accept(account, 40)) yield* becomes(id, "confirmed")
      assert.strictEqual(yield* node.call("eth_getTransactionCount", [account.address, "latest"]), "0x28")
    })
  )

  it.effect("refuses a transaction for ever lets a no-op use its nonce", () =>
    Effect.gen(function* () {
      const node = yield* Anvil.start({ blockTime: 1 })
      const proxy = yield* EvmProxy.make(node.url)
      const account = yield* relayerAt(node, { urls: [proxy.url] })
      proxy.set(send, { do: "refuse", message: "oversized data" }, 1)
      const [id] = yield* accept(account)
      const { attempts } = yield* becomes(id, "failed", "refused_by_all")
      assert.deepStrictEqual(
        attempts.map(({ kind }) => kind),
        ["original", "noop"]
      )
      const [next] = yield* accept(account)
      assert.strictEqual(nonceOf(yield* becomes(next, "confirmed")), 1)
    })
  )

  it.effect("begins its chain anew gets nothing more of the lane", () =>
    Effect.gen(function* () {
      const node = yield* Anvil.start({ more: ["--no-mining"] })
      const proxy = yield* EvmProxy.make(node.url)
      const account = yield* relayerAt(node, { urls: [proxy.url] })
      yield* node.call("anvil_mine", ["0x5"])
      const [id] = yield* accept(account)
      yield* becomes(id, "submitted")
      proxy.set("eth_getBlockByNumber", {
        do: "change",
        result: (block) => ({ ...(block as object), number: "0x0", hash: `0x${"22".repeat(32)}` })
      })
      yield* becomes(id, "submitted", "chain_changed")
      const sends = proxy.count(send)
      const [other] = yield* accept(account)
      yield* becomes(other, "pending", "chain_changed")
      assert.strictEqual(proxy.count(send), sends)
      assert.lengthOf((yield* read(other)).attempts, 0)
    })
  )

  it.effect("is asked nothing about an idle relayer, and not for its chain again by the next transaction", () =>
    Effect.gen(function* () {
      const node = yield* Anvil.start({ blockTime: 1 })
      const proxy = yield* EvmProxy.make(node.url)
      const account = yield* relayerAt(node, { urls: [proxy.url] })
      const [id] = yield* accept(account)
      yield* becomes(id, "confirmed")
      const before = proxy.seen.length
      // The lane is held for 12 seconds after the first one.
      const [next] = yield* accept(account)
      yield* becomes(next, "confirmed")
      const since = proxy.seen.slice(before).map(({ method }) => method)
      assert.notInclude(since, "eth_chainId")
      const asked = proxy.seen.length
      // Seconds pass until this one is confirmed.
      const [other] = yield* accept(yield* relayerAt(node))
      yield* becomes(other, "confirmed")
      assert.strictEqual(proxy.seen.length, asked)
    })
  )
})
