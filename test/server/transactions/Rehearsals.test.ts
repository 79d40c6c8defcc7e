// Policies that are tried on past transactions, over HTTP. A provider that hangs is given up by the clock of the machine.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { SqlClient } from "effect/sql"
import { maxRehearsed } from "../../../src/networks/evm/rules/Hindsight.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { dataOf, makeKey, prepare, receiver, send } from "./Fixtures.ts"
import { confirm, prepareAt } from "./Past.ts"

const path = (relayer = "sender") => `/api/v1/relayers/${relayer}/policies/rehearse`

const rehearse = (body: object, call: TestApi.Call = {}, relayer?: string) =>
  Effect.flatMap(TestApi.TestApi, (api) => api.call(path(relayer), { ...call, method: "POST", body }))

const gwei = 1_000_000_000n
const stranger = "0x90f79bf6eb2c4f870365e785982e1f101e93b906"

const sent = (body: object = {}) => Effect.map(send({ to: receiver, ...body }), (answer) => dataOf(answer).id)

/** Copies of the newest transaction that expired, so that there are more than a rehearsal reads. */
const multiply = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`
    INSERT INTO transactions
      (id, relayer_id, relayer_number, lane_id, request, state, code_since, valid_until, created_at, final_at)
    SELECT gen_random_uuid(), relayer_id, relayer_number, lane_id, request, 'expired', code_since, valid_until, created_at,
      created_at
    FROM (SELECT * FROM transactions ORDER BY number DESC LIMIT 1) newest, generate_series(1, ${maxRehearsed}::int)`
)

layerEach(TestApi.layer())("a policy that is tried on past transactions", (it) => {
  it.effect("says which ones it would have held and refused, and changes nothing", () =>
    Effect.gen(function* () {
      yield* prepareAt({})
      const dear = yield* Effect.replicateEffect(sent(), 37)
      const cheap = yield* Effect.replicateEffect(sent(), 61)
      const refused = yield* Effect.replicateEffect(sent({ to: stranger }), 2)
      yield* sent()
      yield* confirm(dear, 60n)
      yield* confirm([...cheap, ...refused], 20n)
      const policies = { gas_price_cap: String(50n * gwei), whitelist_receivers: [receiver] }
      const { json, status } = yield* rehearse({ policies, days: 30 })
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(json.data, {
        days: 30,
        transactions: 100,
        would_hold: {
          count: 37,
          first: dear
            .slice(-10)
            .toReversed()
            .map((id) => ({ id, code: "gas_price_above_cap" }))
        },
        would_refuse: [
          {
            code: "policy_changed",
            field: "to",
            message: "is not in whitelist_receivers of the relayer's policy",
            count: 2,
            first: refused.toReversed().map((id) => ({ id }))
          }
        ],
        unknown: [
          "base fees of blocks in which the relayer did not send",
          "whether a transaction that was held would have been sent before its deadline"
        ]
      })
      const { call } = yield* TestApi.TestApi
      const relayer = yield* call("/api/v1/relayers/sender")
      assert.notProperty((relayer.json.data as { policies?: object }).policies ?? {}, "gas_price_cap")
    })
  )

  it.effect("starts from the present policy, and leaves out what is older than its days", () =>
    Effect.gen(function* () {
      yield* prepareAt({ gas_price_cap: String(30n * gwei) })
      yield* confirm([yield* sent()], 40n)
      yield* TestClock.adjust("49 hours")
      yield* confirm([yield* sent()], 40n)
      const all = yield* rehearse({ policies: {} })
      assert.deepInclude(all.json.data, { days: 30, transactions: 2 })
      const lastTwo = yield* rehearse({ policies: {}, days: 2 })
      assert.deepInclude(lastTwo.json.data, { transactions: 1 })
      assert.nestedPropertyVal(lastTwo.json.data, "would_hold.count", 1)
      const without = yield* rehearse({ policies: { gas_price_cap: null } })
      assert.nestedPropertyVal(without.json.data, "would_hold.count", 0)
    })
  )

  it.effect("names the field of a policy that is invalid, and of days that are", () =>
    Effect.gen(function* () {
      yield* prepare()
      for (const [body, field] of [
        [{ policies: { gas_price_cap: -1 } }, "policies.gas_price_cap"],
        [{ policies: { gas_cap: 1 } }, "policies.gas_cap"],
        [{ days: 3 }, "policies"],
        [{ policies: {}, days: 31 }, "days"],
        [{ policies: {}, days: 0 }, "days"],
        [{ policies: {}, day: 3 }, "day"]
      ] as const) {
        const { json, status } = yield* rehearse(body)
        assert.strictEqual(status, 400)
        assert.include(json.error, `${field}: `)
      }
    })
  )

  it.effect("is answered for evm, for a relayer of the caller, and for a caller that may read transactions", () =>
    Effect.gen(function* () {
      yield* prepare()
      const body = { policies: {} }
      assert.strictEqual((yield* rehearse(body, {}, "sol")).status, 501)
      assert.strictEqual((yield* rehearse(body, {}, "none")).status, 404)
      const blind = yield* makeKey(["relayers:read"])
      assert.strictEqual((yield* rehearse(body, { key: blind })).status, 403)
      const narrow = yield* makeKey(["relayers:read", "transactions:read"], { relayer_ids: ["other"] })
      assert.strictEqual((yield* rehearse(body, { key: narrow })).status, 403)
      assert.strictEqual((yield* rehearse(body, { key: narrow }, "other")).status, 200)
    })
  )

  it.effect("names the days that fit if there are too many transactions", () =>
    Effect.gen(function* () {
      yield* prepare()
      yield* sent()
      yield* multiply
      yield* TestClock.adjust("72 hours")
      yield* confirm([yield* sent()], 1n)
      const { json, status } = yield* rehearse({ policies: {}, days: 30 })
      assert.strictEqual(status, 413)
      assert.include(
        json.error,
        "the last 30 days have more than 100000 final transactions; 3 days have at most as many"
      )
      assert.deepInclude((yield* rehearse({ policies: {}, days: 3 })).json.data, { transactions: 1 })
    })
  )

  it.effect("says for how many blocks the cap would have held a transaction, if a provider does", () =>
    Effect.gen(function* () {
      const server = yield* prepareAt({}, [60n, 55n, 50n, 45n])
      yield* confirm([yield* sent()], 60n)
      const { json } = yield* rehearse({ policies: { gas_price_cap: String(50n * gwei) } })
      assert.nestedPropertyVal(json.data, "would_hold.first.0.blocks", 3)
      const asked = server.seen.find(({ method }) => method === "eth_feeHistory")
      assert.deepStrictEqual(asked?.params, ["0x4", "0xe", []])
      server.fail({ error: -32_601 }, { method: "eth_feeHistory" })
      const without = yield* rehearse({ policies: { gas_price_cap: String(50n * gwei) } })
      assert.nestedPropertyVal(without.json.data, "would_hold.count", 1)
      assert.notNestedProperty(without.json.data, "would_hold.first.0.blocks")
    })
  )

  it.live("does not wait for a provider that does not answer", () =>
    Effect.gen(function* () {
      const server = yield* prepareAt({}, [60n, 55n, 50n, 45n])
      yield* confirm([yield* sent()], 60n)
      server.fail("hang", { method: "eth_feeHistory" })
      const { json, status } = yield* rehearse({ policies: { gas_price_cap: String(50n * gwei) } })
      assert.strictEqual(status, 200)
      assert.nestedPropertyVal(json.data, "would_hold.count", 1)
      assert.notNestedProperty(json.data, "would_hold.first.0.blocks")
    })
  )
})
