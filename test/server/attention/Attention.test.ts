// What needs attention, over HTTP: from the tables of relayers, transactions, receivers and keys.
import { assert } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { TestClock } from "effect/testing"
import { SqlClient, SqlError } from "effect/sql"
import * as Attention from "../../../src/server/attention/Attention.ts"
import { RelayerHealth } from "../../../src/server/health/RelayerHealth.ts"
import { authenticateRows } from "../../../testkit/authenticateRows.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as LedgerRows from "../../../testkit/LedgerRows.ts"
import { evmRelayer, notification } from "../../../testkit/fixtures.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

interface Item {
  readonly kind: string
  readonly code: string
  readonly host?: string
  readonly until?: string
  readonly reason: string
  readonly resource?: { readonly kind: string; readonly id: string }
  readonly relayers: {
    readonly count: number
    readonly disabled: number
    readonly degraded: number
    readonly ids: ReadonlyArray<string>
  }
  readonly transactions: { readonly count: number }
  readonly funding?: ReadonlyArray<{ readonly address: string; readonly missing: string; readonly unit: string }>
}

/** Two seconds later, so that no earlier result is used. */
const look = Effect.fnUntraced(function* (key: string = TestApi.apiKey) {
  yield* TestClock.adjust("3 seconds")
  const answer = yield* TestApi.call("/api/v1/attention", { key })
  assert.strictEqual(answer.status, 200, answer.text)
  return answer.json.data as ReadonlyArray<Item>
})

const kinds = (items: ReadonlyArray<Pick<Item, "kind" | "code">>) => items.map(({ kind, code }) => [kind, code])

const disable = (id: string, url: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => {
    const reason = { type: "RpcValidationFailed", details: "2 checks in a row failed: no provider answers" }
    const state = { status: "disabled", reason, failures: 2, answered: true, told_degraded: false, told_low: false }
    const provider = { url, weight: 100, breaker: "open", failed: true, code: "unreachable", error: "no answer" }
    const reading = { network_type: "evm", failures: [], providers: [provider] }
    return sql`
      UPDATE relayer_checks SET state = ${JSON.stringify(state)}::text::json, since = now(),
        reading = ${JSON.stringify(reading)}::text::json WHERE relayer_id = ${id}`
  })

const setCode = (relayer: string, code: string, ago = "1 hour") =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`
      UPDATE transactions SET code = ${code}, code_since = to_timestamp(0) - ${ago}::interval WHERE relayer_id = ${relayer}`
  )

/** In one transaction: the service looks for rows without a MAC, which need attention, too. */
const insertRelayers = (count: number) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql.withTransaction(Effect.andThen(LedgerRows.insertRelayers(count), authenticateRows()))
  )

/** A relayer with a signer of its own, and a transaction that it has accepted. Returns the relayer's address. */
const relayerThatSends = Effect.fnUntraced(function* (id: string, network: string) {
  yield* Prepared.create("signers", { id, type: "plain" })
  const { notification_id: _, ...relayer } = evmRelayer
  const created = yield* Prepared.create("relayers", { ...relayer, id, network, signer_id: id, policies: {} })
  const body = { to: `0x${"ab".repeat(20)}`, value: "1", gas_limit: 21_000 }
  const sent = yield* TestApi.call(`/api/v1/relayers/${id}/transactions`, { body })
  assert.strictEqual(sent.status, 200, sent.text)
  return String(Reflect.get(created, "address"))
})

layerEach(TestApi.layer())("what needs attention", (it) => {
  it.effect("is nothing while all is well", () =>
    Effect.gen(function* () {
      yield* insertRelayers(3)
      yield* LedgerRows.insert(LedgerRows.account(1), 2)
      assert.deepStrictEqual(yield* look(), [])
    })
  )

  it.effect("is one item for a provider, with its relayers and their transactions", () =>
    Effect.gen(function* () {
      yield* insertRelayers(3)
      for (const relayer of [1, 2]) yield* disable(`r${relayer}`, "https://rpc.example.com/***")
      yield* LedgerRows.insert(LedgerRows.account(1), 4)
      yield* setCode("r1", "relayer_disabled")
      const [item, ...rest] = yield* look()
      assert.isEmpty(rest)
      assert.deepInclude(item, {
        kind: "relayers_disabled",
        code: "RpcValidationFailed",
        host: "rpc.example.com",
        relayers: { count: 2, disabled: 2, degraded: 0, ids: ["r1", "r2"] },
        reason: "RPC URL https://rpc.example.com/***: no answer."
      })
      assert.strictEqual(item?.transactions.count, 4)
    })
  )

  it.effect("is what transactions wait for, in sentences, also with a code of a later version", () =>
    Effect.gen(function* () {
      yield* insertRelayers(4)
      const codes = { r1: "insufficient_funds", r2: "nonce_taken_unproven", r3: "code_of_tomorrow", r4: "queued" }
      for (const [relayer, code] of Object.entries(codes)) {
        yield* LedgerRows.insert(LedgerRows.account(Number(relayer.slice(1))), 1)
        yield* setCode(relayer, code)
      }
      const items = yield* look()
      assert.deepStrictEqual(kinds(items), [
        ["decision", "nonce_taken_unproven"],
        ["funds", "insufficient_funds"],
        ["held", "code_of_tomorrow"]
      ])
      assert.deepStrictEqual(items[0]?.resource, { kind: "relayer", id: "r2" })
      assert.include(items[2]?.reason ?? "", "code_of_tomorrow")
    })
  )

  it.effect("is what was confirmed within a day without its delegations", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* insertRelayers(2)
      for (const [relayer, ago] of [
        [1, "23 hours"],
        [1, "1 hour"],
        [2, "25 hours"]
      ] as const) {
        const [id] = yield* LedgerRows.insert(LedgerRows.account(relayer), 1)
        yield* sql`
          UPDATE transactions SET code = 'authorization_without_effect', state = 'confirmed', nonce = number, receipt = '{}',
            final_at = clock_timestamp() - ${ago}::interval WHERE id = ${id}::uuid`
      }
      const [item, ...rest] = yield* look()
      assert.deepStrictEqual(kinds(rest), [])
      assert.deepInclude(item, {
        kind: "without_effect",
        code: "authorization_without_effect",
        resource: { kind: "relayer", id: "r1" }
      })
      assert.strictEqual(item?.transactions.count, 2)
      const key = yield* Prepared.createKey({ scopes: ["relayers:read"] })
      assert.deepStrictEqual(yield* look(key), [])
    })
  )

  it.effect("counts what is queued behind what waits, of the same relayer", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* insertRelayers(4)
      const counts = Effect.map(look(), (items) => items.map(({ code, transactions }) => [code, transactions.count]))
      /** Sets the codes of the transactions of a relayer in their turns; those with a nonce are in flight. */
      const become = (relayer: number, rows: ReadonlyArray<readonly [code: string, nonce?: number, host?: string]>) =>
        Effect.gen(function* () {
          const ids = yield* LedgerRows.insert(LedgerRows.account(relayer), rows.length)
          for (const [index, [code, nonce, host]] of rows.entries()) {
            const figures = JSON.stringify(host === undefined ? {} : { host })
            yield* sql`
              UPDATE transactions SET code = ${code}, code_since = to_timestamp(0) - interval '1 hour',
                created_at = to_timestamp(${index}::float8), state = ${nonce === undefined ? "pending" : "submitted"},
                nonce = ${nonce ?? null}::bigint, figures = ${figures}::text::json
              WHERE id = ${ids[index] ?? ""}::uuid`
          }
        })
      yield* become(1, [["queued"], ["insufficient_funds"], ["queued"], ["queued"], ["not_before"]])
      yield* become(2, [["queued"], ["queued"]])
      assert.deepStrictEqual(yield* counts, [["insufficient_funds", 3]])
      // Those in flight stop the others only when the window of their lane is full.
      yield* become(3, [["providers_disagree", 1], ["providers_disagree", 2], ["queued"]])
      assert.deepStrictEqual((yield* counts)[0], ["providers_disagree", 2])
      yield* become(4, [["chain_stalled", 1, "a.example"], ["queued"], ["lane_window_full"], ["queued"]])
      assert.deepStrictEqual(yield* counts, [
        ["providers_disagree", 2],
        ["chain_stalled", 3],
        ["insufficient_funds", 3]
      ])
    })
  )

  it.effect("is a transaction that a price holds for ten blocks of its chain, and at least 30 seconds", () =>
    Effect.gen(function* () {
      const held = Effect.fnUntraced(function* (ago: string) {
        for (const id of ["slow", "fast"]) yield* setCode(id, "gas_price_above_cap", ago)
        return (yield* look()).map(({ code, relayers }) => [code, relayers.ids])
      })
      yield* relayerThatSends("slow", "sepolia")
      yield* relayerThatSends("fast", "polygon")
      assert.deepStrictEqual(yield* held("20 seconds"), [])
      assert.deepStrictEqual(yield* held("40 seconds"), [["gas_price_above_cap", ["fast"]]])
      assert.deepStrictEqual(yield* held("2 minutes"), [["gas_price_above_cap", ["fast", "slow"]]])
    })
  )

  it.effect("says how much to send where, for each relayer whose transactions wait for funds", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const addresses: Array<string> = []
      for (const [index, id] of ["r1", "r2"].entries()) {
        addresses.push(yield* relayerThatSends(id, evmRelayer.network))
        yield* setCode(id, "insufficient_funds")
        const figures = JSON.stringify({ required: String(1000 * (index + 1)), available: "40", reserved: "0" })
        yield* sql`UPDATE transactions SET figures = ${figures}::text::json WHERE relayer_id = ${id}`
      }
      const reading = { network_type: "evm", balance: "40", failures: [], providers: [] }
      yield* sql`UPDATE relayer_checks SET reading = ${JSON.stringify(reading)}::text::json`
      const [item, ...rest] = yield* look()
      assert.isEmpty(rest)
      assert.deepStrictEqual(
        item?.funding?.map(({ address, missing, unit }) => [address, missing, unit]),
        [
          [addresses[0], "960", "wei"],
          [addresses[1], "1960", "wei"]
        ]
      )
      // Without the scope for transactions, there is no such item, and so no amount.
      const key = yield* Prepared.createKey({ scopes: ["relayers:read"] })
      assert.deepStrictEqual(yield* look(key), [])
    })
  )

  it.effect("has no amounts of a relayer that cannot be read, and is not known while the database is unavailable", () =>
    Effect.gen(function* () {
      yield* insertRelayers(1)
      yield* LedgerRows.insert(LedgerRows.account(1), 1)
      yield* setCode("r1", "insufficient_funds")
      const listed = (defect: unknown) =>
        Effect.gen(function* () {
          const health = yield* RelayerHealth
          const failing = RelayerHealth.of({ ...health, explain: () => Effect.die(defect) })
          const { list } = yield* Effect.provideService(Attention.make, RelayerHealth, failing)
          return yield* Effect.exit(list)
        })
      const unreadable = yield* listed(new Error("the row is of a later version"))
      assert.deepStrictEqual(Exit.isSuccess(unreadable) && kinds(unreadable.value), [["funds", "insufficient_funds"]])
      const reason = new SqlError.ConnectionError({ cause: new Error("terminated"), message: "terminated" })
      assert.isTrue(Exit.isFailure(yield* listed(new SqlError.SqlError({ reason }))))
    })
  )

  it.effect("is a receiver that fails for five minutes, and a key that expires within a week", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Prepared.create("notifications", notification)
      yield* Prepared.createKey({ id: "soon", scopes: ["relayers:read"], expires_at: "1970-01-05T00:00:00Z" })
      yield* Prepared.createKey({ id: "later", scopes: ["relayers:read"], expires_at: "1970-02-05T00:00:00Z" })
      yield* sql`UPDATE notifications SET failing_since = now() - interval '4 minutes'`
      assert.deepStrictEqual(kinds(yield* look()), [["key_expires", "key_expires"]])
      yield* sql`UPDATE notifications SET failing_since = now() - interval '6 minutes'`
      const items = yield* look()
      assert.deepStrictEqual(kinds(items), [
        ["receiver", "receiver_failing"],
        ["key_expires", "key_expires"]
      ])
      assert.deepStrictEqual(
        items.map(({ resource }) => resource),
        [
          { kind: "notification", id: notification.id },
          { kind: "key", id: "soon" }
        ]
      )
      assert.deepStrictEqual(
        items.map(({ reason }) => reason),
        [
          `The receiver ${notification.id} does not accept its webhooks; 0 deliveries wait.`,
          "The API key soon expires at 1970-01-05T00:00:00.000Z."
        ]
      )
    })
  )

  it.effect("is only what the key may see", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* insertRelayers(2)
      for (const relayer of [1, 2]) {
        yield* disable(`r${relayer}`, `https://rpc${relayer}.example.com/***`)
        yield* LedgerRows.insert(LedgerRows.account(relayer), relayer)
        yield* setCode(`r${relayer}`, "relayer_disabled")
      }
      yield* Prepared.create("notifications", notification)
      yield* sql`UPDATE notifications SET failing_since = now() - interval '6 minutes'`
      const seen = Effect.fnUntraced(function* (body: object) {
        const items = yield* look(yield* Prepared.createKey(body))
        return items.map(({ relayers, transactions, kind }) => [kind, ...relayers.ids, transactions.count])
      })
      assert.deepStrictEqual(yield* seen({ scopes: ["relayers:read"] }), [
        ["relayers_disabled", "r1", 0],
        ["relayers_disabled", "r2", 0]
      ])
      assert.deepStrictEqual(yield* seen({ scopes: ["relayers:read", "transactions:read"], relayer_ids: ["r2"] }), [
        ["relayers_disabled", "r2", 2]
      ])
      assert.deepStrictEqual(yield* seen({ scopes: ["relayers:read", "notifications:read"] }), [
        ["relayers_disabled", "r1", 0],
        ["relayers_disabled", "r2", 0],
        ["receiver", 0]
      ])
      const without = yield* Prepared.createKey({ scopes: ["transactions:read"] })
      assert.strictEqual((yield* TestApi.call("/api/v1/attention", { key: without })).status, 403)
    })
  )

  it.effect("is asked once in two seconds, however many callers see the same", () =>
    Effect.gen(function* () {
      yield* insertRelayers(1)
      assert.deepStrictEqual(yield* look(), [])
      yield* disable("r1", "https://rpc.example.com/***")
      assert.deepStrictEqual((yield* TestApi.call("/api/v1/attention")).json.data, [])
      assert.strictEqual((yield* look()).length, 1)
    })
  )
})
