// Every operation of transactions with the typed client. The network has no chain: what is sent stays pending.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { ApiClient } from "../../src/client/ApiClient.ts"
import { isOfNetwork } from "../../src/client/Networks.ts"
import { NetworkId } from "../../src/domain/network/Network.ts"
import { RelayerId } from "../../src/domain/relayer/Relayer.ts"
import type { TransactionId } from "../../src/networks/core/TransactionValues.ts"
import { layerEach } from "../../testkit/layerEach.ts"
import * as TestApi from "../../testkit/TestApi.ts"
import { asTimePasses } from "../server/events/LiveApi.ts"
import { prepare, receiver as to } from "../server/transactions/Fixtures.ts"

const sender = { relayer_id: RelayerId.make("sender") }

/** A prepared relayer, and the client. */
const client = Effect.andThen(prepare(), ApiClient)

const paramsOf = (transaction_id: TransactionId) => ({ ...sender, transaction_id })

layerEach(TestApi.layer())("the typed client", (it) => {
  it.effect("sends, reads, explains, replaces and cancels transactions, with amounts as bigint", () =>
    Effect.gen(function* () {
      const { transactions } = yield* client
      const value = 2n ** 200n + 1n
      const { data: sent } = yield* transactions.send({
        params: sender,
        payload: { to, value, external_id: "order-1" }
      })
      assert.deepInclude(sent, { status: "pending", value, external_id: "order-1" })
      const params = paramsOf(sent.id)
      assert.deepStrictEqual((yield* transactions.get({ params, query: {} })).data, sent)
      assert.strictEqual((yield* transactions.explain({ params })).data.code, "queued")
      const replaced = yield* transactions.replace({ params, payload: { to, value: 1n, wait_for_funds: true } })
      assert.deepInclude(replaced.data, { network_type: "evm", value: 1n })
      assert.strictEqual(
        (yield* transactions.cancel({ params, query: { only_pending: true } })).data.status,
        "canceled"
      )
      assert.strictEqual((yield* Effect.flip(transactions.cancel({ params, query: {} })))._tag, "TransactionConflict")
      const byNonce = transactions.byNonce({ params: { ...sender, nonce: 7 } })
      assert.strictEqual((yield* Effect.flip(byNonce))._tag, "TransactionNotFound")
    })
  )

  it.effect("reads what all networks share at once, and the fields of evm behind the name of the network type", () =>
    Effect.gen(function* () {
      const { transactions } = yield* client
      const { data: sent } = yield* transactions.send({
        params: sender,
        payload: { to, value: 1n, gas_limit: 21_000n }
      })
      const { data } = yield* transactions.get({ params: paramsOf(sent.id), query: {} })
      const { relayer_id, status, code, is_canceled, external_id } = data
      assert.deepStrictEqual(
        { relayer_id, status, code, is_canceled, external_id },
        { ...sender, status: "pending", code: "queued", is_canceled: false, external_id: undefined }
      )
      assert.isFalse(isOfNetwork("solana", data) || isOfNetwork("stellar", data))
      if (!isOfNetwork("evm", data)) return assert.fail("the response does not name its network type")
      // Types, not values: this does not compile if a field is missing or has another type.
      const amounts: ReadonlyArray<bigint | undefined> = [
        data.value,
        data.max_fee_per_gas,
        data.gas_used,
        data.gas_price
      ]
      const numbers: ReadonlyArray<number | undefined> = [data.gas_limit, data.nonce, data.block_number]
      const texts: ReadonlyArray<string | undefined> = [
        data.from,
        data.to,
        data.hash,
        data.block_hash,
        data.attempts?.[0]?.hash
      ]
      assert.deepStrictEqual(amounts, [1n, undefined, undefined, undefined])
      assert.deepStrictEqual(numbers, [21_000, undefined, undefined])
      assert.strictEqual(texts[1], to)
    })
  )

  it.effect("sends privately if there is a private RPC URL, makes public, and gets each refusal as its own error", () =>
    Effect.gen(function* () {
      const { networks, transactions } = yield* client
      const send = transactions.send({ params: sender, payload: { to, value: 1n, gas_limit: 21_000n, private: true } })
      const refused = yield* Effect.flip(send)
      assert.strictEqual(refused._tag, "TransactionConflict")
      const network = { params: { network_id: NetworkId.make("evm:nowhere") }, headers: {} }
      const urls = (url: string) =>
        networks.update({ ...network, payload: { private_rpc_urls: [{ url, weight: 100 }] } })
      assert.strictEqual((yield* Effect.flip(urls("https://a.example.com/?useMempool=true")))._tag, "BadRequest")
      yield* urls("https://private.example.com/key")
      const { data } = yield* send
      assert.deepInclude(data, { network_type: "evm", route: "private" })
      const params = paramsOf(data.id)
      const { data: published } = yield* transactions.changeRoute({ params, payload: { route: "public" } })
      assert.deepInclude(published, { network_type: "evm", route: "fell_back" })
      const ended = paramsOf((yield* send).data.id)
      yield* transactions.cancel({ params: ended, query: { only_pending: true } })
      const late = transactions.changeRoute({ params: ended, payload: { route: "public" } })
      assert.strictEqual((yield* Effect.flip(late))._tag, "TransactionConflict")
    })
  )

  it.effect("sends batches, lists by filters and by cursor, and cancels all", () =>
    Effect.gen(function* () {
      const { transactions, allTransactions } = yield* client
      const batch = { transactions: [1n, 2n, 3n].map((value) => ({ to, value })) }
      const { data } = yield* transactions.sendBatch({ params: sender, payload: batch })
      const ids = data.map(({ id }) => id)
      const query = { status: ["pending", "submitted"], per_page: 2 } as const
      const page = yield* transactions.list({ params: sender, query })
      assert.deepStrictEqual(
        page.data.map((one) => ("value" in one ? one.value : undefined)),
        [3n, 2n]
      )
      assert.deepInclude(page, { pagination: { current_page: 1, per_page: 2, total_items: 3 } })
      const all = yield* allTransactions.list({ query: { relayer_id: [sender.relayer_id] } })
      assert.sameMembers(
        all.data.map(({ id }) => id),
        ids
      )
      const canceled = yield* transactions.cancelPending({ params: sender })
      assert.sameMembers([...canceled.data.queued_for_cancellation_transaction_ids], ids)
    })
  )

  it.effect("signs, and gets the errors of a chain that does not answer", () =>
    Effect.gen(function* () {
      const { signing, nodeCalls, transactions } = yield* client
      const { data: signature } = yield* signing.sign({ params: sender, payload: { message: "hello" } })
      assert.include([27, 28], signature.v)
      const typed = { domain_separator: "11".repeat(32), hash_struct_message: "22".repeat(32) }
      assert.lengthOf((yield* signing.signTypedData({ params: sender, payload: typed })).data.sig, 130)
      const call = { jsonrpc: "2.0", id: 1, method: "eth_blockNumber", params: [] } as const
      assert.strictEqual(
        (yield* Effect.flip(asTimePasses(nodeCalls.rpc({ params: sender, payload: call }))))._tag,
        "BadGateway"
      )
      const simulated = transactions.simulate({ params: sender, payload: { to, value: 1n } })
      assert.strictEqual((yield* Effect.flip(asTimePasses(simulated)))._tag, "BadGateway")
    })
  )

  it.effect("reads and repairs nonces", () =>
    Effect.gen(function* () {
      const { nonces, transactions } = yield* client
      yield* transactions.send({ params: sender, payload: { to, value: 0n } })
      const read = yield* asTimePasses(nonces.get({ params: sender }))
      assert.deepInclude(read.data, { next_nonce: 0, pending: 1, in_flight: 0 })
      const resynced = yield* asTimePasses(nonces.resync({ params: sender, payload: {} }))
      assert.deepStrictEqual(resynced.data.transaction_ids, [])
      const cleared = yield* nonces.clear({ params: sender, payload: { from: 0, to: 1 } })
      assert.deepStrictEqual(cleared.data.transaction_ids, [])
      assert.strictEqual((yield* nonces.beginGeneration({ params: sender })).data.generation, 1)
    })
  )
})
