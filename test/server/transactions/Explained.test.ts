// Explanations show figures and moments of the moment of the answer.
import { assert } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { KnownCode } from "../../../src/networks/core/Cause.ts"
import { TestClock } from "effect/testing"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { asTimePasses } from "../events/LiveApi.ts"
import { dataOf, makeKey, prepare, receiver, send, transactions } from "./Fixtures.ts"

interface Explained {
  readonly code: string
  readonly reason: string
  readonly since: string
  readonly figures: Readonly<Record<string, unknown>>
  readonly next: string
  readonly next_at: string
}

const explain = (id: string, call: TestApi.Call = {}) =>
  Effect.map(
    Effect.flatMap(TestApi.TestApi, (api) => api.call(`${transactions}/${id}/explain`, call)),
    ({ json }) => json.data as Explained
  )

/** Sent by `other`, which shares its account with `sender`. */
const sendOther = Effect.map(
  Effect.flatMap(TestApi.TestApi, ({ call }) =>
    call("/api/v1/relayers/other/transactions", { body: { to: receiver } })
  ),
  dataOf
)

/** As if the lane had made it so. */
const become = Effect.fnUntraced(function* (
  id: string,
  { state = "pending", nonce = null, code, figures = {} }: Row & { readonly code: string }
) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    UPDATE transactions SET state = ${state}, nonce = ${nonce}::bigint, code = ${code}, figures = ${JSON.stringify(figures)}::text::json
    WHERE id = ${id}::uuid`
})

interface Row {
  readonly state?: string
  readonly nonce?: string | null
  readonly figures?: object
}

layerEach(TestApi.layer())("an explanation", (it) => {
  it.effect("says how much to send to which address on which network", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { id } = dataOf(yield* send({ to: receiver }))
      const { json } = yield* Effect.flatMap(TestApi.TestApi, ({ call }) => call("/api/v1/relayers/sender"))
      const { address, network } = json.data as { readonly address: string; readonly network: string }
      const funds = { required: "1000", available: "300", reserved: "5", minimum: "100" }
      yield* become(id, { code: "insufficient_funds", figures: funds })
      assert.include((yield* explain(id)).next, `Send at least 800 wei to ${address} on evm:${network}.`)
      yield* become(id, { code: "insufficient_funds", figures: { ...funds, available: "1100" } })
      assert.notInclude((yield* explain(id)).next, "Send at least")
    })
  )

  it.effect("gives the same sum as the explanation of the relayer", () =>
    Effect.gen(function* () {
      yield* prepare()
      const sql = yield* SqlClient.SqlClient
      const { id } = dataOf(yield* send({ to: receiver }))
      const { call } = yield* TestApi.TestApi
      const next = Effect.all([
        Effect.map(explain(id), (explained) => explained.next),
        Effect.map(call("/api/v1/relayers/sender/explain"), ({ json }) => (json.data as Explained).next)
      ])
      const reading = JSON.stringify({ network_type: "evm", balance: "0", failures: [], providers: [] })
      yield* sql`UPDATE relayer_checks SET reading = ${reading}::text::json WHERE relayer_id = 'sender'`
      const figures = { required: "1000", available: "0", reserved: "0", minimum: "0" }
      yield* become(id, { code: "insufficient_funds", figures })
      for (const each of yield* next) assert.match(each, /^Send at least 1000 wei to .+: a transaction waits for it\. /)
      // The default `min_balance` is 1 wei, which no figure of the transaction has.
      yield* become(id, { code: "queued" })
      const [ofTransaction, ofRelayer] = yield* next
      assert.notInclude(ofTransaction, "Send at least")
      assert.match(ofRelayer, /^Send at least 1 wei to .+: it has 0 of the 1 that it needs\. /)
    })
  )

  it.effect("of a queued transaction names the one in front that waits, and its reason", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const front = dataOf(yield* send({ to: receiver }))
      const queued = dataOf(yield* send({ to: receiver }))
      const figures = { required: "1000", available: "300", reserved: "5", minimum: "100" }
      assert.notInclude((yield* explain(queued.id)).reason, front.id)
      yield* become(front.id, { code: "insufficient_funds", figures })
      const { code, reason, next } = yield* explain(queued.id)
      assert.strictEqual(code, "queued")
      assert.include(
        reason,
        `behind 1 transaction of its lane. The first of them, transaction ${front.id}, waits: that transaction needs 1000 wei.`
      )
      assert.include(next, `The transaction goes on when transaction ${front.id} does, or ends.`)
      // A caller without the relayer of the one in front.
      const other = yield* sendOther
      const key = yield* call("/api/v1/api-keys", {
        body: { name: "other", scopes: ["transactions:read"], relayer_ids: ["other"] }
      })
      const { key: limited } = key.json.data as { readonly key: string }
      const { json } = yield* call(`/api/v1/relayers/other/transactions/${other.id}/explain`, { key: limited })
      const seen = json.data as Explained
      assert.include(seen.reason, "The first of them is another transaction with code insufficient_funds.")
      assert.notInclude(JSON.stringify(seen), front.id)
    })
  )

  it.effect("of a relayer whose first transaction waits has a state of its own, and names that transaction", () =>
    Effect.gen(function* () {
      yield* prepare()
      const sql = yield* SqlClient.SqlClient
      const { call } = yield* TestApi.TestApi
      const { id } = dataOf(yield* send({ to: receiver }))
      const healthy = JSON.stringify({ status: "healthy", told_degraded: false, told_low: false })
      yield* sql`UPDATE relayer_checks SET state = ${healthy}::text::json WHERE relayer_id = 'sender'`
      const said = Effect.map(
        call("/api/v1/relayers/sender/explain"),
        ({ json }) => json.data as Explained & { readonly state: string; readonly front?: object }
      )
      assert.deepInclude(yield* said, { state: "healthy", code: "all_well" })
      // It is queued behind the first one.
      yield* send({ to: receiver })
      yield* become(id, { code: "gas_price_above_cap", figures: { base_fee: "42", cap: "40", limit: "cap" } })
      const waiting = yield* said
      assert.deepInclude(waiting, { state: "waiting", code: "transaction_waits" })
      assert.deepInclude(waiting.front, { transaction_id: id, code: "gas_price_above_cap", count: 2 })
      assert.include(waiting.reason, "In all, 2 transactions of the relayer wait.")
      assert.match(
        waiting.reason,
        new RegExp(`^Transaction ${id} waits\\. The base fee of the next block is 42 wei per gas`)
      )
      assert.deepInclude((yield* asTimePasses(call("/api/v1/relayers/sender/status"))).json.data as object, {
        health: "waiting"
      })
      yield* become(id, { code: "in_pool", state: "submitted", nonce: "0" })
      assert.deepInclude(yield* said, { state: "healthy", code: "all_well" })
    })
  )

  it.effect("a disabled relayer is checked at once when a transaction is confirmed or has funds", () =>
    Effect.gen(function* () {
      yield* prepare()
      const sql = yield* SqlClient.SqlClient
      const { id } = dataOf(yield* send({ to: receiver }))
      const later = sql`UPDATE relayer_checks SET next_check_at = now() + interval '1 hour', claimed_by = NULL`
      const isDue = Effect.map(
        sql<{ due: boolean }>`SELECT next_check_at <= now() AS due FROM relayer_checks WHERE relayer_id = 'sender'`,
        ([row]) => row?.due
      )
      const disable = (disabled: boolean) =>
        sql`UPDATE relayers SET system_disabled = ${disabled}, disabled_reason = ${disabled ? JSON.stringify({ type: "BalanceCheckFailed", details: "x" }) : null}::text::json WHERE id = 'sender'`
      const after = Effect.fnUntraced(function* (change: Effect.Effect<unknown, unknown, SqlClient.SqlClient>) {
        yield* later
        yield* Effect.orDie(change)
        return yield* isDue
      })
      const confirm = sql`
        UPDATE transactions SET state = 'confirmed', code = 'confirmed', nonce = 0, mined_attempt = 1, final_at = now()
        WHERE id = ${id}::uuid`

      yield* disable(true)
      assert.strictEqual(yield* after(become(id, { code: "insufficient_funds" })), false)
      assert.strictEqual(yield* after(become(id, { code: "queued" })), true)
      assert.strictEqual(yield* after(become(id, { code: "paused" })), false)
      // A relayer that works.
      yield* disable(false)
      yield* become(id, { code: "insufficient_funds" })
      assert.strictEqual(yield* after(become(id, { code: "queued" })), false)

      yield* disable(true)
      assert.strictEqual(yield* after(confirm), true)
      assert.strictEqual(yield* after(confirm), false)
    })
  )

  it.effect("shows the depth of the block now", () =>
    Effect.gen(function* () {
      yield* prepare()
      const sql = yield* SqlClient.SqlClient
      const { id } = dataOf(yield* send({ to: receiver }))
      const figures = JSON.stringify({ block: 13, blocks: 0, required_blocks: 12 })
      yield* sql`UPDATE transactions SET code = 'mined_waiting', figures = ${figures}::text::json`
      yield* sql`UPDATE lanes SET chain_block = 18, chain_hash = '0x01'`
      const { figures: shown, reason } = yield* explain(id)
      assert.strictEqual(shown.blocks, 5)
      assert.include(reason, "5 of 12 blocks")
    })
  )

  it.effect("shows what is in flight now", () =>
    Effect.gen(function* () {
      yield* prepare()
      const sql = yield* SqlClient.SqlClient
      const { id } = dataOf(yield* send({ to: receiver }))
      const figures = JSON.stringify({ window: 64, in_flight: 64 })
      yield* sql`UPDATE transactions SET code = 'lane_window_full', figures = ${figures}::text::json`
      assert.strictEqual((yield* explain(id)).figures.in_flight, 0)
    })
  )

  it.effect("never names a moment that has passed, whatever its code", () =>
    Effect.gen(function* () {
      yield* prepare()
      const sql = yield* SqlClient.SqlClient
      const { id } = dataOf(yield* send({ to: receiver }))
      yield* sql`UPDATE lanes SET next_poll_at = to_timestamp(0)`
      yield* TestClock.adjust("1 minute")
      const now = yield* Clock.currentTimeMillis
      for (const code of KnownCode.literals) {
        yield* become(id, { code })
        const { next_at, since } = yield* explain(id)
        assert.isAtLeast(Date.parse(next_at), now, code)
        assert.isAtMost(Date.parse(since), now, code)
      }
    })
  )

  it.effect("of every transaction of a paused relayer says that it is paused", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const sent = [dataOf(yield* send({ to: receiver })), dataOf(yield* send({ to: receiver }))]
      yield* call("/api/v1/relayers/sender", { method: "PATCH", body: { paused: true } })
      for (const { id } of sent) assert.strictEqual((yield* explain(id)).code, "relayer_paused")
    })
  )
})

layerEach(TestApi.layer())("an explanation of a transaction that waits for others names the one in front", (it) => {
  it.effect("if its call reverts", () =>
    Effect.gen(function* () {
      yield* prepare()
      const front = yield* sendOther
      const { id } = dataOf(yield* send({ to: receiver }))
      yield* become(front.id, { state: "signed", nonce: "6", code: "gas_price_above_cap" })
      yield* become(id, { code: "waits_for_predecessors" })
      const { figures, reason } = yield* explain(id)
      assert.deepStrictEqual(figures, { front_nonce: 6, front_id: front.id, front_code: "gas_price_above_cap" })
      assert.include(reason, `transaction ${front.id} (nonce 6, code gas_price_above_cap)`)
    })
  )

  it.effect("if it requires a nonce that only a pending one can lead to", () =>
    Effect.gen(function* () {
      yield* prepare()
      const front = yield* sendOther
      const { id } = dataOf(yield* send({ to: receiver, nonce: 2 }))
      yield* become(front.id, { code: "insufficient_funds" })
      const figures = { required_nonce: 2, next_nonce: 0 }
      yield* become(id, { code: "waits_for_predecessors", figures })
      const shown = yield* explain(id)
      assert.deepStrictEqual(shown.figures, { ...figures, front_id: front.id, front_code: "insufficient_funds" })
      yield* become(front.id, { state: "signed", nonce: "0", code: "in_pool" })
      assert.deepStrictEqual((yield* explain(id)).figures, figures)
    })
  )

  it.effect("if it is in flight behind bytes that no node has", () =>
    Effect.gen(function* () {
      yield* prepare()
      const front = yield* sendOther
      const { id } = dataOf(yield* send({ to: receiver }))
      yield* become(id, { state: "submitted", nonce: "7", code: "in_pool", figures: { sends: 1 } })
      yield* become(front.id, { state: "submitted", nonce: "6", code: "in_pool" })
      assert.strictEqual((yield* explain(id)).code, "in_pool")
      yield* become(front.id, { state: "submitted", nonce: "6", code: "not_in_pool_rebroadcast" })
      const { code, figures } = yield* explain(id)
      assert.strictEqual(code, "waits_for_predecessors")
      const named = { nonce: 7, front_nonce: 6, front_id: front.id, front_code: "not_in_pool_rebroadcast" }
      assert.deepStrictEqual(figures, named)
      yield* become(front.id, { state: "submitted", nonce: "8", code: "not_in_pool_rebroadcast" })
      assert.strictEqual((yield* explain(id)).code, "in_pool")
    })
  )

  it.effect("without its id if the key cannot use its relayer", () =>
    Effect.gen(function* () {
      yield* prepare()
      const front = yield* sendOther
      const { id } = dataOf(yield* send({ to: receiver }))
      yield* become(front.id, { state: "signed", nonce: "6", code: "sending" })
      yield* become(id, { code: "waits_for_predecessors" })
      const key = yield* makeKey(["transactions:read"], { relayer_ids: ["sender"] })
      const { figures, reason } = yield* explain(id, { key })
      assert.deepStrictEqual(figures, { front_nonce: 6, front_code: "sending" })
      assert.notInclude(reason, front.id)
    })
  )
})
