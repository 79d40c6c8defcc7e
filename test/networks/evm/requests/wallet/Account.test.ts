// A relayer as the account of a wallet client, without a chain: addresses, signatures, scopes and refusals.
import { Effect } from "effect"
import { assert } from "@effect/vitest"
import { recoverMessageAddress, recoverTypedDataAddress } from "viem"
import * as TestApi from "../../../../../testkit/TestApi.ts"
import { layerEach } from "../../../../../testkit/layerEach.ts"
import { asTimePasses } from "../../../../server/events/LiveApi.ts"
import { count, makeKey, prepare, receiver } from "../../../../server/transactions/Fixtures.ts"
import { addressOf, post, rpc } from "./fixtures.ts"

const typedData = {
  domain: { name: "Example", version: "1", chainId: 31_337 },
  types: {
    EIP712Domain: [
      { name: "name", type: "string" },
      { name: "version", type: "string" },
      { name: "chainId", type: "uint256" }
    ],
    Order: [
      { name: "owner", type: "address" },
      { name: "amount", type: "uint256" }
    ]
  },
  primaryType: "Order",
  message: { owner: receiver, amount: "123456789012345678901234567890" }
} as const

/** What the error says, and the parameters. */
const invalid: ReadonlyArray<readonly [says: string, transaction: unknown]> = [
  ["params.0", "0x00"],
  ["from", { from: receiver, to: receiver }],
  ["chainId", { to: receiver, chainId: "0x1" }],
  ["type", { to: receiver, type: "0x3" }],
  ["gasPrice", { to: receiver, type: "0x2", gasPrice: "0x1" }],
  ["maxFeePerGas", { to: receiver, type: "0x0", maxFeePerGas: "0x1", maxPriorityFeePerGas: "0x1" }],
  ["accessList", { to: receiver, accessList: [{ address: receiver, storageKeys: [] }] }],
  ["input", { to: receiver, data: "0x01", input: "0x02" }],
  ["gas:", { to: receiver, gas: "0x5207" }],
  ["value", { to: receiver, value: "-1" }],
  ["nonce", { to: receiver, nonce: "first" }],
  ["to", { to: null }],
  ["memo", { to: receiver, memo: "x" }],
  ["maxPriorityFeePerGas", { to: receiver, maxFeePerGas: "0x1" }]
]

layerEach(TestApi.layer())("a relayer as the account of a wallet", (it) => {
  it.effect("has one address and the chain of its network, with absent params and id 0", () =>
    Effect.gen(function* () {
      yield* prepare()
      const address = yield* addressOf()
      assert.deepStrictEqual(yield* rpc("eth_accounts"), { jsonrpc: "2.0", id: 0, result: [address] })
      assert.deepStrictEqual((yield* rpc("eth_requestAccounts", [])).result, [address])
      assert.strictEqual((yield* rpc("eth_chainId")).result, "0x7a69")
      assert.strictEqual((yield* rpc("net_version")).result, "31337")
    })
  )

  it.effect("answers the calls of a batch in their order, and no notification", () =>
    Effect.gen(function* () {
      yield* prepare()
      const posted = post([
        { jsonrpc: "2.0", id: 0, method: "eth_chainId" },
        { jsonrpc: "2.0", method: "net_version" },
        { jsonrpc: "2.0", id: "b", method: "eth_blockNumber" },
        { jsonrpc: "2.0", id: 2, method: "eth_sendRawTransaction", params: ["0x"] },
        { jsonrpc: "2.0", id: 3, method: "net_version", params: { named: true } }
      ])
      const { status, text } = yield* asTimePasses(posted)
      assert.strictEqual(status, 200)
      const replies: ReadonlyArray<{ readonly id: unknown; readonly result?: unknown; readonly error?: object }> =
        JSON.parse(text)
      assert.deepStrictEqual(
        replies.map(({ id }) => id),
        [0, "b", 2, 3]
      )
      assert.strictEqual(replies[0]?.result, "0x7a69")
      assert.deepInclude(replies[1]?.error, { code: -32_603 })
      assert.deepInclude(replies[2]?.error, { code: -32_601 })
      assert.deepInclude(replies[3]?.error, { code: -32_602 })
    })
  )

  it.effect("signs messages with personal_sign and eth_sign", () =>
    Effect.gen(function* () {
      yield* prepare()
      const address = yield* addressOf()
      const message = "0xfffe00"
      const signed = yield* rpc("personal_sign", [message, address.toLowerCase()])
      const signature = signed.result as `0x${string}`
      assert.match(signature, /^0x[0-9a-f]{130}$/)
      const signer = yield* Effect.promise(() => recoverMessageAddress({ message: { raw: message }, signature }))
      assert.strictEqual(signer.toLowerCase(), address.toLowerCase())
      assert.strictEqual((yield* rpc("eth_sign", [address, message])).result, signature)
    })
  )

  it.effect("signs typed data that is JSON text or an object", () =>
    Effect.gen(function* () {
      yield* prepare()
      const address = yield* addressOf()
      const signed = yield* rpc("eth_signTypedData_v4", [address, JSON.stringify(typedData)])
      const signature = signed.result as `0x${string}`
      const signer = yield* Effect.promise(() =>
        recoverTypedDataAddress({
          ...typedData,
          domain: { ...typedData.domain, chainId: 31_337n },
          message: { owner: receiver, amount: BigInt(typedData.message.amount) },
          signature
        })
      )
      assert.strictEqual(signer.toLowerCase(), address.toLowerCase())
      assert.strictEqual((yield* rpc("eth_signTypedData_v4", [address, typedData])).result, signature)
      assert.strictEqual((yield* rpc("eth_signTypedData", [address, typedData])).result, signature)
    })
  )

  it.effect("signs nothing for another address, or what is not a message", () =>
    Effect.gen(function* () {
      yield* prepare()
      const address = yield* addressOf()
      const refused = [
        ["personal_sign", ["0x00", receiver]],
        ["personal_sign", ["text", address]],
        ["eth_sign", [address]],
        ["eth_signTypedData_v4", [address, "{"]],
        ["eth_signTypedData_v4", [address, JSON.stringify({ ...typedData, primaryType: "None" })]],
        ["eth_signTypedData_v4", [receiver, JSON.stringify(typedData)]],
        ["eth_signTypedData", [[{ type: "string", name: "m", value: "v" }], address]]
      ] as const
      for (const [method, params] of refused) {
        assert.strictEqual((yield* rpc(method, params)).error?.code, -32_602, method)
      }
    })
  )

  it.effect("returns no signed transaction", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { error } = yield* rpc("eth_signTransaction", [{ to: receiver }])
      assert.strictEqual(error?.code, 4200)
    })
  )

  for (const [says, transaction] of invalid) {
    it.effect(`refuses to send ${JSON.stringify(transaction)} and names ${says}`, () =>
      Effect.gen(function* () {
        yield* prepare()
        const { error } = yield* rpc("eth_sendTransaction", [transaction])
        assert.strictEqual(error?.code, -32_602)
        assert.include(error?.message, says)
        assert.strictEqual(yield* count, 0)
      })
    )
  }

  it.effect("refuses with -32003 what its policy or the API key forbids", () =>
    Effect.gen(function* () {
      yield* prepare({ whitelist_receivers: [receiver], gas_price_cap: "100" })
      const listed = yield* rpc("eth_sendTransaction", [{ to: `0x${"11".repeat(20)}` }])
      assert.deepInclude(listed.error, { code: -32_003 })
      assert.include(listed.error?.message, "whitelist_receivers")
      const capped = yield* rpc("eth_sendTransaction", [{ to: receiver, gasPrice: "0x65", gas: "0x5208" }])
      assert.deepInclude(capped.error, { code: -32_003 })
      assert.include(capped.error?.message, "gasPrice: must be at most 100")
      const scopes = ["transactions:*", "rpc:call"]
      const key = yield* makeKey(scopes, { transaction_limits: { max_value: "5" } })
      const limited = yield* rpc("eth_sendTransaction", [{ to: receiver, value: "0x6" }], { key })
      assert.deepInclude(limited.error, { code: -32_003 })
      assert.include(limited.error?.message, "max_value")
      assert.strictEqual(yield* count, 0)
    })
  )

  it.effect("that is paused neither sends nor signs, and has its address all the same", () =>
    Effect.gen(function* () {
      yield* prepare()
      const address = yield* addressOf()
      const { call } = yield* TestApi.TestApi
      yield* call("/api/v1/relayers/sender", { method: "PATCH", body: { paused: true } })
      const paused = { code: -32_003, message: "Relayer paused" }
      assert.deepStrictEqual((yield* rpc("eth_sendTransaction", [{ to: receiver }])).error, paused)
      assert.deepStrictEqual((yield* rpc("personal_sign", ["0x00", address])).error, paused)
      assert.deepStrictEqual((yield* rpc("eth_accounts")).result, [address])
    })
  )

  it.effect("needs the scope of each call: 403, and no call of the batch is made", () =>
    Effect.gen(function* () {
      yield* prepare()
      const address = yield* addressOf()
      const reader = yield* makeKey(["rpc:call"])
      const writer = yield* makeKey(["rpc:call", "transactions:*"])
      const send = { id: 1, method: "eth_sendTransaction", params: [{ to: receiver }] }
      const sign = { id: 2, method: "personal_sign", params: ["0x00", address] }
      assert.strictEqual((yield* post(send, { key: reader })).status, 403)
      assert.strictEqual((yield* post([send, sign], { key: writer })).status, 403)
      assert.strictEqual((yield* post(sign, { key: null })).status, 401)
      assert.strictEqual((yield* post({ id: 1, method: "eth_accounts" }, { key: reader })).status, 200)
      const alone = yield* makeKey(["transactions:*"])
      assert.strictEqual((yield* post(send, { key: alone })).status, 403)
      assert.strictEqual(yield* count, 0)
    })
  )

  it.effect("of another network type has no methods of wallets, and an unknown relayer is 404", () =>
    Effect.gen(function* () {
      yield* prepare()
      const call = { id: 1, method: "eth_accounts" }
      const { error } = yield* rpc(call.method, undefined, { relayer: "sol" })
      assert.strictEqual(error?.code, -32_601)
      assert.strictEqual((yield* post(call, { relayer: "none" })).status, 404)
    })
  )
})
