// The base fees of a transaction's blocks over HTTP: what the provider is asked, what is remembered, and who may ask.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { receiver, send, transactions } from "./Fixtures.ts"
import { confirm, prepareAt } from "./Past.ts"

const gwei = 1_000_000_000n

const sent = Effect.map(
  send({ to: receiver, value: "1", gas_limit: 21_000 }),
  ({ json }) => (json.data as { readonly id: string }).id
)

const fees = (id: string, call: TestApi.Call = {}, path = transactions) => TestApi.call(`${path}/${id}/fees`, call)

interface Answer {
  readonly cap?: string
  readonly blocks: ReadonlyArray<{ readonly number: number; readonly at: string; readonly base_fee: string }>
}

layerEach(TestApi.layer())("base fees of a transaction's blocks", (it) => {
  it.effect("are those from its first send to the newest block, and the cap of the policy", () =>
    Effect.gen(function* () {
      const cap = 50n * gwei
      const server = yield* prepareAt({ gas_price_cap: String(cap) }, [60n, 55n, 50n, 45n])
      const id = yield* sent
      yield* confirm([id], 60n)
      const { status, json, text } = yield* fees(id)
      assert.strictEqual(status, 200, text)
      const answer = json.data as Answer
      assert.strictEqual(answer.cap, String(cap))
      assert.deepStrictEqual(
        answer.blocks.map(({ number, base_fee }) => [number, BigInt(base_fee) / gwei]),
        [
          [10, 60n],
          [11, 55n],
          [12, 50n],
          [13, 45n],
          [14, 1n]
        ]
      )
      const asked = () => server.seen.filter(({ method }) => method === "eth_feeHistory")
      assert.deepStrictEqual(
        asked().map(({ params }) => params),
        [["0x5", "0xe", []]]
      )
      assert.deepStrictEqual((yield* fees(id)).json.data, json.data)
      assert.lengthOf(asked(), 1, "the base fees of a final transaction are remembered")
    })
  )

  it.effect("of an open transaction are asked for again, and 502 names the provider that does not answer", () =>
    Effect.gen(function* () {
      const server = yield* prepareAt({}, [60n, 55n, 50n, 45n])
      const id = yield* sent
      const asked = () => server.seen.filter(({ method }) => method === "eth_feeHistory").length
      assert.strictEqual((yield* fees(id)).status, 200)
      const once = asked()
      assert.isAbove(once, 0)
      assert.strictEqual((yield* fees(id)).status, 200)
      assert.strictEqual(asked(), 2 * once)
      server.fail({ error: -32_601 }, { method: "eth_feeHistory" })
      const failed = yield* fees(id)
      assert.strictEqual(failed.status, 502)
      assert.match(failed.text, /eth_feeHistory/)
    })
  )

  it.effect("exist on evm only, for transactions of the relayer, and for keys that may read them", () =>
    Effect.gen(function* () {
      yield* prepareAt({}, [60n])
      const id = yield* sent
      assert.strictEqual((yield* fees(id, {}, "/api/v1/relayers/sol/transactions")).status, 501)
      assert.strictEqual((yield* fees(id, {}, "/api/v1/relayers/other/transactions")).status, 404)
      assert.strictEqual((yield* fees(id, {}, "/api/v1/relayers/none/transactions")).status, 404)
      assert.strictEqual((yield* fees("4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b")).status, 404)
      assert.strictEqual((yield* fees("abc")).status, 400)
      assert.strictEqual((yield* fees(id, { key: null })).status, 401)
      const blind = yield* Prepared.createKey({ scopes: ["relayers:read"] })
      assert.strictEqual((yield* fees(id, { key: blind })).status, 403)
      const narrow = yield* Prepared.createKey({ scopes: ["transactions:read"], relayer_ids: ["other"] })
      assert.strictEqual((yield* fees(id, { key: narrow })).status, 403)
    })
  )
})
