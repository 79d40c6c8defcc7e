// Rows that cannot be verified are found without a read of them: by readiness, what needs attention, and a gauge, until they are repaired.
import { assert } from "@effect/vitest"
import { Array, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as RowRepair from "../../../src/server/masterKey/RowRepair.ts"
import { evmRelayer, signer } from "../../../testkit/fixtures.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as LedgerRows from "../../../testkit/LedgerRows.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"
import * as UnreadableRows from "../../../testkit/UnreadableRows.ts"
import { evmNetwork } from "../networks/fixtures.ts"

const call = TestApi.callBelow("/api/v1/")

interface Item {
  readonly kind: string
  readonly code: string
  readonly reason: string
  readonly next: string
  readonly resource?: { readonly kind: string; readonly id: string }
  readonly relayers: { readonly count: number; readonly ids: ReadonlyArray<string> }
}

const attention = (key: string = TestApi.apiKey) =>
  Effect.map(Effect.andThen(TestClock.adjust("3 seconds"), call("attention", { key })), ({ json, status, text }) => {
    assert.strictEqual(status, 200, text)
    return json.data as ReadonlyArray<Item>
  })

const ready = Effect.map(call("ready", { key: null }), ({ json, status }) => {
  const { status: state, components } = json as {
    readonly status: string
    readonly components: { readonly rows: { readonly status: string; readonly reason?: string } }
  }
  return { code: status, state, rows: components.rows }
})

/** Lets the jobs look until the rows of each table are so many. */
const found = (signers: number, relayers: number, networks: number) =>
  TestApi.passUntil("/metrics/unreadable_rows", (text) =>
    Object.entries({ signers, relayers, networks }).every(([table, count]) =>
      text.includes(`unreadable_rows{table="${table}"} ${count}\n`)
    )
  )

const resources = Effect.gen(function* () {
  yield* Prepared.references
  yield* Prepared.create("relayers", evmRelayer)
  return (yield* Prepared.create("networks", evmNetwork)).id
})

const repairAll = Effect.gen(function* () {
  const rows = yield* RowRepair.make
  const { unreadable } = yield* rows.list
  yield* rows.accept(unreadable.map(({ table, id, fingerprint = "" }) => ({ table, id, fingerprint })))
})

layerEach(TestApi.layer())("a row that cannot be verified", (it) => {
  it.effect("is named first by what needs attention, and by readiness, until it is repaired", () =>
    Effect.gen(function* () {
      const network = yield* resources
      yield* found(0, 0, 0)
      assert.deepStrictEqual(yield* ready, { code: 200, state: "healthy", rows: { status: "healthy" } })
      assert.isEmpty(yield* attention())

      yield* UnreadableRows.loseEarlierSecret
      yield* found(1, 1, 1)
      assert.deepStrictEqual(yield* ready, {
        code: 200,
        state: "degraded",
        rows: { status: "unhealthy", reason: "rows of the database cannot be verified" }
      })
      const [item] = yield* attention()
      assert.deepInclude(item, { kind: "unreadable", code: "row_unreadable" })
      assert.deepInclude(item?.relayers, { count: 1, ids: [evmRelayer.id] })
      const names = `signers/${signer.id}, relayers/${evmRelayer.id}, networks/${network}`
      assert.include(item?.reason, `cannot verify 3 rows of the database, and does nothing with them: ${names}.`)
      for (const part of ["changed the database", "lost the secret", "`effect-relayer repair`", "Delete no signer"]) {
        assert.include(item?.next, part)
      }
      const { text } = yield* TestApi.call("/metrics/component_healthy", { key: null })
      assert.include(text, 'component_healthy{component="rows"} 0\n')

      yield* repairAll
      yield* found(0, 0, 0)
      assert.deepInclude(yield* ready, { code: 200, state: "healthy" })
      assert.isEmpty(yield* attention())
    })
  )

  it.effect("is found if another program changed it, and no longer counted when it is deleted", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* resources
      yield* sql`UPDATE relayers SET address = '0x000000000000000000000000000000000000dead'`
      yield* found(0, 1, 0)
      const [item] = yield* attention()
      assert.deepStrictEqual(item?.resource, { kind: "relayer", id: evmRelayer.id })
      assert.strictEqual((yield* call(`relayers/${evmRelayer.id}`, { method: "DELETE" })).status, 200)
      yield* found(0, 0, 0)
      assert.isEmpty(yield* attention())
    })
  )

  it.effect("is only named to callers that may read it", () =>
    Effect.gen(function* () {
      yield* resources
      yield* UnreadableRows.loseEarlierSecret
      yield* found(1, 1, 1)
      const relayers = yield* Prepared.createKey({ scopes: ["relayers:read"] })
      const narrowed = yield* Prepared.createKey({ scopes: ["relayers:read"], relayer_ids: [evmRelayer.id] })
      yield* LedgerRows.insertNamed("other")
      const other = yield* Prepared.createKey({ scopes: ["relayers:read"], relayer_ids: ["other"] })
      const signers = yield* Prepared.createKey({ scopes: ["relayers:read", "signers:read"] })
      const named = (key: string) => Effect.map(attention(key), (items) => items.map(({ reason }) => reason).join())
      for (const key of [relayers, narrowed]) {
        assert.include(yield* named(key), `cannot verify 1 row of the database, and does nothing with it: relayers/`)
      }
      assert.include(yield* named(signers), "2 rows")
      assert.strictEqual(yield* named(other), "")
    })
  )

  it.effect("is found among more rows than a round reads", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Prepared.create("signers", signer)
      const last = "z".repeat(20)
      yield* sql`
        INSERT INTO signers (id, type, config, mac)
        SELECT 'n' || n, 'plain', '{}'::jsonb, 'x' FROM generate_series(1, 2300) n UNION ALL SELECT ${last}::text, 'plain', '{}'::jsonb, 'x'`
      yield* found(2301, 0, 0)
      const [item] = yield* attention()
      assert.match(item?.reason ?? "", /^The service cannot verify 2301 rows .+ and 2291 more\.$/)
      yield* sql`DELETE FROM signers WHERE id <> ${last} AND id <> ${signer.id}`
      yield* found(1, 0, 0)
      assert.deepStrictEqual((yield* attention())[0]?.resource, { kind: "signer", id: last })
    })
  )
})

/** A database whose rows are unreadable before the instance starts. */
const broken = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = Array.makeBy(2500, (n) => `n${n}`)
    yield* sql`INSERT INTO signers (id, type, config, mac) SELECT unnest(${rows}::text[]), 'plain', '{}', 'x'`
  })
).pipe(Layer.provideMerge(TestDatabase.layer))

layerEach(TestApi.layerWith({}, broken))("an instance that starts on unreadable rows", (it) => {
  it.effect("finds all of them in its first round", () =>
    Effect.gen(function* () {
      yield* Effect.repeat(ready, { until: ({ state }) => state === "degraded" })
      assert.match((yield* attention())[0]?.reason ?? "", /cannot verify 2500 rows/)
    })
  )
})
