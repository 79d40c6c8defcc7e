// Payments of top-ups: what two providers of an evm chain show, what the limits leave, and what the ledger has of it.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { RelayerId } from "../../../src/domain/relayer/Relayer.ts"
import { TopUpChecks } from "../../../src/server/health/HealthChecks.ts"
import { RelayerTargets } from "../../../src/server/relayers/RelayerTargets.ts"
import { layerTopUpChecks } from "../../../src/server/transactions/TopUpPayments.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as RpcServer from "../../../testkit/RpcServer.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { network } from "./Fixtures.ts"

const hex = (value: bigint | number) => `0x${value.toString(16)}`
const hash = (height: number) => `0x${height.toString(16).padStart(64, "0")}`

const gwei = 10n ** 9n
const ether = 10n ** 18n

/** What a fake provider shows. A test may change it at any time. */
interface Shown {
  height: number
  /** The balance of the account that is topped up. */
  balance: bigint
  /** The balance of the payer. */
  treasury: bigint
}

const providerOf = (shown: Shown, treasury: () => string) =>
  RpcServer.make({
    eth_chainId: () => hex(31_337),
    eth_getBlockByNumber: ([at]) => {
      const height = at === "latest" ? shown.height : Number(at)
      return {
        number: hex(height),
        hash: hash(height),
        parentHash: hash(Math.max(height - 1, 0)),
        baseFeePerGas: hex(gwei),
        gasLimit: hex(30_000_000),
        timestamp: hex(height)
      }
    },
    eth_getBalance: ([address]) => hex(address === treasury() ? shown.treasury : shown.balance),
    eth_estimateGas: () => hex(21_000),
    eth_getCode: () => "0x",
    eth_gasPrice: () => hex(gwei),
    eth_maxPriorityFeePerGas: () => hex(gwei),
    eth_getTransactionCount: () => "0x0",
    eth_feeHistory: () => ({
      oldestBlock: "0x1",
      baseFeePerGas: [hex(gwei), hex(gwei)],
      gasUsedRatio: [0.5],
      reward: [[hex(gwei), hex(gwei), hex(gwei), hex(gwei)]]
    })
  })

const amounts = { below: String(ether), to: String(3n * ether), max_per_day: String(10n * ether) }

const relayerOf = (id: string, signer: string, policies: object) => ({
  id,
  name: id,
  network: "nowhere",
  network_type: "evm",
  paused: false,
  signer_id: signer,
  policies
})

interface Options {
  readonly providers?: number
  readonly topUp?: object
  readonly treasury?: object
  readonly shown?: Partial<Shown>
}

/** A treasury and the relayer `hot`, on a chain with fake providers. */
const world = Effect.fnUntraced(function* ({ providers = 2, shown: given, topUp, treasury = {} }: Options = {}) {
  let address = ""
  const shown = Array.from({ length: providers }, (): Shown => ({
    height: 100,
    balance: ether / 2n,
    treasury: 1000n * ether,
    ...given
  }))
  const servers = yield* Effect.forEach(shown, (one) => providerOf(one, () => address))
  yield* Prepared.create("networks", { ...network, rpc_urls: servers.map(({ url }) => url) })
  for (const digit of ["1", "2", "3"]) {
    yield* Prepared.create("signers", { id: `s${digit}`, type: "plain", config: { key: digit.repeat(64) } })
  }
  const payer = yield* Prepared.create("relayers", relayerOf("treasury", "s1", treasury))
  address = (payer as { readonly id: string; readonly address: string }).address
  yield* Prepared.create("relayers", relayerOf("hot", "s2", { top_up: { from: "treasury", ...amounts, ...topUp } }))
  return { shown, servers }
})

/** One look, as after a check. */
const check = (id = "hot") =>
  Effect.gen(function* () {
    const targets = yield* RelayerTargets
    const { run } = yield* TopUpChecks
    yield* run(yield* targets.get(RelayerId.make(id)))
  }).pipe(Effect.provide(layerTopUpChecks))

interface Payment {
  readonly sequence: number
  readonly amount: string
  readonly outcome: string | null
}

const payments = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<Payment>`SELECT sequence, amount::text, outcome FROM top_ups ORDER BY relayer_number, sequence`
)

const amountsPaid = Effect.map(payments, (rows) => rows.map(({ amount }) => BigInt(amount)))

const code = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ code: string | null }>`SELECT code FROM relayer_top_ups ORDER BY relayer_number LIMIT 1`
  return row?.code
})

const receipt = (height: number, isSuccess = true) =>
  JSON.stringify({
    blockNumber: height,
    blockHash: hash(height),
    isSuccess,
    paid: "1",
    gasUsed: "21000",
    effectiveGasPrice: "1"
  })

/** Ends the open payments on the chain. */
const end = (state: "confirmed" | "failed" | "expired", height?: number) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`
      UPDATE transactions SET state = ${state}, code = ${state}, final_at = now(),
        receipt = ${height === undefined ? null : receipt(height, state === "confirmed")}::text::json
      WHERE final_at IS NULL`
  )

/** Lets time pass for what was paid. */
const later = (interval: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`UPDATE top_ups SET ended_at = ended_at - ${interval}::interval WHERE ended_at IS NOT NULL`
  )

const events = Effect.map(
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{ type: string }>`SELECT type FROM events WHERE type LIKE 'relayer.top_up%' ORDER BY id`
  ),
  (rows) => rows.map(({ type }) => type)
)

const patch = (id: string, body: object) =>
  Effect.gen(function* () {
    const { call } = yield* TestApi.TestApi
    const answer = yield* call(`/api/v1/relayers/${id}`, { method: "PATCH", body })
    assert.strictEqual(answer.status, 200, answer.text)
  })

layerEach(TestApi.layer())("a top-up", (it) => {
  it.effect("is sent by the payer, up to `to`, when two providers show a low balance", () =>
    Effect.gen(function* () {
      const { shown } = yield* world()
      const [first] = shown
      if (first !== undefined) first.balance = ether / 4n
      yield* check()
      assert.deepStrictEqual(yield* amountsPaid, [3n * ether - ether / 4n])
      const { call } = yield* TestApi.TestApi
      const answer = yield* call("/api/v1/relayers/treasury/transactions")
      const [sent] = answer.json.data as ReadonlyArray<{
        readonly external_id: string
        readonly to: string
        readonly value: string
        readonly status: string
      }>
      const hot = (yield* call("/api/v1/relayers/hot")).json.data as { readonly address: string }
      assert.match(sent?.external_id ?? "", /^top-up:\d+:1$/)
      assert.deepInclude(sent, { to: hot.address, value: hex(3n * ether - ether / 4n), status: "pending" })
      // Code of the account cannot use more gas than the quote had.
      const sql = yield* SqlClient.SqlClient
      const requests =
        yield* sql`SELECT request->>'gas_limit' AS gas, request->>'simulate' AS simulate FROM transactions`
      assert.deepStrictEqual(requests, [{ gas: "21000", simulate: "true" }])
      assert.deepStrictEqual(yield* events, ["relayer.top_up_sent"])
      // While it is open, nothing else is sent.
      yield* check()
      assert.lengthOf(yield* payments, 1)
    })
  )

  it.effect(
    "is sent for a balance above `below` that lasts for fewer hours than `runway_hours`, as the API shows it",
    () =>
      Effect.gen(function* () {
        yield* world({ shown: { balance: 2n * ether }, topUp: { runway_hours: 24 } })
        const { call } = yield* TestApi.TestApi
        /** In whole hours. */
        const runway = Effect.map(call("/api/v1/relayers/hot/balances"), ({ json }) => {
          const { runway_seconds: seconds } = json.data as { readonly runway_seconds?: number }
          return seconds === undefined ? undefined : Math.round(seconds / 3600)
        })
        /** What the account had ten hours ago. It has 2 ether now. */
        const before = Effect.fnUntraced(function* (balance: bigint) {
          const sql = yield* SqlClient.SqlClient
          yield* sql`DELETE FROM relayer_balances`
          yield* sql`
          INSERT INTO relayer_balances (relayer_id, at, balance)
          VALUES ('hot', now() - interval '10 hours', ${String(balance)}::numeric), ('hot', now(), ${String(2n * ether)}::numeric)`
        })
        // Nothing is known of what it spends.
        yield* check()
        assert.deepStrictEqual([yield* runway, yield* amountsPaid], [undefined, []])
        // It lasts for 25 hours.
        yield* before(2n * ether + (8n * ether) / 10n)
        yield* check()
        assert.deepStrictEqual([yield* runway, yield* amountsPaid], [25, []])
        // It lasts for 20 hours.
        yield* before(3n * ether)
        yield* check()
        assert.deepStrictEqual([yield* runway, yield* amountsPaid], [20, [ether]])
        assert.deepStrictEqual(yield* events, ["relayer.top_up_sent"])
      })
  )

  it.effect("is not sent for a balance that only one of two providers shows, or that one alone answers", () =>
    Effect.gen(function* () {
      const { servers, shown } = yield* world()
      const [, liar] = shown
      if (liar !== undefined) liar.balance = 5n * ether
      yield* check()
      assert.deepStrictEqual(yield* payments, [])
      assert.strictEqual(yield* code, "balance_unconfirmed")
      if (liar !== undefined) liar.balance = 0n
      servers[1]?.fail({ error: -32_000 })
      yield* check()
      assert.deepStrictEqual(yield* payments, [])
      servers[1]?.recover()
      yield* check()
      assert.lengthOf(yield* payments, 1)
      assert.isNull(yield* code)
      assert.deepStrictEqual(yield* events, ["relayer.top_up_sent"])
    })
  )

  it.effect("by a single provider needs a low balance at two blocks", () =>
    Effect.gen(function* () {
      const { shown } = yield* world({ providers: 1 })
      const [only] = shown
      if (only === undefined) return assert.fail("no provider")
      yield* check()
      yield* check()
      assert.deepStrictEqual(yield* payments, [])
      only.height = 101
      only.balance = 2n * ether
      yield* check()
      only.height = 102
      only.balance = 0n
      yield* check()
      assert.deepStrictEqual(yield* payments, [])
      only.height = 103
      yield* check()
      assert.deepStrictEqual(yield* amountsPaid, [3n * ether])
    })
  )

  it.effect("waits for blocks that contain the last one", () =>
    Effect.gen(function* () {
      const { shown } = yield* world()
      yield* check()
      yield* end("confirmed", 110)
      for (const one of shown) one.height = 109
      yield* check()
      yield* check()
      assert.lengthOf(yield* payments, 1)
      shown.forEach((one) => (one.height = 110))
      yield* check()
      assert.lengthOf(yield* payments, 2)
    })
  )

  it.effect("never exceeds `max_per_day` in any 24 hours, whatever providers show", () =>
    Effect.gen(function* () {
      const { shown } = yield* world({ topUp: { max_per_day: String(4n * ether) }, shown: { balance: 0n } })
      let height = 100
      const next = Effect.gen(function* () {
        yield* check()
        height += 1
        yield* end("confirmed", height)
        for (const one of shown) one.height = height
      })
      yield* next
      yield* next
      yield* next
      assert.deepStrictEqual(yield* amountsPaid, [3n * ether, ether])
      assert.strictEqual(yield* code, "top_up_capped")
      assert.deepStrictEqual(yield* events, ["relayer.top_up_sent", "relayer.top_up_sent", "relayer.top_up_held"])
      const { call } = yield* TestApi.TestApi
      const explained = (yield* call("/api/v1/relayers/hot/explain")).json.data as {
        readonly reason: string
        readonly top_up: object
      }
      assert.include(explained.reason, "have used `max_per_day`")
      assert.deepInclude(explained.top_up, {
        from: "treasury",
        used: String(4n * ether),
        left: "0",
        code: "top_up_capped"
      })
      const attention = (yield* call("/api/v1/attention")).json.data as ReadonlyArray<{
        readonly code: string
        readonly kind: string
        readonly resource: object
      }>
      const item = attention.find((one) => one.code === "top_up_capped")
      assert.strictEqual(item?.kind, "funds")
      assert.deepStrictEqual(item?.resource, { kind: "relayer", id: "hot" })
      yield* later("23 hours 59 minutes")
      yield* next
      assert.lengthOf(yield* payments, 2)
      yield* later("2 minutes")
      yield* next
      assert.deepStrictEqual(yield* amountsPaid, [3n * ether, ether, 3n * ether])
    })
  )

  it.effect("that was never signed does not count, and one whose fate is not proven does", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* world({ topUp: { max_per_day: String(4n * ether) }, shown: { balance: 0n } })
      yield* check()
      yield* end("expired")
      yield* check()
      assert.strictEqual(yield* code, "top_up_failed")
      yield* later("10 minutes")
      yield* check()
      assert.deepStrictEqual(yield* amountsPaid, [3n * ether, 3n * ether])
      // Its row is gone.
      yield* sql`DELETE FROM transactions`
      yield* check()
      yield* later("10 minutes")
      yield* check()
      assert.deepStrictEqual(yield* amountsPaid, [3n * ether, 3n * ether, ether])
      assert.deepStrictEqual(
        (yield* payments).map(({ outcome }) => outcome),
        ["none", "unknown", null]
      )
    })
  )

  it.effect("that failed on the chain is not repeated for ten minutes", () =>
    Effect.gen(function* () {
      const { shown } = yield* world()
      yield* check()
      yield* end("failed", 101)
      for (const one of shown) one.height = 102
      for (let turn = 0; turn < 3; turn++) yield* check()
      assert.lengthOf(yield* payments, 1)
      assert.strictEqual(yield* code, "top_up_failed")
      yield* later("9 minutes")
      yield* check()
      assert.lengthOf(yield* payments, 1)
      yield* later("1 minute")
      yield* check()
      assert.lengthOf(yield* payments, 2)
    })
  )

  it.effect("is decided by one of two instances that check at the same time", () =>
    Effect.gen(function* () {
      yield* world()
      yield* Effect.all([check(), check(), check(), check()], { concurrency: "unbounded" })
      assert.lengthOf(yield* payments, 1)
      yield* end("confirmed", 100)
      yield* Effect.all([check(), check(), check(), check()], { concurrency: "unbounded" })
      assert.lengthOf(yield* payments, 2)
    })
  )

  it.effect("is bounded for all relayers of a payer, and ends for those that get none any more", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      yield* world({ treasury: { top_up_out_per_day: String(4n * ether) }, shown: { balance: 0n } })
      yield* Prepared.create("relayers", relayerOf("warm", "s3", { top_up: { from: "treasury", ...amounts } }))
      yield* Effect.all([check("hot"), check("warm")], { concurrency: "unbounded" })
      assert.deepStrictEqual(new Set(yield* amountsPaid), new Set([3n * ether, ether]))
      yield* end("confirmed", 100)
      yield* Effect.all([check("hot"), check("warm")], { concurrency: "unbounded" })
      assert.lengthOf(yield* payments, 2)
      assert.strictEqual(yield* code, "payer_capped")
      yield* later("24 hours")
      yield* check("hot")
      // Nothing looks at the payment any more.
      assert.strictEqual((yield* call("/api/v1/relayers/hot", { method: "DELETE" })).status, 200)
      yield* end("confirmed", 101)
      yield* check("warm")
      assert.include([...(yield* amountsPaid)], 3n * ether)
      const open = (yield* payments).filter(({ outcome }) => outcome === null)
      assert.lengthOf(open, 1)
    })
  )

  it.effect("counts the last 24 hours as used after a restore", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* world()
      yield* sql`UPDATE ledger_mark SET restored_at = now() - interval '23 hours'`
      yield* check()
      assert.deepStrictEqual(yield* payments, [])
      assert.strictEqual(yield* code, "top_ups_unknown")
      yield* sql`UPDATE ledger_mark SET restored_at = now() - interval '24 hours'`
      yield* check()
      assert.lengthOf(yield* payments, 1)
    })
  )

  it.effect("is held while its payer is paused, disabled, restored or short, or refuses it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { shown } = yield* world()
      const isHeld = Effect.fnUntraced(function* (expected: string) {
        yield* check()
        assert.deepStrictEqual(yield* payments, [])
        assert.strictEqual(yield* code, expected)
      })
      yield* patch("treasury", { paused: true })
      yield* isHeld("payer_unavailable")
      yield* patch("treasury", { paused: false })
      yield* sql`UPDATE relayers SET system_disabled = true, version = version + 1 WHERE id = 'treasury'`
      yield* isHeld("payer_unavailable")
      yield* sql`UPDATE relayers SET system_disabled = false, version = version + 1 WHERE id = 'treasury'`
      for (const one of shown) one.treasury = 2n * ether
      yield* isHeld("payer_short")
      for (const one of shown) one.treasury = 1000n * ether
      yield* patch("treasury", { policies: { min_balance: String(1000n * ether) } })
      yield* isHeld("payer_short")
      yield* patch("treasury", { policies: { min_balance: null, whitelist_receivers: [] } })
      yield* isHeld("payer_refuses")
      yield* patch("treasury", { policies: { whitelist_receivers: null } })
      yield* patch("hot", { paused: true })
      yield* check()
      assert.deepStrictEqual(yield* payments, [])
      assert.isNull(yield* code)
      yield* patch("hot", { paused: false })
      yield* check()
      assert.lengthOf(yield* payments, 1)
      assert.deepStrictEqual(yield* events, [
        "relayer.top_up_held",
        "relayer.top_up_held",
        "relayer.top_up_held",
        "relayer.top_up_sent"
      ])
    })
  )

  it.effect("has a name that no caller can give, and is canceled but not replaced", () =>
    Effect.gen(function* () {
      const { call } = yield* TestApi.TestApi
      yield* world()
      const path = "/api/v1/relayers/treasury/transactions"
      const to = `0x${"11".repeat(20)}`
      const named = yield* call(path, { body: { to, external_id: "top-up:1:1" } })
      assert.strictEqual(named.status, 400, named.text)
      assert.include(named.json.error ?? "", "external_id: names that begin with top-up:")
      const batch = yield* call(`${path}/batch`, { body: { transactions: [{ to }, { to, external_id: "top-up:x" }] } })
      assert.strictEqual(batch.status, 400, batch.text)
      assert.include(batch.json.error ?? "", "transactions.1.external_id")
      assert.strictEqual((yield* call(path, { body: { to, external_id: "a-top-up:1:1" } })).status, 200)
      yield* check()
      const sql = yield* SqlClient.SqlClient
      const [row] = yield* sql<{ id: string }>`SELECT transaction_id AS id FROM top_ups`
      const one = `${path}/${row?.id}`
      const replaced = yield* call(one, { method: "PUT", body: { to, value: "1" } })
      assert.strictEqual(replaced.status, 409, replaced.text)
      assert.include(replaced.json.error ?? "", "is the payment of a top-up")
      const canceled = yield* call(one, { method: "DELETE" })
      assert.strictEqual(canceled.status, 200, canceled.text)
      yield* check()
      assert.deepInclude((yield* payments)[0], { outcome: "none" })
      assert.strictEqual(yield* code, "top_up_failed")
    })
  )

  it.effect("is at least ten times its fee", () =>
    Effect.gen(function* () {
      const small = { below: "10", to: "100", max_per_day: "1000" }
      yield* world({ topUp: small, shown: { balance: 0n } })
      yield* check()
      assert.deepStrictEqual(yield* payments, [])
      assert.strictEqual(yield* code, "amount_too_small")
    })
  )

  it.effect("without funds fails at once when it is to be signed: the payer waits for nothing", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* world()
      yield* check()
      const [row] = yield* sql<{ request: { readonly fails_without_funds: boolean }; minutes: number }>`
        SELECT request, extract(epoch FROM valid_until - created_at)::float8 / 60 AS minutes FROM transactions`
      assert.isTrue(row?.request.fails_without_funds)
      assert.strictEqual(Math.round(row?.minutes ?? 0), 30)
    })
  )
})
