// Transactions on a real node, from acceptance to their end. Anvil makes blocks by the clock of the machine.
import { attemptNonceOf, nonceOf } from "../../../src/networks/evm/rules/Evm.ts"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as Anvil from "../../../testkit/Anvil.ts"
import * as EvmProxy from "../../../testkit/EvmProxy.ts"
import { accept, api, becomes, read, receiver, relayerAt } from "./fixtures.ts"
import { until } from "../../../testkit/process/Folder.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

/** No other test pays to it. */
const laggingReceiver = `0x${"ce".repeat(20)}` as const

layer(api, { excludeTestServices: true, concurrent: true })("a lane on anvil", (it) => {
  it.effect("sends a transaction and confirms it", () =>
    Effect.gen(function* () {
      const node = yield* Anvil.start({ blockTime: 1 })
      const account = yield* relayerAt(node)
      const [id] = yield* accept(account)
      const { nonce, mined } = yield* becomes(id, "confirmed")
      assert.strictEqual(nonce, 0)
      assert.isTrue(mined?.receipt.isSuccess)
    })
  )

  it.effect("confirms what the API has accepted, and the API shows it", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const node = yield* Anvil.start({ blockTime: 1 })
      const { relayerId } = yield* relayerAt(node)
      const path = `/api/v1/relayers/${relayerId}/transactions`
      const sent = yield* api.call(path, { body: { to: receiver, value: 5, speed: "fast" } })
      assert.strictEqual(sent.status, 200, sent.text)
      const { id } = sent.json.data as { readonly id: string }
      const shown = Effect.map(api.call(`${path}/${id}`), ({ json }) => json.data as { readonly status: string })
      yield* until(
        "confirmed",
        Effect.map(shown, ({ status }) => (status === "confirmed" ? true : undefined))
      )
      assert.strictEqual(yield* node.call("eth_getBalance", [receiver, "latest"]), "0x5")
    })
  )

  it.effect("sends legacy transactions, creations and calls that are estimated", () =>
    Effect.gen(function* () {
      const node = yield* Anvil.start({ blockTime: 1 })
      const account = yield* relayerAt(node, { policies: { eip1559_pricing: false } })
      const creation = { value: 0n, data: "0x600a600c600039600a6000f3602a60005260206000f3" }
      const [created] = yield* accept(account, 1, { request: creation })
      const [transfer] = yield* accept(account, 1, { request: { to: receiver, value: 7n } })
      const { mined, attempts } = yield* becomes(created, "confirmed")
      assert.match(mined?.receipt.details.contractAddress ?? "", /^0x[0-9a-f]{40}$/)
      assert.strictEqual(attempts[0]?.offer.fees.type, "legacy")
      assert.strictEqual((yield* becomes(transfer, "confirmed")).attempts[0]?.offer.gasLimit, 21_000n)
    })
  )

  it.effect("sends a hundred transactions in the order of their acceptance", () =>
    Effect.gen(function* () {
      const node = yield* Anvil.start({ blockTime: 1 })
      const account = yield* relayerAt(node)
      const ids = yield* accept(account, 100)
      const done = yield* Effect.forEach(ids, (id) => becomes(id, "confirmed"))
      assert.deepStrictEqual(
        done.map(({ nonce }) => nonce),
        ids.map((_, index) => index)
      )
      assert.strictEqual(yield* node.call("eth_getTransactionCount", [account.address, "latest"]), "0x64")
    })
  )

  it.effect("confirms twelve transfers, each once, through indexes that lag by one to eight blocks at random", () =>
    Effect.gen(function* () {
      const node = yield* Anvil.start({ blockTime: 1 })
      const one = yield* EvmProxy.make(node.url)
      const other = yield* EvmProxy.make(node.url)
      let asked = 0
      for (const proxy of [one, other]) proxy.lagIndex(() => 1 + ((asked++ * 5) % 8))
      const account = yield* relayerAt(node, { urls: [one.url, other.url] })
      const ids = yield* accept(account, 12, { request: { to: laggingReceiver, value: 3n, gas_limit: 21_000n } })
      const done = yield* Effect.forEach(ids, (id) => becomes(id, "confirmed"))
      assert.deepStrictEqual(
        done.map(({ requeues }) => requeues),
        ids.map(() => 0)
      )
      assert.strictEqual(yield* node.call("eth_getBalance", [laggingReceiver, "latest"]), "0x24")
      assert.strictEqual(yield* node.call("eth_getTransactionCount", [account.address, "latest"]), "0xc")
    })
  )

  it.effect("fails a call that reverts before it gets a nonce", () =>
    Effect.gen(function* () {
      const node = yield* Anvil.start({ blockTime: 1 })
      const account = yield* relayerAt(node)
      yield* node.call("anvil_setCode", [receiver, "0x60006000fd"])
      const [id] = yield* accept(account, 1, { request: { to: receiver, value: 0n } })
      const { nonce, attempts } = yield* becomes(id, "failed", "would_revert")
      assert.isUndefined(nonce)
      assert.lengthOf(attempts, 0)
      const [blind] = yield* accept(account, 1, { request: { to: receiver, value: 0n, gas_limit: 50_000n } })
      assert.isFalse((yield* becomes(blind, "failed", "reverted")).mined?.receipt.isSuccess)
    })
  )

  it.effect("waits for funds, and goes on when they come", () =>
    Effect.gen(function* () {
      const node = yield* Anvil.start({ blockTime: 1 })
      const account = yield* relayerAt(node, { funds: 1000n })
      const [id] = yield* accept(account)
      yield* becomes(id, "pending", "insufficient_funds")
      yield* node.call("anvil_setBalance", [account.address, "0xde0b6b3a7640000"])
      yield* becomes(id, "confirmed")
    })
  )

  it.effect("ends what has passed its deadline, before a nonce and after it", () =>
    Effect.gen(function* () {
      const node = yield* Anvil.start({ more: ["--no-mining"] })
      const account = yield* relayerAt(node)
      const [sent] = yield* accept(account, 1, { validUntil: Date.now() + 3000 })
      yield* becomes(sent, "submitted")
      const noop = yield* until(
        "no-op",
        Effect.map(read(sent), ({ attempts }) =>
          attempts.find(({ kind, outcome }) => kind === "noop" && outcome === "accepted")
        )
      )
      assert.strictEqual(attemptNonceOf(noop), 0)
      yield* node.call("anvil_mine", ["0x3"])
      yield* becomes(sent, "expired", "deadline_passed")
      const poor = yield* relayerAt(node, { funds: 1000n })
      const [pending] = yield* accept(poor, 1, { validUntil: Date.now() + 3000 })
      assert.isUndefined(nonceOf(yield* becomes(pending, "expired")))
    })
  )

  it.effect("sends again what a reorganisation has dropped", () =>
    Effect.gen(function* () {
      const node = yield* Anvil.start({ more: ["--no-mining"] })
      const account = yield* relayerAt(node, { network: { required_confirmations: 3 } })
      yield* node.call("anvil_mine", ["0x5"])
      const [id] = yield* accept(account)
      yield* becomes(id, "submitted")
      yield* node.call("anvil_mine", ["0x1"])
      yield* becomes(id, "mined")
      yield* node.call("anvil_reorg", [2, []])
      yield* node.call("evm_setIntervalMining", [1])
      const { mined } = yield* becomes(id, "confirmed")
      assert.isTrue(mined?.receipt.isSuccess)
      assert.strictEqual(yield* node.call("eth_getTransactionCount", [account.address, "latest"]), "0x1")
    })
  )

  it.effect("does not believe that a transaction of another key has used a nonce", () =>
    Effect.gen(function* () {
      const node = yield* Anvil.start({ more: ["--no-mining"] })
      const account = yield* relayerAt(node)
      const [id] = yield* accept(account)
      yield* becomes(id, "submitted")
      yield* node.call("anvil_dropAllTransactions", [])
      yield* node.call("anvil_impersonateAccount", [account.address])
      yield* node.call("anvil_setNextBlockBaseFeePerGas", ["0x0"])
      yield* node.call("eth_sendTransaction", [{ from: account.address, to: receiver, value: "0x63", nonce: "0x0" }])
      yield* node.call("anvil_mine", ["0x4"])
      const found = yield* until(
        "another nonce or a question",
        Effect.map(read(id), (one) =>
          nonceOf(one) !== 0 || one.cause?.code === "nonce_taken_unproven" ? one : undefined
        )
      )
      // The signature of an impersonated account is not one of its key: such a transaction proves nothing.
      assert.strictEqual(found.cause?.code, "nonce_taken_unproven")
    })
  )
})

layer(api, { excludeTestServices: true })("a lane on anvil in Tempo mode", (it) => {
  it.effect(
    "fails a value, which the chain forbids, alone, and names the node that drops what the account cannot pay",
    () =>
      Effect.gen(function* () {
        const node = yield* Anvil.start({ blockTime: 1, more: ["--network", "tempo"] })
        const account = yield* relayerAt(node)
        const [value] = yield* accept(account, 1, { request: { to: receiver, value: 1n } })
        // The account has no token for its fees: the node answers with a hash, and the transaction is gone.
        const [id] = yield* accept(account, 1, { request: { to: receiver, value: 0n, gas_limit: 100_000n } })
        const { cause } = yield* becomes(value, "failed")
        assert.strictEqual(cause?.code, "would_revert")
        assert.include(cause?.figures.revert_reason, "value transfer not allowed")
        const { attempts } = yield* becomes(id, "submitted", "dropped_by_node")
        assert.lengthOf(attempts, 1)
      })
  )
})
