// `POST …/transactions/simulate` of solana relayers: what a send would do and cost, and which rules keep it from being signed.
// The cluster makes blocks by the clock of the machine.
import { Effect } from "effect"
import { assert, layer } from "@effect/vitest"
import { computeBudgetProgram } from "../../../../src/networks/solana/rules/Programs.ts"
import { base64Of } from "../../../../src/networks/solana/rules/SolanaExchanges.ts"
import type * as TestApi from "../../../../testkit/TestApi.ts"
import { lookupTable } from "../../../../testkit/solana/Accounts.ts"
import { u64 } from "../../../../testkit/solana/Messages.ts"
import { makeKey } from "../../../server/transactions/Fixtures.ts"
import { addressOf } from "../../../testkit/solana/World.ts"
import { memo, sol, transfer } from "../lane/World.ts"
import { api, memoOf, prebuilt, recent, relayerAt } from "./Relayers.ts"

interface Simulated {
  readonly units_consumed?: number
  readonly compute_unit_limit?: number
  readonly fees: { readonly safeLow: string; readonly fastest: string }
  readonly max_fee: string
  readonly lamports_out?: string
  readonly out: string
  readonly spent: string
  readonly error?: string
  readonly verdict: ReadonlyArray<string>
}

const simulatedOf = ({ json }: TestApi.Answer) => json.data as Simulated

layer(api, { excludeTestServices: true })("a simulation of a solana relayer", (it) => {
  it.effect("shows what instructions take, and the fee of each speed within the cap", () =>
    Effect.gen(function* () {
      const { address, call, node, path, post } = yield* relayerAt({ max_allowed_fee_lamports: 6000 })
      node.prices = [0, 1_000_000, 2_000_000, 10 ** 9]
      const answer = yield* post("/transactions/simulate", transfer(address, sol))
      assert.strictEqual(answer.status, 200, answer.text)
      const shown = simulatedOf(answer)
      assert.deepStrictEqual([shown.out, shown.spent, shown.verdict], [String(sol), String(sol), []])
      assert.isAtLeast(Number(shown.lamports_out), Number(sol))
      assert.isAtLeast(shown.compute_unit_limit ?? 0, shown.units_consumed ?? 0)
      assert.isBelow(Number(shown.fees.safeLow), Number(shown.fees.fastest))
      assert.isAtMost(Number(shown.fees.fastest), 6000)
      const { json } = yield* call(path)
      assert.deepStrictEqual(json.data, [], "nothing is stored")
    })
  )

  it.effect("names the rule that keeps it from being signed, and the limits of the API key", () =>
    Effect.gen(function* () {
      const { address, cluster, post } = yield* relayerAt({ max_lamports_out: 5 })
      const simulate = (body: object, key?: string) =>
        Effect.map(post("/transactions/simulate", body, key === undefined ? {} : { key }), simulatedOf)
      assert.deepStrictEqual((yield* simulate(transfer(address, 6n))).verdict, ["value_above_cap"])
      const limited = yield* makeKey(["transactions:read"], { transaction_limits: { max_value: "1" } })
      assert.deepStrictEqual((yield* simulate(memo("x"), limited)).verdict, ["transaction_limits"])
      const own = prebuilt(address, recent(cluster), memoOf("x"))
      const { fees, max_fee, verdict } = yield* simulate({ transaction: own })
      assert.deepStrictEqual([fees.safeLow, fees.fastest, max_fee, verdict], ["5000", "5000", "5000", []])
    })
  )

  it.effect("does not take what other transactions pay between its two reads for a loss of its own", () =>
    Effect.gen(function* () {
      const { address, cluster, node, post } = yield* relayerAt()
      let payments = 3
      node.lies.set("simulateTransaction", () => {
        const account = cluster.accountOf(address)
        if (payments === 0 || account === undefined) return undefined
        payments--
        cluster.put({ [address]: { ...account, lamports: account.lamports - 5000n } })
        cluster.produce(2)
        return undefined
      })
      const { verdict } = simulatedOf(yield* post("/transactions/simulate", transfer(address, sol)))
      assert.deepStrictEqual([verdict, payments], [[], 0])
    })
  )

  it.effect("shows what a price without a limit costs, as a send of the same body pays it", () =>
    Effect.gen(function* () {
      const { address, post } = yield* relayerAt()
      const body = { ...transfer(address, sol), compute_unit_price: 1_000_000 }
      const { compute_unit_limit = 0, max_fee, verdict } = simulatedOf(yield* post("/transactions/simulate", body))
      assert.deepStrictEqual([verdict, max_fee], [[], String(5000 + compute_unit_limit)])
      assert.strictEqual((yield* post("/transactions", body)).status, 200)
    })
  )

  it.effect("shows the fee that a node names, if the bytes leave the limit of compute units to the runtime", () =>
    Effect.gen(function* () {
      const { address, cluster, node, post } = yield* relayerAt()
      const price = { program: computeBudgetProgram, accounts: [], data: Uint8Array.from([3, ...u64(1_000_000)]) }
      const own = { transaction: prebuilt(address, recent(cluster), [price, ...memoOf("x")]) }
      const shown = Effect.map(post("/transactions/simulate", own), (answer) => simulatedOf(answer).max_fee)
      assert.strictEqual(yield* shown, "208000")
      node.lies.set("getFeeForMessage", () => ({ result: { context: { slot: 10 ** 9 }, value: 100_000 } }))
      assert.strictEqual(yield* shown, "100000")
      node.lies.set("getFeeForMessage", () => ({ result: { context: { slot: 10 ** 9 }, value: null } }))
      assert.strictEqual(yield* shown, "208000")
    })
  )

  it.effect("of what fails shows no lamports that it takes, because no node shows accounts then", () =>
    Effect.gen(function* () {
      const { address, post } = yield* relayerAt()
      const { error, lamports_out, verdict } = simulatedOf(
        yield* post("/transactions/simulate", transfer(address, 10n ** 6n * sol))
      )
      assert.deepStrictEqual([verdict, lamports_out], [["would_fail"], undefined])
      assert.include(error ?? "", "Custom")
    })
  )

  it.effect(
    "says what a node says about a message that it does not execute, and which entry of a table is too young",
    () =>
      Effect.gen(function* () {
        const { address, cluster, node, post } = yield* relayerAt()
        const words = "invalid transaction: Transaction failed to sanitize accounts offsets correctly"
        node.lies.set("simulateTransaction", () => ({ error: { code: -32_602, message: words } }))
        const refused = simulatedOf(yield* post("/transactions/simulate", transfer(address, sol)))
        assert.deepStrictEqual([refused.verdict, refused.error], [["would_fail"], words])
        node.lies.clear()
        const { slot } = cluster.blocks.at(-1) ?? assert.fail("no block")
        const [table, loaded] = [addressOf(70), addressOf(71)]
        cluster.put({ [table]: lookupTable([loaded], { slot, from: 0 }) })
        const [instruction] = memo("young").instructions ?? []
        const body = {
          instructions: [{ ...instruction, accounts: [{ pubkey: loaded, is_signer: false, is_writable: true }] }],
          address_lookup_tables: [table]
        }
        const young = simulatedOf(yield* post("/transactions/simulate", body))
        assert.deepStrictEqual(young.verdict, ["lookup_table_unavailable"])
      })
  )

  it.effect("is refused for bytes that are no transaction", () =>
    Effect.gen(function* () {
      const { post } = yield* relayerAt()
      const { status, json } = yield* post("/transactions/simulate", { transaction: base64Of(Uint8Array.of(1, 2, 3)) })
      assert.strictEqual(status, 400)
      assert.include(json.error ?? "", "malformed")
    })
  )
})
