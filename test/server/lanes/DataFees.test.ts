// Fees of a rollup for data and for its operator: a stand-in of the contract that OP-stack chains have, and receipts that name
// what was charged. Anvil makes blocks by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect, Record } from "effect"
import { TransactionId } from "../../../src/networks/core/TransactionValues.ts"
import * as Anvil from "../../../testkit/Anvil.ts"
import * as EvmProxy from "../../../testkit/EvmProxy.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { api, becomes, receiver, relayerAt } from "./fixtures.ts"

const gwei = 10n ** 9n
const ether = 10n ** 18n

const oracle = "0x420000000000000000000000000000000000000F"

/** Returns the bytes of its call data × 10^12. */
const code = "0x3664e8d4a510000260005260206000f3"

/** Bytes of the call about a plain transfer: the selector, offset and length, and two words. */
const asked = 4n + 64n + 64n

/** Twice what the contract says of a plain transfer. */
const dataFee = 2n * asked * 10n ** 12n

/** What the contract says of the operator for any amount of gas: the call has a selector and one word. */
const operatorFee = (4n + 32n) * 10n ** 12n

/** What a transfer pays for its data and to the operator, as its receipt says. */
const charged = { l1Fee: 77n, operatorFeeConstant: 11n }

const rollup = Effect.gen(function* () {
  const node = yield* Anvil.start({ blockTime: 1 })
  yield* node.call("anvil_setCode", [oracle, code])
  const proxy = yield* EvmProxy.make(node.url)
  const fields = Record.map(charged, (wei) => `0x${wei.toString(16)}`)
  proxy.set("eth_getTransactionReceipt", {
    do: "change",
    result: (receipt) => (receipt === null ? null : { ...(receipt as object), ...fields })
  })
  const relayer = (funds: bigint) =>
    relayerAt(node, { urls: [proxy.url], network: { features: ["eip1559", "optimism-based"] }, funds })
  return { node, relayer }
})

const transfer = {
  to: receiver,
  value: "1",
  gas_limit: 21_000,
  max_fee_per_gas: String(10n * gwei),
  max_priority_fee_per_gas: String(gwei)
}

interface Shown {
  readonly gas_used: string
  readonly effective_gas_price: string
  readonly fee_paid: string
}

layer(api, { excludeTestServices: true, concurrent: true })("on a rollup that charges for data and operator", (it) => {
  it.effect("a transaction waits for the funds that data and operator need, and shows what it paid for them", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const { node, relayer } = yield* rollup
      const { relayerId, address } = yield* relayer(21_000n * 10n * gwei * 2n)
      const base = `/api/v1/relayers/${relayerId}/transactions`
      const sent = yield* call(base, { body: transfer })
      assert.strictEqual(sent.status, 200, sent.text)
      const id = TransactionId.make((sent.json.data as { readonly id: string }).id)
      const { cause } = yield* becomes(id, "pending", "insufficient_funds")
      assert.strictEqual(cause?.figures.required, 21_000n * 10n * gwei + 1n + dataFee + operatorFee)
      yield* node.fund(address, ether)
      const { attempts } = yield* becomes(id, "confirmed")
      assert.strictEqual(attempts[0]?.offer.rollupFee, dataFee + operatorFee)
      const shown = (yield* call(`${base}/${id}`)).json.data as Shown
      const forGas = BigInt(shown.gas_used) * BigInt(shown.effective_gas_price)
      assert.strictEqual(BigInt(shown.fee_paid), forGas + 77n + 11n)
    })
  )

  it.effect("a simulation names both fees, and includes them in the cost", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const { relayer } = yield* rollup
      const { relayerId } = yield* relayer(ether)
      const simulated = yield* call(`/api/v1/relayers/${relayerId}/transactions/simulate`, { body: transfer })
      assert.strictEqual(simulated.status, 200, simulated.text)
      const { data_fee, operator_fee, price } = simulated.json.data as {
        readonly data_fee: string
        readonly operator_fee: string
        readonly price: { readonly max_cost: string }
      }
      assert.deepStrictEqual([BigInt(data_fee), BigInt(operator_fee)], [dataFee, operatorFee])
      assert.strictEqual(BigInt(price.max_cost), 21_000n * 10n * gwei + 1n + dataFee + operatorFee)
    })
  )

  it.effect("the limit of an API key counts them", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const { relayer } = yield* rollup
      const { relayerId } = yield* relayer(ether)
      const transaction_limits = { max_fee_per_day: String(dataFee + operatorFee + 21_000n) }
      const created = yield* call("/api/v1/api-keys", {
        body: { name: "limited", scopes: ["transactions:*"], transaction_limits }
      })
      const { key } = created.json.data as { readonly key: string }
      const body = { to: receiver, value: 1 }
      const sent = yield* call(`/api/v1/relayers/${relayerId}/transactions`, { key, body })
      assert.strictEqual(sent.status, 200, sent.text)
      const id = TransactionId.make((sent.json.data as { readonly id: string }).id)
      const { cause } = yield* becomes(id, "pending", "gas_price_above_cap")
      assert.strictEqual(cause?.figures.cap, 1n)
    })
  )
})
