// The list of relayers with their health: what the last checks and the ledger say, the order of need, and the filter by state.
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Relayer } from "../../../src/domain/relayer/Relayer.ts"
import { authenticateRows } from "../../../testkit/authenticateRows.ts"
import * as LedgerRows from "../../../testkit/LedgerRows.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

const balance = 2n ** 128n - 1n

const reason = { type: "BalanceCheckFailed", details: "the balance is below min_balance" }
const failed = { reason, failures: 2, answered: true, told_degraded: false, told_low: false }

const states: Readonly<Record<string, object>> = {
  r1: { status: "healthy", told_degraded: false, told_low: false },
  r2: { status: "healthy", told_degraded: false, told_low: true },
  r3: { status: "degraded", told_degraded: true, told_low: false },
  r4: { ...failed, status: "failing" },
  r5: { ...failed, status: "disabled" },
  r6: { ...failed, status: "disabled" },
  r8: { status: "healthy", told_degraded: false, told_low: false }
}

/** Relayers in the states above, r7 without a check. Two transactions of r8 are open, and the first of them waits for funds. r5 has two open transactions and a confirmed one. */
const fill = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* LedgerRows.insertRelayers(8)
  yield* authenticateRows()
  for (const [id, state] of Object.entries(states)) {
    yield* sql`
      UPDATE relayer_checks SET state = ${JSON.stringify(state)}::text::json, since = '2026-01-02T03:04:05.678Z',
        reading = ${`{"network_type":"evm","balance":${balance},"failures":[],"providers":[]}`}::text::json,
        read_at = '2026-01-02T03:05:05.678Z', checked_at = now()
      WHERE relayer_id = ${id}`
  }
  const [first = "", second = "", third = ""] = yield* LedgerRows.insert(LedgerRows.account(5), 3)
  yield* sql`
    UPDATE transactions SET state = 'confirmed', code = 'confirmed', nonce = 0, receipt = '{}',
      final_at = '2026-01-01T00:00:00Z' WHERE id = ${first}::uuid`
  yield* sql`UPDATE transactions SET state = 'signed', nonce = 1, created_at = '2026-01-01T12:00:00Z' WHERE id = ${second}::uuid`
  yield* sql`UPDATE transactions SET created_at = '2026-01-01T13:00:00Z' WHERE id = ${third}::uuid`
  const [stuck = ""] = yield* LedgerRows.insert(LedgerRows.account(8), 2)
  yield* sql`
    UPDATE transactions SET code = 'insufficient_funds', code_since = '2026-01-01T14:00:00Z' WHERE id = ${stuck}::uuid`
})

const read = Schema.decodeUnknownSync(Schema.Array(Relayer))

const list = Effect.fnUntraced(function* (query: string, key: string = TestApi.apiKey) {
  const { status, text, json, headers } = yield* TestApi.call(`/api/v1/relayers?${query}`, { key })
  assert.strictEqual(status, 200, text)
  const next = /^<\/api\/v1\/relayers\?([^>]+)>/.exec(headers.get("link") ?? "")?.[1]
  const { total_items: total } = json.pagination as { readonly total_items: number }
  return { relayers: read(json.data), total, next }
})

const ids = (relayers: ReadonlyArray<Relayer>) => relayers.map(({ id }) => String(id))

layer(Prepared.layer(fill))("a list of relayers", (it) => {
  it.effect("has their health if it is asked for", () =>
    Effect.gen(function* () {
      const { relayers } = yield* list("include=health")
      const healths = new Map(relayers.map(({ id, health }) => [String(id), health]))
      assert.deepStrictEqual(healths.get("r5"), {
        state: "disabled",
        code: "BalanceCheckFailed",
        since: DateTime.makeUnsafe("2026-01-02T03:04:05.678Z"),
        balance,
        read_at: DateTime.makeUnsafe("2026-01-02T03:05:05.678Z"),
        open: 2,
        oldest_open_at: DateTime.makeUnsafe("2026-01-01T12:00:00Z"),
        last_confirmed_at: DateTime.makeUnsafe("2026-01-01T00:00:00Z")
      })
      assert.deepStrictEqual(healths.get("r7"), { state: "unknown", open: 0 })
      assert.deepInclude(healths.get("r8"), {
        state: "waiting",
        code: "insufficient_funds",
        since: DateTime.makeUnsafe("2026-01-01T14:00:00Z"),
        open: 2
      })
      assert.deepStrictEqual(
        ["r1", "r2", "r3", "r4"].map((id) => healths.get(id)?.code),
        [undefined, "low_balance", "provider_failed", "BalanceCheckFailed"]
      )
    })
  )

  it.effect("has no health otherwise, and nobody can set it", () =>
    Effect.gen(function* () {
      const { relayers } = yield* list("")
      assert.lengthOf(relayers, 8)
      for (const relayer of relayers) assert.notProperty(relayer, "health")
      const { status, json } = yield* TestApi.call("/api/v1/relayers/r1", {
        method: "PATCH",
        body: { health: { state: "healthy", open: 0 } }
      })
      assert.deepStrictEqual([status, json.error], [400, "health: cannot be changed"])
      const unknown = yield* TestApi.call("/api/v1/relayers?include=balance")
      assert.strictEqual(unknown.status, 400)
      assert.match(unknown.json.error ?? "", /^include: /)
    })
  )

  it.effect("begins with those that need an operator most, on every page", () =>
    Effect.gen(function* () {
      const expected = ["r5", "r6", "r4", "r8", "r3", "r2", "r1", "r7"]
      assert.deepStrictEqual(ids((yield* list("sort=attention")).relayers), expected)
      const found: Array<string> = []
      let query: string | undefined = "sort=attention&per_page=2&include=health"
      while (query !== undefined) {
        const page: Effect.Success<ReturnType<typeof list>> = yield* list(query)
        found.push(...ids(page.relayers))
        for (const { health } of page.relayers) assert.isDefined(health)
        query = page.next
      }
      assert.deepStrictEqual(found, expected)
      assert.deepStrictEqual(ids((yield* list("sort=attention&page=2&per_page=3")).relayers), expected.slice(3, 6))
    })
  )

  it.effect("selects by state, and counts what it selects", () =>
    Effect.gen(function* () {
      const cases = {
        disabled: ["r5", "r6"],
        failing: ["r4"],
        waiting: ["r8"],
        degraded: ["r3"],
        healthy: ["r2", "r1"],
        unknown: ["r7"]
      }
      for (const [state, expected] of Object.entries(cases)) {
        const { relayers, total } = yield* list(`state=${state}&sort=attention`)
        assert.deepStrictEqual([ids(relayers), total], [expected, expected.length], state)
      }
      assert.deepStrictEqual(ids((yield* list("state=disabled&q=6")).relayers), ["r6"])
    })
  )

  it.effect("shows a limited key only its own relayers", () =>
    Effect.gen(function* () {
      const key = yield* Prepared.createKey({ scopes: ["relayers:read"], relayer_ids: ["r3", "r6"] })
      assert.deepStrictEqual(ids((yield* list("sort=attention&include=health", key)).relayers), ["r6", "r3"])
      assert.deepStrictEqual(ids((yield* list("state=disabled", key)).relayers), ["r6"])
    })
  )
})
