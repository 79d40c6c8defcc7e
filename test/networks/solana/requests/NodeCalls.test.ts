// `POST …/rpc` of solana relayers: methods that the service answers itself, and those that providers answer.
// The cluster makes blocks by the clock of the machine.
import { Effect } from "effect"
import { assert, layer } from "@effect/vitest"
import * as Tokens from "../../../../testkit/solana/Tokens.ts"
import { makeKey } from "../../../server/transactions/Fixtures.ts"
import type { Reply } from "../../evm/requests/wallet/fixtures.ts"
import { receiver, sol } from "../lane/World.ts"
import * as Paying from "./Paying.ts"
import { accountOf, mint, signedByUser, user, wanted } from "./Paying.ts"
import { api, memoOf, prebuilt, recent, relayerAt } from "./Relayers.ts"

interface Exchanged {
  readonly method: string
  readonly transaction: string
  readonly signature: string
  readonly id: string
}

const calling = Effect.fnUntraced(function* (policies: object = {}) {
  const relayer = yield* relayerAt(policies)
  const ask = (method: string, params?: unknown, key?: string) =>
    relayer.post(
      "/rpc",
      { jsonrpc: "2.0", id: 7, method, ...(params === undefined ? {} : { params }) },
      key === undefined ? {} : { key }
    )
  const reply = (method: string, params?: unknown) =>
    Effect.map(ask(method, params), ({ text }): Reply => JSON.parse(text))
  const resultOf = (method: string, params?: unknown) =>
    Effect.map(reply(method, params), ({ error, result }) => {
      assert.isUndefined(error, JSON.stringify(error))
      return result as Exchanged
    })
  const setNetwork = (body: object) => relayer.call(`/api/v1/networks/solana:${relayer.id}`, { method: "PATCH", body })
  return { ...relayer, ask, reply, resultOf, setNetwork }
})

layer(api, { excludeTestServices: true, concurrent: true })("JSON-RPC of a solana relayer", (it) => {
  it.effect("passes methods that read to a provider, with results of any form", () =>
    Effect.gen(function* () {
      const { address, reply } = yield* calling()
      assert.strictEqual((yield* reply("getHealth")).result, "ok")
      assert.isNumber((yield* reply("getSlot")).result)
      assert.deepInclude((yield* reply("getBalance", [address])).result, { value: Number(10n * sol) })
      assert.strictEqual((yield* reply("getAccountInfo", "text")).error?.code, -32_602)
    })
  )

  it.effect("passes only what rpc_methods of the network lists, if it has them", () =>
    Effect.gen(function* () {
      const { reply, setNetwork } = yield* calling()
      assert.strictEqual((yield* reply("sendTransaction", ["AQ=="])).error?.code, -32_601)
      assert.strictEqual((yield* setNetwork({ rpc_methods: ["getSlot"] })).status, 200)
      assert.isNumber((yield* reply("getSlot")).result)
      const { error } = yield* reply("getHealth")
      assert.strictEqual(error?.message, "the method getHealth is not in rpc_methods of the network")
    })
  )

  it.effect("estimates, builds, signs and sends for users who pay, and names the method in each result", () =>
    Effect.gen(function* () {
      const { address, becomes, cluster, resultOf } = yield* calling(Paying.policies)
      Paying.prepare(cluster, address)
      const request = { transaction: wanted("rpc"), fee_token: mint }
      const estimated: object = yield* resultOf("feeEstimate", request)
      assert.deepStrictEqual(estimated, { method: "feeEstimate", estimated_fee: "0.0015", conversion_rate: "150" })
      const built = yield* resultOf("prepareTransaction", [request])
      assert.deepInclude<object>(built, { method: "prepareTransaction", fee_in_spl: "1500", fee_token: mint })
      const sent = yield* resultOf("signAndSendTransaction", { transaction: signedByUser(built.transaction) })
      assert.strictEqual(sent.method, "signAndSendTransaction")
      const confirmed = yield* becomes(sent.id, "confirmed")
      assert.strictEqual(confirmed.signature, sent.signature)

      const other = yield* resultOf("prepareTransaction", { ...request, transaction: wanted("signed only") })
      const signed = yield* resultOf("signTransaction", { transaction: signedByUser(other.transaction) })
      assert.deepStrictEqual(Object.keys(signed).toSorted(), ["method", "signature", "transaction"])
    })
  )

  it.effect("builds a transfer of a user's tokens, whose fee is paid in the same token", () =>
    Effect.gen(function* () {
      const { address, becomes, cluster, reply, resultOf, send } = yield* calling(Paying.policies)
      Paying.prepare(cluster, address)
      const transfer = { amount: 5000, token: mint, source: user, destination: receiver }
      const missing = yield* reply("transferTransaction", transfer)
      assert.include(missing.error?.message ?? "", "would_fail")
      cluster.put({ [accountOf(receiver)]: Tokens.holding({ mint, owner: receiver, amount: 0n }) })
      cluster.produce(2)
      const built = yield* resultOf("transferTransaction", transfer)
      const { json } = yield* send({ transaction: signedByUser(built.transaction) })
      yield* becomes((json.data as Exchanged).id, "confirmed")
      const amounts = [user, receiver, address].map((wallet) => Tokens.amountOf(cluster.accountOf(accountOf(wallet))))
      assert.deepStrictEqual(amounts, [1_000_000n - 6500n, 5000n, 1500n])
    })
  )

  it.effect("lists tokens and features", () =>
    Effect.gen(function* () {
      const { resultOf } = yield* calling(Paying.policies)
      const listed: object = yield* resultOf("getSupportedTokens")
      const tokens = [{ mint, decimals: 6, conversion_slippage_percentage: 1 }]
      assert.deepStrictEqual(listed, { method: "getSupportedTokens", tokens })
      const enabled: object = yield* resultOf("getFeaturesEnabled", {})
      assert.deepStrictEqual(enabled, { method: "getFeaturesEnabled", features: ["gasless"] })
    })
  )

  it.effect("refuses what the endpoints refuse, and needs their scopes", () =>
    Effect.gen(function* () {
      const { address, ask, cluster, reply } = yield* calling()
      const transaction = prebuilt(address, recent(cluster), memoOf("scoped"))
      const invalid = yield* reply("signTransaction", { transaction: "AQ=" })
      assert.strictEqual(invalid.error?.code, -32_602)
      assert.include(invalid.error?.message ?? "", "transaction: Expected base64")
      const ofUser = prebuilt(user, recent(cluster), memoOf("estimated"))
      const estimate = yield* reply("feeEstimate", { transaction: ofUser, fee_token: mint })
      assert.include(estimate.error?.message ?? "", "fee_token")
      const caller = yield* makeKey(["rpc:call"])
      for (const method of ["signTransaction", "signAndSendTransaction"]) {
        assert.strictEqual((yield* ask(method, { transaction }, caller)).status, 403)
      }
      const sender = yield* makeKey(["rpc:call", "transactions:write"])
      assert.strictEqual((yield* ask("signAndSendTransaction", { transaction }, sender)).status, 200)
      assert.strictEqual((yield* ask("signTransaction", { transaction }, sender)).status, 403)
    })
  )

  it.effect("says that a transaction is accepted if it is not signed within ten seconds", () =>
    Effect.gen(function* () {
      const { address, cluster, get, node, reply } = yield* calling()
      const transaction = prebuilt(address, recent(cluster), memoOf("late"))
      node.isAway = true
      const { error } = yield* reply("signAndSendTransaction", { transaction })
      assert.strictEqual(error?.code, -32_006)
      const [id = ""] = /[0-9a-f-]{36}/.exec(error?.message ?? "") ?? []
      assert.deepStrictEqual(error?.data, { transaction_id: id })
      assert.strictEqual((yield* get(id)).status, "pending")
    })
  )

  it.effect("has a window of up to 1,000, which the network sets", () =>
    Effect.gen(function* () {
      const { setNetwork } = yield* calling()
      assert.strictEqual((yield* setNetwork({ transaction_window: 1000 })).status, 200)
      const { json, status } = yield* setNetwork({ transaction_window: 1001 })
      assert.strictEqual(status, 400)
      assert.include(json.error ?? "", "transaction_window")
    })
  )
})
