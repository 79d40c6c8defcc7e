// Data for the relayer's own address: code of the account, such as an executor's, could call anybody with it, past every limit.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as EvmRpc from "../../../testkit/EvmRpc.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { asTimePasses } from "../events/LiveApi.ts"
import { count, dataOf, makeKey, prepare, receiver, send, transactions } from "./Fixtures.ts"

/** The relayer `sender` with a node that shows this code of every account. Returns its address. */
const prepareWith = Effect.fnUntraced(function* (code: string, policies: object = {}) {
  const { call } = yield* TestApi.TestApi
  const node = yield* EvmRpc.make({ chainId: 31_337n })
  node.results.set("eth_getCode", () => code)
  node.results.set("eth_getBlockByNumber", (params) => {
    const [tag] = params as ReadonlyArray<unknown>
    return tag === "latest" ? { number: "0x5", hash: "0x05", parentHash: "0x04", gasLimit: "0x1c9c380" } : null
  })
  node.results.set("eth_estimateGas", () => "0x5208")
  node.results.set("eth_feeHistory", () => ({ baseFeePerGas: ["0x1", "0x1"], reward: [["0x1", "0x1", "0x1", "0x1"]] }))
  yield* prepare(policies)
  const body = { custom_rpc_urls: [{ url: node.url }] }
  const patched = yield* call("/api/v1/relayers/sender", { method: "PATCH", body })
  assert.strictEqual(patched.status, 200, patched.text)
  return (patched.json.data as { readonly address: string }).address
})

const delegation = `0xef0100${"11".repeat(20)}`

const refused = Effect.fnUntraced(function* (body: object, call: Parameters<typeof send>[1] = {}) {
  const before = yield* count
  const { status, json } = yield* asTimePasses(send(body, call))
  assert.strictEqual(status, 400, json.error)
  assert.match(json.error ?? "", /^(?:transactions\.0\.)?data: cannot be sent to the relayer's own address/)
  assert.strictEqual(yield* count, before)
})

layerEach(TestApi.layer())("data for the own address", (it) => {
  it.effect("is 400 where the policy lists receivers, whatever code there is; a plain send is accepted", () =>
    Effect.gen(function* () {
      const own = yield* prepareWith("0x", { whitelist_receivers: [receiver] })
      yield* refused({ to: own, data: "0x01" })
      yield* refused({ to: own.toLowerCase(), data: "0x01", value: 1 })
      assert.strictEqual((yield* send({ to: own, data: "0x" })).status, 200)
      assert.strictEqual((yield* send({ to: own })).status, 200)
    })
  )

  it.effect(
    "is 400 by an API key with a value limit or with receivers, and not by one with a limit of fees alone",
    () =>
      Effect.gen(function* () {
        const own = yield* prepareWith("0x")
        for (const transaction_limits of [{ max_value: "5" }, { receivers: [own] }]) {
          const key = yield* makeKey(["transactions:*"], { transaction_limits })
          yield* refused({ to: own, data: "0x01" }, { key })
          assert.strictEqual((yield* send({ to: own }, { key })).status, 200)
        }
        const key = yield* makeKey(["transactions:*"], { transaction_limits: { max_fee_per_day: "9" } })
        assert.strictEqual((yield* asTimePasses(send({ to: own, data: "0x01" }, { key }))).status, 200)
      })
  )

  it.effect("is 400 on an account with code, also as a replacement, in a batch and in a simulation", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      const own = yield* prepareWith(delegation)
      yield* refused({ to: own, data: "0x01" })
      const sent = yield* send({ to: receiver })
      const replaced = yield* asTimePasses(
        call(`${transactions}/${dataOf(sent).id}`, { method: "PUT", body: { to: own, data: "0x01", value: 0 } })
      )
      assert.strictEqual(replaced.status, 400, replaced.text)
      const batch = yield* asTimePasses(
        call(`${transactions}/batch`, { body: { transactions: [{ to: own, data: "0x01" }] } })
      )
      assert.strictEqual(batch.status, 400, batch.text)
      assert.include(batch.json.error ?? "", "the account has code")
      const simulated = yield* asTimePasses(call(`${transactions}/simulate`, { body: { to: own, data: "0x01" } }))
      const { is_accepted, problems } = simulated.json.data as {
        readonly is_accepted: boolean
        readonly problems: ReadonlyArray<{ readonly field: string; readonly message: string }>
      }
      assert.isFalse(is_accepted)
      assert.isTrue(problems.some(({ field, message }) => field === "data" && message.includes("has code")))
    })
  )

  it.effect("is accepted if no provider answers in time: the lane looks at the code before the first signature", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      yield* prepare()
      const { json } = yield* call("/api/v1/relayers/sender")
      const { address } = json.data as { readonly address: string }
      assert.strictEqual((yield* asTimePasses(send({ to: address, data: "0x01" }))).status, 200)
    })
  )
})
