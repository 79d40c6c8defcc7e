// JSON-RPC calls and simulations beside private transactions: no URL that is not private gets a hash, bytes or a call of one.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { keccak256 } from "viem"
import { privateKeyToAccount } from "viem/accounts"
import * as RpcServer from "../../../../../testkit/RpcServer.ts"
import * as TestApi from "../../../../../testkit/TestApi.ts"
import { layerEach } from "../../../../../testkit/layerEach.ts"
import { dataOf, receiver, transactions } from "../../../../server/transactions/Fixtures.ts"
import { addressOf, rpc } from "./fixtures.ts"

const secretData = `0x${"5ec2e7ca11".repeat(4)}` as const

/** Any key: the service has not signed these bytes. */
const account = privateKeyToAccount(`0x${"07".repeat(32)}`)

const results: ReadonlyArray<readonly [method: string, result: unknown]> = [
  ["eth_chainId", "0x7a69"],
  ["eth_getBlockByNumber", { number: "0x10", hash: `0x${"1".repeat(64)}`, gasLimit: "0x1c9c380", timestamp: "0x1" }],
  ["eth_getBalance", "0xde0b6b3a7640000"],
  ["eth_getCode", "0x"],
  ["eth_feeHistory", { oldestBlock: "0x1", baseFeePerGas: ["0x1", "0x1"], gasUsedRatio: [0.5], reward: [["0x1"]] }],
  ["eth_call", "0x"],
  ["eth_createAccessList", { accessList: [], gasUsed: "0x5208" }],
  ["eth_estimateGas", "0xea60"],
  ["eth_simulateV1", []],
  ["debug_traceCall", {}],
  ["debug_traceTransaction", {}],
  ["eth_getRawTransactionByHash", "0x"],
  ["eth_sendRawTransaction", "0x"],
  ["eth_getTransactionCount", "0x0"],
  ["eth_getTransactionByHash", null],
  ["eth_getTransactionReceipt", null]
]

const server = Effect.map(RpcServer.make({}), (made) => {
  for (const [method, result] of results) made.results.set(method, () => result)
  return made
})

/** The relayer `sender` asks for private transactions, and `other` does not. */
const prepared = Effect.gen(function* () {
  const { call } = yield* TestApi.TestApi
  const normal = yield* server
  const secret = yield* server
  const create = Effect.fnUntraced(function* (path: string, body: object) {
    const { status, text } = yield* call(`/api/v1/${path}`, { body })
    assert.strictEqual(status, 201, text)
  })
  yield* create("networks", {
    name: "nowhere",
    network_type: "evm",
    chain_id: 31_337,
    required_confirmations: 1,
    average_blocktime_ms: 1000,
    symbol: "ETH",
    features: ["eip1559"],
    is_testnet: true,
    rpc_urls: [normal.url],
    private_rpc_urls: [secret.url],
    rpc_methods: results.map(([method]) => method)
  })
  yield* create("signers", { id: "hot", type: "plain", config: { key: "03".repeat(32) } })
  for (const [id, policies] of [
    ["sender", { private_transactions: true }],
    ["other", {}]
  ] as const) {
    const body = { id, name: id, network_type: "evm", network: "nowhere", signer_id: "hot", paused: false, policies }
    yield* create("relayers", body)
  }
  const asked = () => JSON.stringify(normal.seen).toLowerCase()
  return { normal, secret, asked }
})

/** A private transaction that was sent, as a lane would have stored it. */
const sentPrivately = Effect.gen(function* () {
  const { call } = yield* TestApi.TestApi
  const sql = yield* SqlClient.SqlClient
  const { id } = dataOf(
    yield* call("/api/v1/relayers/other/transactions", { body: { to: receiver, data: secretData, gas_limit: 60_000 } })
  )
  const fees = { maxFeePerGas: 2n, maxPriorityFeePerGas: 1n }
  const raw = yield* Effect.promise(() =>
    account.signTransaction({ chainId: 31_337, nonce: 0, to: receiver, data: secretData, gas: 60_000n, ...fees })
  )
  const hash = keccak256(raw)
  yield* sql`UPDATE transactions SET state = 'submitted', nonce = 0, route = 'private' WHERE id = ${id}::uuid`
  yield* sql`
    INSERT INTO attempts (
      transaction_id, ordinal, kind, request_version, hash, raw, nonce, offer, epoch, signed_at, sends, first_sent_at,
      first_sent_block, last_sent_at, outcome
    )
    VALUES (${id}::uuid, 1, 'original', 1, ${hash}, ${`\\x${raw.slice(2)}`}::bytea, 0,
      '{"type":"eip1559","maxFee":"2","tip":"1","gasLimit":"60000"}', 1, now(), 1, now(), 16, now(), 'accepted')`
  return { hash, raw, id }
})

layerEach(TestApi.layer())("beside a private transaction that no block shows", (it) => {
  it.effect("reads by its hash are answered by the ledger, without its signature, and by no provider", () =>
    Effect.gen(function* () {
      const { asked } = yield* prepared
      const { hash } = yield* sentPrivately
      const shown = yield* rpc("eth_getTransactionByHash", [hash.toUpperCase().replace("X", "x")], { relayer: "other" })
      assert.deepInclude(shown.result, { hash, nonce: "0x0", blockHash: null, r: "0x0", s: "0x0" })
      assert.isNull((yield* rpc("eth_getTransactionReceipt", [hash], { relayer: "other" })).result)
      assert.notInclude(asked(), hash.slice(2))
    })
  )

  it.effect("reads by its hash through another relayer find nothing, and ask no provider", () =>
    Effect.gen(function* () {
      const { asked } = yield* prepared
      const { hash } = yield* sentPrivately
      for (const method of ["eth_getTransactionByHash", "eth_getTransactionReceipt"]) {
        assert.isNull((yield* rpc(method, [hash])).result)
      }
      assert.notInclude(asked(), hash.slice(2))
    })
  )

  it.effect("other methods with its hash or its bytes are refused, through each relayer", () =>
    Effect.gen(function* () {
      const { asked } = yield* prepared
      const { hash, raw } = yield* sentPrivately
      for (const relayer of ["sender", "other"]) {
        for (const [method, params] of [
          ["debug_traceTransaction", [hash, {}]],
          ["debug_traceTransaction", [{ nested: [hash.toUpperCase().replace("X", "x")] }]],
          ["eth_getRawTransactionByHash", [hash]],
          ["eth_getTransactionCount", [hash, "latest"]],
          ["eth_sendRawTransaction", [raw]]
        ] as const) {
          const { error } = yield* rpc(method, params, { relayer })
          assert.deepInclude(error, { code: -32_602 }, method)
          assert.include(error?.message, "has the hash or the bytes of a private transaction", method)
        }
      }
      assert.notInclude(asked(), hash.slice(2))
      assert.notInclude(asked(), secretData.slice(2))
    })
  )

  it.effect("hashes of others are passed on as before", () =>
    Effect.gen(function* () {
      const { normal } = yield* prepared
      yield* sentPrivately
      const public_ = `0x${"ab".repeat(32)}`
      for (const method of ["eth_getTransactionByHash", "debug_traceTransaction"]) yield* rpc(method, [public_])
      assert.deepStrictEqual([normal.count("eth_getTransactionByHash"), normal.count("debug_traceTransaction")], [1, 1])
    })
  )
})

layerEach(TestApi.layer())("a relayer whose policy asks for private transactions", (it) => {
  it.effect("shows calls of wallets to private providers alone, whatever the method is called", () =>
    Effect.gen(function* () {
      const { asked, secret } = yield* prepared
      const from = yield* addressOf()
      const call = { from, to: receiver, data: secretData }
      for (const [method, params] of [
        ["eth_call", [call, "latest"]],
        ["eth_estimateGas", [{ from, input: secretData }]],
        ["eth_createAccessList", [call]],
        ["eth_simulateV1", [{ blockStateCalls: [{ calls: [call] }] }, "latest"]],
        ["debug_traceCall", [call, "latest", {}]]
      ] as const) {
        assert.isUndefined((yield* rpc(method, params)).error, method)
        assert.strictEqual(secret.count(method), 1, method)
      }
      assert.notInclude(asked(), secretData.slice(2))
      assert.notInclude(asked(), "debug_tracecall")
    })
  )

  it.effect("shows calls of wallets to normal providers if its policy says so", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const { normal, secret } = yield* prepared
      const body = { policies: { private_transactions: true, private_estimates: "normal" } }
      const { status, text } = yield* call("/api/v1/relayers/sender", { method: "PATCH", body })
      assert.strictEqual(status, 200, text)
      yield* rpc("eth_call", [{ to: receiver, data: secretData }, "latest"])
      assert.deepStrictEqual([normal.count("eth_call"), secret.count("eth_call")], [1, 0])
    })
  )

  it.effect("simulates by private providers alone", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const { asked, secret } = yield* prepared
      const { status, text } = yield* call(`${transactions}/simulate`, { body: { to: receiver, data: secretData } })
      assert.strictEqual(status, 200, text)
      assert.strictEqual(secret.count("eth_estimateGas"), 1)
      assert.notInclude(asked(), secretData.slice(2))
    })
  )
})
