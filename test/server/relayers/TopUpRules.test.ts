// Who may let which relayer pay for which: top-ups in the policies of relayers, over HTTP.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

const signerOf = (digit: string) => ({ id: `signer-${digit}`, type: "plain", config: { key: digit.repeat(64) } })

const relayerOf = (id: string, signer: string, more: object = {}) => ({
  id,
  name: id,
  network: "sepolia",
  network_type: "evm",
  paused: false,
  signer_id: `signer-${signer}`,
  ...more
})

const amounts = { below: "10", to: "100", max_per_day: "1000" }
const topUp = (from: string, more: object = {}) => ({ policies: { top_up: { from, ...amounts, ...more } } })

const treasury = relayerOf("treasury", "1")
const hot = relayerOf("hot", "2")

const at = (id: string) => `/api/v1/relayers/${id}`

const call = (path: string, options: TestApi.Call = {}) =>
  Effect.flatMap(TestApi.TestApi, (api) => api.call(path, options))

const patch = (id: string, body: unknown, options: TestApi.Call = {}) =>
  call(at(id), { ...options, method: "PATCH", body })

const make = (body: object, options: TestApi.Call = {}) => call("/api/v1/relayers", { ...options, body })

const setUp = Effect.gen(function* () {
  for (const digit of ["1", "2", "3"]) yield* Prepared.create("signers", signerOf(digit))
  yield* Prepared.create("relayers", treasury)
  yield* Prepared.create("relayers", hot)
})

const stored = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ target: string; payer: string; chain: string }>`
    SELECT r.id AS target, f.id AS payer, t.chain FROM relayer_top_ups t
    JOIN relayers r ON r.seq = t.relayer_number JOIN relayers f ON f.seq = t.from_number ORDER BY r.seq`
)

layerEach(Prepared.layer(setUp))("the policy top_up", (it) => {
  it.effect("is stored with decimal strings, by the numbers of both relayers, and its removal removes them", () =>
    Effect.gen(function* () {
      const answer = yield* patch("hot", topUp("treasury", { max_per_day: 340_282_366_920_938, runway_hours: 24 }))
      assert.strictEqual(answer.status, 200, answer.text)
      assert.include(
        answer.text,
        `"top_up":{"from":"treasury","below":"10","to":"100","max_per_day":"340282366920938","runway_hours":24}`
      )
      assert.deepStrictEqual(yield* stored, [{ target: "hot", payer: "treasury", chain: "evm:11155111" }])
      assert.strictEqual((yield* patch("hot", { policies: { top_up: { to: "50" } } })).status, 200)
      assert.strictEqual((yield* patch("hot", { policies: { top_up: null } })).status, 200)
      assert.deepStrictEqual(yield* stored, [])
      assert.strictEqual((yield* patch("hot", topUp("treasury"))).status, 200)
      assert.strictEqual((yield* patch("hot", { policies: null })).status, 200)
      assert.deepStrictEqual(yield* stored, [])
      const made = yield* make(relayerOf("other", "3", topUp("treasury")))
      assert.strictEqual(made.status, 201, made.text)
      assert.deepStrictEqual(yield* stored, [{ target: "other", payer: "treasury", chain: "evm:11155111" }])
      assert.strictEqual((yield* call(at("other"), { method: "DELETE" })).status, 200)
      assert.deepStrictEqual(yield* stored, [])
    })
  )

  it.effect("bad input is refused with the name of the field, and changes nothing", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [object, string]> = [
        [topUp("nobody"), "policies.top_up.from: no relayer with this id"],
        [topUp("hot"), "policies.top_up.from: has the account of the relayer"],
        [topUp("a b"), "policies.top_up.from"],
        [topUp("treasury", { to: "10" }), "policies.top_up.to: must be more than below"],
        [topUp("treasury", { below: "0" }), "policies.top_up.below"],
        [topUp("treasury", { below: "-1" }), "policies.top_up.below"],
        [topUp("treasury", { max_per_day: "0" }), "policies.top_up.max_per_day"],
        [topUp("treasury", { max_per_day: "1.5" }), "policies.top_up.max_per_day"],
        [topUp("treasury", { to: String(2n ** 128n) }), "policies.top_up.to"],
        [topUp("treasury", { runway_hours: 0 }), "policies.top_up.runway_hours"],
        [topUp("treasury", { runway_hours: 721 }), "policies.top_up.runway_hours"],
        [topUp("treasury", { unit: "wei" }), "policies.top_up.unit"],
        [{ policies: { top_up: { from: "treasury" } } }, "policies.top_up.below"],
        [{ policies: { top_up: "treasury" } }, "policies.top_up"],
        [{ policies: { top_up_out_per_day: "0" } }, "policies.top_up_out_per_day"]
      ]
      const before = yield* call(at("hot"))
      for (const [body, message] of cases) {
        const changed = yield* patch("hot", body)
        assert.strictEqual(changed.status, 400, `${JSON.stringify(body)} ${changed.text}`)
        assert.include(changed.json.error ?? "", message)
      }
      for (const [body] of cases.filter(([, message]) => !message.includes("account"))) {
        assert.strictEqual((yield* make(relayerOf("new", "3", body))).status, 400, JSON.stringify(body))
      }
      assert.strictEqual((yield* call(at("hot"))).text, before.text)
      assert.strictEqual((yield* call(at("new"))).status, 404)
      assert.deepStrictEqual(yield* stored, [])
    })
  )

  it.effect("on solana, `to` is at least the rent-exempt minimum", () =>
    Effect.gen(function* () {
      const solana = (to: string) =>
        make({ ...relayerOf("sol", "2", topUp("treasury", { to })), network_type: "solana", network: "devnet" })
      const low = yield* solana("890879")
      assert.strictEqual(low.status, 400, low.text)
      assert.include(low.json.error ?? "", "policies.top_up.to: must be at least 890880, the rent-exempt minimum")
      // The payer of another chain is refused only then.
      assert.include((yield* solana("890880")).json.error ?? "", "policies.top_up.from: is not on the chain")
    })
  )

  it.effect("no account that gets top-ups pays any, and none that pays gets any, by no relayer of theirs", () =>
    Effect.gen(function* () {
      yield* Prepared.create("relayers", relayerOf("other", "3"))
      yield* Prepared.create("relayers", relayerOf("treasury-2", "1"))
      yield* Prepared.create("relayers", relayerOf("hot-2", "2"))
      assert.strictEqual((yield* patch("hot", topUp("treasury"))).status, 200)
      for (const id of ["treasury", "treasury-2"]) {
        const pays = yield* patch(id, topUp("other"))
        assert.strictEqual(pays.status, 400, pays.text)
        assert.include(pays.json.error ?? "", "policies.top_up: pays the top-ups of other relayers")
      }
      for (const id of ["hot", "hot-2"]) {
        const gets = yield* patch("other", topUp(id))
        assert.strictEqual(gets.status, 400, gets.text)
        assert.include(gets.json.error ?? "", "policies.top_up.from: gets top-ups itself")
      }
      const second = yield* patch("hot-2", topUp("treasury-2"))
      assert.strictEqual(second.status, 400, second.text)
      assert.include(second.json.error ?? "", "another relayer with this account gets top-ups already")
      assert.include((yield* make(relayerOf("hot-3", "2", topUp("treasury")))).json.error ?? "", "another relayer")
      assert.lengthOf(yield* stored, 1)
    })
  )

  it.effect("a payer is not deleted while it is named, and afterwards it is", () =>
    Effect.gen(function* () {
      yield* patch("hot", topUp("treasury"))
      const refused = yield* call(at("treasury"), { method: "DELETE" })
      assert.strictEqual(refused.status, 409, refused.text)
      assert.include(refused.json.error ?? "", "pays the top-ups of hot")
      yield* call(at("hot"), { method: "DELETE" })
      assert.strictEqual((yield* call(at("treasury"), { method: "DELETE" })).status, 200)
    })
  )

  it.effect(
    "a key needs both relayers and no limits to set it or to change it, and only its own relayer to remove it",
    () =>
      Effect.gen(function* () {
        const scopes = ["relayers:*", "transactions:*"]
        const ofTarget = yield* Prepared.createKey({ scopes, relayer_ids: ["hot"] })
        const ofBoth = yield* Prepared.createKey({ scopes, relayer_ids: ["hot", "treasury"] })
        const limited = yield* Prepared.createKey({
          scopes,
          transaction_limits: { max_value: "1", receivers: [], max_fee_per_day: "1" }
        })
        const unknown = yield* patch("hot", topUp("treasury"), { key: ofTarget })
        assert.strictEqual(unknown.status, 400, unknown.text)
        assert.include(unknown.json.error ?? "", "policies.top_up.from: no relayer with this id")
        assert.strictEqual(unknown.text, (yield* patch("hot", topUp("nobody"), { key: ofTarget })).text)
        assert.strictEqual((yield* patch("hot", topUp("treasury"), { key: limited })).status, 403)
        assert.strictEqual((yield* make(relayerOf("new", "3", topUp("treasury")), { key: limited })).status, 403)
        assert.strictEqual((yield* patch("hot", topUp("treasury"), { key: ofBoth })).status, 200)
        const raised = { policies: { top_up: { max_per_day: "2000" } } }
        assert.strictEqual((yield* patch("hot", raised, { key: ofTarget })).status, 400)
        assert.strictEqual((yield* patch("hot", raised, { key: limited })).status, 403)
        assert.strictEqual((yield* patch("hot", { policies: { min_balance: "5" } }, { key: ofTarget })).status, 200)
        assert.strictEqual((yield* patch("hot", { policies: { top_up: null } }, { key: ofTarget })).status, 200)
        assert.deepStrictEqual(yield* stored, [])
      })
  )

  it.effect("of two concurrent changes that would make a loop, one is refused", () =>
    Effect.gen(function* () {
      yield* Prepared.create("relayers", relayerOf("treasury-2", "1"))
      yield* Prepared.create("relayers", relayerOf("hot-2", "2"))
      for (const [one, other] of [
        ["hot", "treasury"],
        ["hot-2", "treasury-2"]
      ] as const) {
        for (let turn = 0; turn < 5; turn++) {
          const answers = yield* Effect.all(
            [patch(one, topUp("treasury")), patch(other, topUp("hot")), patch("hot", { name: `${turn}` })],
            { concurrency: "unbounded" }
          )
          assert.deepStrictEqual(
            answers
              .slice(0, 2)
              .map(({ status }) => status)
              .toSorted(),
            [200, 400],
            answers.map(({ text }) => text).join()
          )
          assert.lengthOf(yield* stored, 1)
          for (const id of [one, other]) yield* patch(id, { policies: null })
        }
      }
    })
  )
})
