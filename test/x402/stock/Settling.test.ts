// Payments that are signed, verified and settled by the stock scheme through a relayer, on anvil. Blocks come by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { concatHex, encodeAbiParameters, numberToHex, padHex, slice } from "viem"
import { privateKeyToAccount } from "viem/accounts"
import { overLayers } from "../../../packages/x402/src/layers.ts"
import type { Facilitator, Options } from "../../../packages/x402/src/Facilitator.ts"
import type { Hex } from "../../../packages/x402/src/Relayers.ts"
import * as Anvil from "../../../testkit/Anvil.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { api, relayerAt } from "../../server/lanes/fixtures.ts"
import * as Payments from "../../../testkit/x402/Payments.ts"
import { amount, encode, payTo, seller, signed } from "../../../testkit/x402/Payments.ts"
import { facilitatorOf } from "./Setup.ts"

const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** Each form of a signature that a token, a library or a wallet knows. */
const formsOf = (signature: Hex): Readonly<Record<string, Hex>> => {
  const [r, s, v] = [slice(signature, 0, 32), slice(signature, 32, 64), Number(slice(signature, 64))]
  const high = padHex(numberToHex(order - BigInt(s)), { size: 32 })
  const compact = padHex(numberToHex(BigInt(s) | (v === 28 ? 2n ** 255n : 0n)), { size: 32 })
  const wrapping = encodeAbiParameters(
    [{ type: "address" }, { type: "bytes" }, { type: "bytes" }],
    [payTo, "0x", signature]
  )
  return {
    plain: signature,
    parity: concatHex([r, s, v === 28 ? "0x01" : "0x00"]),
    "high s": concatHex([r, high, v === 28 ? "0x1b" : "0x1c"]),
    "64 bytes": concatHex([r, compact]),
    wrapped: concatHex([wrapping, `0x${"6492".repeat(16)}`])
  }
}

const chain = Effect.fnUntraced(function* (options: Parameters<typeof Anvil.start>[0] = {}) {
  const node = yield* Anvil.start({ blockTime: 1, ...options })
  const account = yield* relayerAt(node)
  const token = yield* Payments.deploy(node, "Token")
  const { apiKey } = yield* keyOf(account.relayerId)
  const key = yield* Payments.payerOf(node, token)
  const offering = (over: Partial<Options> = {}, offered: object = {}) =>
    facilitatorOf({ token, apiKey, over, offered })
  return { node, account, token, key, offering }
})

/** The key of a facilitator, as docs/x402.md has it. */
const keyOf = Effect.fnUntraced(function* (relayerId: string, limits?: object) {
  const apiKey = yield* Prepared.createKey({
    scopes: ["transactions:write", "transactions:read", "relayers:read", "rpc:call", "claims:read", "claims:write"],
    relayer_ids: [relayerId],
    ...(limits === undefined ? {} : { transaction_limits: limits })
  })
  return { apiKey }
})

const settle = (facilitator: Facilitator, body: unknown) => Effect.promise(() => facilitator.settle(body, seller))
const verify = (facilitator: Facilitator, body: unknown) => Effect.promise(() => facilitator.verify(body, seller))

const used = "invalid_exact_evm_nonce_already_used"

layer(api, { excludeTestServices: true })("a payment", (it) => {
  it.effect("is verified and settled, and two instances answer one success for all forms of its signature", () =>
    Effect.gen(function* () {
      const { node, token, key, offering } = yield* chain()
      const one = yield* offering()
      const other = yield* offering({ relayers: yield* overLayers })
      const payment = yield* signed({ token, key })
      assert.deepInclude(yield* verify(one, payment.body), { isValid: true })
      const results = yield* Effect.forEach(
        Object.entries(formsOf(payment.signature)).flatMap(([form, signature]) =>
          [one, other].map((facilitator) => ({ form, facilitator, body: payment.bodyWith(signature) }))
        ),
        ({ form, facilitator, body }) => Effect.map(settle(facilitator, body), (result) => ({ form, ...result })),
        { concurrency: "unbounded" }
      )
      const successes = results.filter(({ success }) => success)
      assert.strictEqual(successes.length, 1, JSON.stringify(results))
      for (const { form, success, errorReason } of results) {
        if (!success) {
          const expected = form === "wrapped" ? "invalid_exact_evm_payload_signature" : "duplicate_settlement"
          assert.strictEqual(errorReason, expected, form)
        }
      }
      assert.strictEqual(yield* Payments.balanceOf(node, token, payTo), amount)
      const receipt = yield* node.call("eth_getTransactionReceipt", [successes[0]?.transaction])
      assert.deepInclude(receipt as object, { status: "0x1" })
      assert.deepInclude(yield* verify(other, payment.body), { isValid: false, invalidReason: used })
    })
  )

  it.effect("that is shown for two resources at once is settled for one of them", () =>
    Effect.gen(function* () {
      const { node, token, key, offering } = yield* chain()
      const facilitator = yield* offering()
      const { body } = yield* signed({ token, key })
      const shownFor = (resource: string) => ({
        ...body,
        paymentPayload: { ...body.paymentPayload, resource: { url: `http://seller.test/${resource}` } }
      })
      const results = yield* Effect.forEach(
        ["weather", "news"],
        (resource) => settle(facilitator, shownFor(resource)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(results.filter(({ success }) => success).length, 1, JSON.stringify(results))
      // A request that has waited for the other one until the end of its budget is not the last one of its seller.
      assert.deepInclude(yield* settle(facilitator, shownFor("news")), {
        success: false,
        errorReason: "duplicate_settlement"
      })
      assert.strictEqual(yield* Payments.balanceOf(node, token, payTo), amount)
    })
  )

  it.effect("that a stranger has landed is settled with the hash of the stranger", () =>
    Effect.gen(function* () {
      const { node, token, key, offering } = yield* chain()
      const facilitator = yield* offering()
      const payment = yield* signed({ token, key })
      assert.isTrue((yield* verify(facilitator, payment.body)).isValid)
      const { transactionHash } = yield* Payments.transact(node, token, payment.call)
      const { success, transaction, errorMessage } = yield* settle(facilitator, payment.body)
      assert.deepStrictEqual([success, transaction], [true, transactionHash], errorMessage)
      assert.strictEqual((yield* settle(facilitator, payment.body)).errorReason, "duplicate_settlement")
      assert.strictEqual(yield* Payments.balanceOf(node, token, payTo), amount)
    })
  )

  it.effect("whose nonce a stranger has used without the transfer next to it is no success", () =>
    Effect.gen(function* () {
      const { node, token, key, offering } = yield* chain()
      const facilitator = yield* offering()
      const [payment, other] = [yield* signed({ token, key }), yield* signed({ token, key })]
      const twice = yield* Payments.deploy(node, "Twice")
      const payer = privateKeyToAccount(key).address
      yield* Payments.transact(node, twice, encode("run", token, payer, payment.nonce, other.call))
      assert.strictEqual(yield* Payments.balanceOf(node, token, payTo), amount)
      // Both nonces are used, and there was one transfer: of the second one.
      assert.strictEqual((yield* settle(facilitator, payment.body)).errorReason, used)
      assert.isTrue((yield* settle(facilitator, other.body)).success)
    })
  )

  it.effect("with another amount under a known nonce, or with a foreign signature, settles nothing", () =>
    Effect.gen(function* () {
      const { node, token, key, offering } = yield* chain()
      const facilitator = yield* offering()
      const payment = yield* signed({ token, key })
      const larger = yield* signed({ token, key, nonce: payment.nonce, value: 5n * amount })
      const stolen = larger.bodyWith(payment.signature)
      assert.strictEqual((yield* settle(facilitator, stolen)).errorReason, "invalid_exact_evm_signature")
      assert.isTrue((yield* settle(facilitator, payment.body)).success)
      for (const body of [larger.body, stolen]) assert.strictEqual((yield* settle(facilitator, body)).errorReason, used)
      assert.strictEqual(yield* Payments.balanceOf(node, token, payTo), amount)
    })
  )

  it.effect("of an empty balance fails with the reason of the token, and costs no gas", () =>
    Effect.gen(function* () {
      const { node, token, key, account, offering } = yield* chain()
      const facilitator = yield* offering()
      const payment = yield* signed({ token, key })
      assert.isTrue((yield* verify(facilitator, payment.body)).isValid)
      yield* Payments.transact(node, token, encode("burn", privateKeyToAccount(key).address, 1_000_000n))
      const { success, errorReason } = yield* settle(facilitator, payment.body)
      assert.deepStrictEqual([success, errorReason], [false, "invalid_exact_evm_insufficient_balance"])
      assert.strictEqual(yield* node.call("eth_getTransactionCount", [account.address, "latest"]), "0x0")
    })
  )

  it.effect("during a price spike is answered with a hash that has a receipt", () =>
    Effect.gen(function* () {
      const { node, token, key, offering } = yield* chain()
      const facilitator = yield* offering()
      const payment = yield* signed({ token, key })
      yield* node.call("evm_setAutomine", [false])
      yield* node.call("evm_setIntervalMining", [0])
      const [{ success, transaction, errorMessage }] = yield* Effect.all(
        [
          settle(facilitator, payment.body),
          Effect.gen(function* () {
            // The first bytes are in the pool when the price of a block rises to ten times theirs.
            for (;;) {
              const pool = (yield* node.call("txpool_status", [])) as { readonly pending: string }
              if (Number(pool.pending) > 0) break
              yield* Effect.sleep("100 millis")
            }
            const { baseFeePerGas } = (yield* node.call("eth_getBlockByNumber", ["latest", false])) as {
              readonly baseFeePerGas: string
            }
            yield* node.call("anvil_setNextBlockBaseFeePerGas", [numberToHex(BigInt(baseFeePerGas) * 10n)])
            yield* node.call("evm_mine", [])
            yield* node.call("evm_setIntervalMining", [1])
          })
        ],
        { concurrency: 2 }
      )
      assert.isTrue(success, errorMessage)
      assert.deepInclude((yield* node.call("eth_getTransactionReceipt", [transaction])) as object, { status: "0x1" })
    })
  )

  it.effect(
    "for which no block comes before validBefore ends without a paid revert, and is never answered as a failure before",
    () =>
      Effect.gen(function* () {
        const { node, token, key, account, offering } = yield* chain()
        const facilitator = yield* offering({ budget: 6 })
        const payment = yield* signed({ token, key, validFor: 9 })
        yield* node.call("evm_setIntervalMining", [0])
        const { success, errorReason, transaction } = yield* settle(facilitator, payment.body)
        assert.deepStrictEqual([success, errorReason], [false, "settlement_pending"])
        assert.match(transaction, /^0x[0-9a-f]{64}$/)
        yield* Effect.sleep("5 seconds")
        yield* node.call("evm_setIntervalMining", [1])
        const { call } = yield* TestApi.TestApi
        const rows = `/api/v1/transactions?relayer_id=${account.relayerId}`
        const ended = yield* Effect.repeat(
          Effect.map(
            call(rows),
            ({ json }) => json.data as ReadonlyArray<{ status: string; mined_as?: string; fee_paid?: string }>
          ),
          { until: ([row]) => row !== undefined && ["expired", "failed", "confirmed", "canceled"].includes(row.status) }
        )
        assert.deepStrictEqual(
          ended.map(({ status, mined_as }) => [status, mined_as]),
          [["expired", "noop"]]
        )
        assert.strictEqual(yield* Payments.balanceOf(node, token, payTo), 0n)
        assert.isFalse((yield* settle(facilitator, payment.body)).success)
      })
  )

  it.effect(
    "of a contract is settled by its own signature, and refused if its check burns gas or it is not offered",
    () =>
      Effect.gen(function* () {
        const { node, token, key, offering } = yield* chain()
        const owner = privateKeyToAccount(key).address
        const [cheap, costly] = [
          yield* Payments.deployWallet(node, owner, 10n),
          yield* Payments.deployWallet(node, owner, 5000n)
        ]
        for (const wallet of [cheap, costly]) yield* Payments.transact(node, token, encode("mint", wallet, 1_000_000n))
        const facilitator = yield* offering({}, { wallets: true })
        const payment = yield* signed({ token, key, from: cheap })
        // Signatures of contracts have any length.
        const longer = payment.bodyWith(concatHex([payment.signature, "0x00"]))
        assert.isTrue((yield* settle(facilitator, longer)).success)
        const burning = yield* signed({ token, key, from: costly })
        const refused = yield* settle(facilitator, burning.bodyWith(concatHex([burning.signature, "0x00"])))
        assert.deepStrictEqual([refused.success, refused.errorReason], [false, "invalid_exact_evm_transaction_failed"])
        const keysOnly = yield* offering()
        const { errorReason } = yield* settle(keysOnly, longer)
        assert.strictEqual(errorReason, "invalid_exact_evm_payload_signature")
      })
  )
})

layer(api, { excludeTestServices: true })("a stolen key of a facilitator", (it) => {
  it.effect(
    "calls nothing but the selectors of the token, spends its fee of a day, and holds no other key's payments",
    () =>
      Effect.gen(function* () {
        const { node, token, key, account } = yield* chain()
        const { call } = yield* TestApi.TestApi
        const selectors = ["0xe3ee160e", "0xcf092995"].map((selector) => `${token}:${selector}`)
        const transactions = `/api/v1/relayers/${account.relayerId}/transactions`
        const calling = { to: token, data: `0xe3ee160e${"00".repeat(288)}`, value: "0", gas_limit: 150_000 }
        const { json: simulated } = yield* call(`${transactions}/simulate`, { body: calling })
        const { prices } = simulated.data as { readonly prices: { readonly fast: { readonly max_cost: string } } }
        // Less than what one call costs.
        const max_fee_per_day = String(BigInt(prices.fast.max_cost) / 100n)
        const limits = { receivers: [token], selectors, max_value: "0", max_fee_per_day }
        const { apiKey: stolen } = yield* keyOf(account.relayerId, limits)
        const { apiKey } = yield* keyOf(account.relayerId, {
          ...limits,
          max_fee_per_day: "1000000000000000000"
        })
        const send = (body: object) =>
          call(`/api/v1/relayers/${account.relayerId}/transactions`, {
            key: stolen,
            body: { gas_limit: 100_000, value: "0", ...body }
          })
        const approve = `0x095ea7b3${"00".repeat(64)}`
        for (const body of [
          { to: token, data: approve },
          { to: payTo, data: "0xe3ee160e" },
          { to: token, value: "1", data: "0xe3ee160e" }
        ]) {
          const { status, text } = yield* send(body)
          assert.strictEqual(status, 403, text)
        }
        const facilitator = yield* facilitatorOf({ token, apiKey: stolen })
        const own = yield* facilitatorOf({ token, apiKey })
        const [others, payment] = [yield* signed({ token, key }), yield* signed({ token, key })]
        const [spent, { success, errorMessage }] = yield* Effect.all(
          [settle(facilitator, others.body), settle(own, payment.body)],
          { concurrency: 2 }
        )
        assert.isFalse(spent.success)
        assert.isTrue(success, errorMessage)
        assert.strictEqual(yield* Payments.balanceOf(node, token, payTo), amount)
      })
  )
})
