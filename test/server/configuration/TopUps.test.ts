// Top-ups in configurations: the order of creations and deletions, chains of payers, and applies at the same time.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { actionsOf, applied, apply, call, planned, refusedPlan } from "./requests.ts"

const signers = Object.fromEntries(
  ["1", "2", "3"].map((digit) => [`s${digit}`, { type: "plain", config: { key: digit.repeat(64) } }])
)

const relayerOf = (signer: string, from?: string, more: object = {}) => ({
  name: signer,
  network_type: "evm",
  network: "sepolia",
  signer_id: signer,
  ...(from === undefined
    ? {}
    : { policies: { top_up: { from, below: "10", to: "100", max_per_day: "1000", ...more } } })
})

const documentOf = (relayers: object, name = "payments") => ({ version: 1, name, signers, relayers })

const ofRelayers = (lines: ReadonlyArray<string>) => lines.filter((line) => line.includes("relayers."))

const stored = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ target: string; payer: string }>`
    SELECT r.id AS target, f.id AS payer FROM relayer_top_ups t
    JOIN relayers r ON r.seq = t.relayer_number JOIN relayers f ON f.seq = t.from_number ORDER BY r.id`
)

layerEach(TestApi.layer())("top-ups in a configuration", (it) => {
  it.effect("the payer is created before, and deleted after, the relayers that name it", () =>
    Effect.gen(function* () {
      const document = documentOf({ hot: relayerOf("s1", "treasury"), treasury: relayerOf("s2") })
      const plan = yield* planned(document)
      assert.deepStrictEqual(ofRelayers(actionsOf(plan)), ["create relayers.treasury", "create relayers.hot"])
      yield* applied(document)
      assert.deepStrictEqual(yield* stored, [{ target: "hot", payer: "treasury" }])
      assert.deepStrictEqual((yield* applied(document)).changed, [])
      const without = documentOf({})
      const removal = yield* planned(without, { prune: true })
      assert.deepStrictEqual(ofRelayers(actionsOf(removal)), ["delete relayers.hot", "delete relayers.treasury"])
      yield* applied(without, { prune: true })
      assert.deepStrictEqual(yield* stored, [])
    })
  )

  it.effect("a payer that does not exist, that gets top-ups, or that is still named is a problem of the plan", () =>
    Effect.gen(function* () {
      const missing = yield* refusedPlan(documentOf({ hot: relayerOf("s1", "nobody") }))
      assert.include(
        missing,
        "relayers.hot.policies.top_up.from: no relayer with this id, in the file or in the service"
      )
      const loop = yield* refusedPlan(documentOf({ one: relayerOf("s1", "two"), two: relayerOf("s2", "one") }))
      assert.include(loop, "relayers.one.policies.top_up.from: gets top-ups itself: two")
      assert.include(loop, "relayers.two.policies.top_up.from: gets top-ups itself: one")
      yield* applied(documentOf({ hot: relayerOf("s1", "treasury"), treasury: relayerOf("s2") }))
      const named = yield* refusedPlan(documentOf({ hot: relayerOf("s1", "treasury") }), { prune: true })
      assert.include(named, "relayers.treasury: cannot be deleted: it is used by relayers.hot")
      const ownAccount = yield* apply(documentOf({ hot: relayerOf("s1", "other"), other: relayerOf("s1") }, "others"), {
        take_over: true
      })
      assert.strictEqual(ownAccount.status, 422, ownAccount.text)
      assert.include(ownAccount.json.error ?? "", "has the account of the relayer")
      assert.deepStrictEqual(yield* stored, [{ target: "hot", payer: "treasury" }])
    })
  )

  it.effect("roles are swapped by one apply", () =>
    Effect.gen(function* () {
      yield* applied(documentOf({ one: relayerOf("s1", "two"), two: relayerOf("s2") }))
      yield* applied(documentOf({ one: relayerOf("s1"), two: relayerOf("s2", "one") }))
      assert.deepStrictEqual(yield* stored, [{ target: "two", payer: "one" }])
    })
  )

  it.effect("the role of a payer moves along a chain and back by one apply each, whatever the ids are", () =>
    Effect.gen(function* () {
      const chained = (payers: Readonly<Record<string, string>>) =>
        applied(
          documentOf({
            a: relayerOf("s1", payers["a"]),
            b: relayerOf("s2", payers["b"]),
            c: relayerOf("s3", payers["c"])
          })
        )
      for (const ids of ["abc", "acb", "bac", "bca", "cab", "cba"]) {
        const [first = "", second = "", third = ""] = ids
        yield* chained({})
        yield* chained({ [second]: first })
        yield* chained({ [third]: second })
        assert.deepStrictEqual(yield* stored, [{ target: third, payer: second }])
        yield* chained({ [second]: first })
        assert.deepStrictEqual(yield* stored, [{ target: second, payer: first }])
      }
    })
  )

  it.effect("a payer gets top-ups in the apply that deletes the relayer for which it paid", () =>
    Effect.gen(function* () {
      yield* applied(documentOf({ a: relayerOf("s1", "b"), b: relayerOf("s2"), c: relayerOf("s3") }))
      yield* applied(documentOf({ b: relayerOf("s2", "c"), c: relayerOf("s3") }), { prune: true })
      assert.deepStrictEqual(yield* stored, [{ target: "b", payer: "c" }])
    })
  )

  it.effect("a payer is replaced in the apply that takes away the last top-up, whatever the ids are", () =>
    Effect.gen(function* () {
      for (const [target, payer] of [
        ["a", "b"],
        ["b", "a"]
      ] as const) {
        yield* applied(documentOf({ [target]: relayerOf("s1", payer), [payer]: relayerOf("s2") }))
        assert.deepStrictEqual(yield* stored, [{ target, payer }])
        const options = { replace: [`relayers.${payer}`] }
        yield* applied(documentOf({ [target]: relayerOf("s1"), [payer]: relayerOf("s3") }), options)
        assert.deepStrictEqual(yield* stored, [])
        yield* applied(documentOf({}), { prune: true })
      }
    })
  )

  it.effect("a raised limit and a new payer are marked, and a lower limit is not", () =>
    Effect.gen(function* () {
      const relayers = (from: string, more: object) => ({
        hot: relayerOf("s1", from, more),
        treasury: relayerOf("s2"),
        vault: relayerOf("s3")
      })
      yield* applied(documentOf(relayers("treasury", {})))
      const marked = Effect.fnUntraced(function* (from: string, more: object) {
        const { steps } = yield* planned(documentOf(relayers(from, more)))
        return steps.flatMap(({ changes }) => changes.map(({ is_warning, path }) => `${path} ${is_warning}`))
      })
      assert.deepStrictEqual(yield* marked("treasury", { max_per_day: "2000" }), ["policies.top_up.max_per_day true"])
      assert.deepStrictEqual(yield* marked("treasury", { max_per_day: "500" }), ["policies.top_up.max_per_day false"])
      assert.deepStrictEqual(yield* marked("vault", {}), ["policies.top_up.from true"])
    })
  )

  it.effect(
    "configurations and requests that lock the same relayers at the same time wait for each other, and all end",
    () =>
      Effect.gen(function* () {
        yield* applied(documentOf({ a: relayerOf("s1"), b: relayerOf("s2"), c: relayerOf("s3") }))
        const one = documentOf({ a: relayerOf("s1", "b"), b: relayerOf("s2"), c: relayerOf("s3", "b") })
        const patch = (id: string, from: string | null) =>
          call(`/api/v1/relayers/${id}`, {
            method: "PATCH",
            body: {
              policies: { top_up: from === null ? null : { from, below: "1", to: "2", max_per_day: "3" } }
            }
          })
        for (let turn = 0; turn < 5; turn++) {
          const answers = yield* Effect.all(
            [apply(one), patch("c", "b"), patch("a", "b"), patch("b", "c"), patch("a", null)],
            { concurrency: "unbounded" }
          )
          for (const { status, text } of answers) assert.include([200, 400, 409, 412, 422], status, text)
          const edges = yield* stored
          const payers = new Set(edges.map(({ payer }) => payer))
          assert.isFalse(edges.some(({ target }) => payers.has(target)))
          for (const id of ["a", "b", "c"]) yield* patch(id, null)
        }
      })
  )
})
