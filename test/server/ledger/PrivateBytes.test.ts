// Signed bytes of private transactions in the database: nobody who reads it, or a copy of it, can send them.
import { assert } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { cause } from "../../../src/networks/core/Cause.ts"
import { Command } from "../../../src/networks/core/Rules.ts"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import type { HeldLane } from "../../../src/server/ledger/LedgerEntries.ts"
import { sealedColumns } from "../../../src/server/masterKey/ProtectedRowsRepo.ts"
import { Secrets } from "../../../src/server/secrets/Secrets.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { accept, account } from "../../../testkit/LedgerRows.ts"
import { claimOne, eventsOf, ledger, signAll, signature } from "./Fixtures.ts"

const secret = { route: { kind: "private" } } as const

const text = (raw: Uint8Array | undefined): string => Buffer.from(raw ?? []).toString()

/** What the database has of each attempt, in the order of their signatures. */
const stored = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ id: string; raw: Uint8Array; sealed: Uint8Array | null }>`
    SELECT a.transaction_id AS id, a.raw, p.raw_sealed AS sealed FROM attempts a
    LEFT JOIN private_bytes p ON p.transaction_id = a.transaction_id AND p.ordinal = a.ordinal ORDER BY a.id`
)

layerEach(ledger)("signed bytes of a private transaction", (it) => {
  it.effect("are sealed at rest, and open for the lane and for reads; those of a public one are not sealed", () =>
    Effect.gen(function* () {
      const [id] = yield* accept(account(1), 1, secret)
      const [open] = yield* accept(account(1), 1)
      const { hold } = yield* claimOne
      const signed = yield* signAll(hold)
      const hashes = signed.map(({ transaction }) => transaction.attempts[0]?.hash)
      const rows = yield* stored
      assert.deepStrictEqual(
        rows.map((row) => [row.id, text(row.raw), row.sealed !== null]),
        [
          [id, "", true],
          [open, `bytes of ${hashes[1]}`, false]
        ]
      )
      const sealed = Buffer.from(rows[0]?.sealed ?? [])
      const hex = Buffer.from(`bytes of ${hashes[0]}`).toString("hex")
      assert.isFalse(sealed.includes("bytes of") || sealed.includes(hex))
      const keys = [
        { id, ordinal: 1 },
        { id: open, ordinal: 1 }
      ]
      for (const { bytes } of [yield* Ledger, yield* LaneLedger]) {
        const found = new Map((yield* bytes(keys)).map((one) => [one.id, text(one.raw)]))
        assert.deepStrictEqual(
          [found.get(id), found.get(open)],
          hashes.map((hash) => `bytes of ${hash}`)
        )
      }
    })
  )

  it.effect("open where a rotation of the master key looks for them", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* accept(account(1), 1, secret)
      const { hold } = yield* claimOne
      const [signed] = yield* signAll(hold)
      const { table, id, sealed, column } =
        sealedColumns.find((one) => one.table === "private_bytes") ?? assert.fail("no column")
      const [row] = yield* sql<{ id: string; sealed: Uint8Array }>`
        SELECT ${sql(id)} AS id, ${sql(sealed)} AS sealed FROM ${sql(table)}`
      const found = row ?? assert.fail("no row")
      const hex = yield* (yield* Secrets).open(found.sealed, { table, id: found.id, column })
      const hash = signed?.transaction.attempts[0]?.hash
      assert.strictEqual(Buffer.from(Redacted.value(hex), "hex").toString(), `bytes of ${hash}`)
    })
  )

  it.effect(
    "are sealed in the statement that its lane shares with a lane of public ones, and its route is written there",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const lanes = yield* LaneLedger
        const [id] = yield* accept(account(1), 1, secret)
        const [open] = yield* accept(account(2, 2), 1)
        const held = yield* lanes.claim(["evm"], 2)
        const signOne = Effect.fnUntraced(function* ({ hold }: HeldLane) {
          const [row] = (yield* lanes.read(hold)).pending
          const [signed] = yield* lanes.commitSignatures(hold, [signature(row ?? assert.fail("no row"), 0)])
          return { hold, stored: signed ?? assert.fail("nothing is signed") }
        })
        const signed = yield* Effect.forEach(held, signOne, { concurrency: "unbounded" })
        assert.lengthOf(yield* sql`SELECT DISTINCT xmin::text FROM attempts`, 1)
        const rows = new Map((yield* stored).map((row) => [row.id, row]))
        assert.deepStrictEqual(
          [id, open].map((one) => [rows.get(one)?.raw.length === 0, rows.get(one)?.sealed !== null]),
          [
            [true, true],
            [false, false]
          ]
        )
        const route = { kind: "fell_back", since: 5000 } as const
        const decided = yield* Effect.forEach(
          signed,
          ({ hold, stored }) =>
            lanes.apply(hold, [
              {
                stored,
                command:
                  stored.id === id
                    ? Command.Reroute({ route })
                    : Command.Hold({ cause: cause("insufficient_funds"), scope: "lane" })
              }
            ]),
          { concurrency: "unbounded" }
        )
        assert.lengthOf(yield* sql`SELECT DISTINCT xmin::text FROM transactions`, 1)
        assert.lengthOf(decided.flat(), 2)
        assert.deepStrictEqual(yield* sql`SELECT route, id FROM transactions ORDER BY number`, [
          { route: "fell_back", id },
          { route: "public", id: open }
        ])
        assert.deepStrictEqual((yield* eventsOf(id)).slice(-1), ["transaction.route_changed"])
      })
  )

  it.effect("of a no-op are not sealed: no-ops are no secret", () =>
    Effect.gen(function* () {
      yield* accept(account(1), 1, secret)
      const { hold } = yield* claimOne
      const [first] = yield* signAll(hold)
      const lanes = yield* LaneLedger
      yield* lanes.commitSignatures(hold, [signature(first ?? assert.fail("nothing is signed"), 0, { kind: "noop" })])
      assert.deepStrictEqual(
        (yield* stored).map(({ sealed }) => sealed !== null),
        [true, false]
      )
    })
  )

  it.effect("that another program has changed are not returned, so that nobody sends them", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [id] = yield* accept(account(1), 1, secret)
      const { hold } = yield* claimOne
      yield* signAll(hold)
      yield* sql`UPDATE private_bytes SET raw_sealed = set_byte(raw_sealed, 60, (get_byte(raw_sealed, 60) + 1) % 256)`
      assert.deepStrictEqual(yield* (yield* Ledger).bytes([{ id, ordinal: 1 }]), [])
    })
  )

  it.effect("go when its transaction is deleted", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* accept(account(1), 1, secret)
      const { hold } = yield* claimOne
      yield* signAll(hold)
      yield* sql`DELETE FROM transactions`
      assert.deepStrictEqual(yield* sql`SELECT 1 FROM private_bytes`, [])
    })
  )
})
