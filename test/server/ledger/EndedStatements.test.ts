// Statements of several lanes, or of several acceptances, that the server refuses or ends: each part follows alone, so that one that takes too long fails no other.
import { assert } from "@effect/vitest"
import { Array, Effect, Exit, Option } from "effect"
import { SqlClient } from "effect/sql"
import { rulesOfUnknown } from "../../../src/networks/core/UnknownNetwork.ts"
import { laneOf, noncesOf } from "../../../src/networks/evm/rules/Evm.ts"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import type { Account } from "../../../src/server/ledger/LedgerEntries.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { accept, account, newTransaction } from "../../../testkit/LedgerRows.ts"
import { ledger, ledgerOf, signature } from "./Fixtures.ts"

const laneCount = 3

/** SQLSTATEs with which the server says that it has written nothing, because of one part or of what the parts wait for. */
const refusing = ["22003", "23514", "40001", "40P01", "54000", "55P03", "57014"]

/** SQLSTATEs that say nothing about the parts: the disk is full, or cannot be read. */
const failing = ["53100", "58030"]

/** The server ends statements of this kind whose text has `part`. */
const endingWith = Effect.fnUntraced(function* (state: string, kind: string, part: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE OR REPLACE FUNCTION end_statement() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF position('${sql.literal(part)}' IN current_query()) > 0 THEN RAISE EXCEPTION 'ended' USING ERRCODE = '${sql.literal(state)}'; END IF;
      RETURN NULL;
    END $$`
  yield* sql`
    CREATE OR REPLACE TRIGGER end_statement BEFORE ${sql.literal(kind)} FOR EACH STATEMENT EXECUTE FUNCTION end_statement()`
})

const held = Effect.fnUntraced(function* (of: Account, type: string, request = newTransaction(0).request) {
  const lanes = yield* LaneLedger
  yield* accept(of, 1, { request })
  const { id } = Option.getOrThrow(yield* (yield* Ledger).laneOf(of))
  const [lane] = yield* lanes.claim([type], 1, [id])
  if (lane === undefined) return assert.fail("the lane is not free")
  const [row] = (yield* lanes.read(lane.hold)).pending
  return row === undefined ? assert.fail("no transaction is pending") : { lane, row }
})

const ofEvm = Effect.forEach(Array.range(1, laneCount), (relayer) => held(account(relayer), "evm"))

/** Whether each lane has committed, and how many transactions of the database wrote what is stored. */
const committing = Effect.fnUntraced(function* (
  parts: Effect.Success<typeof ofEvm>,
  over: { readonly offer?: object } = {}
) {
  const sql = yield* SqlClient.SqlClient
  const lanes = yield* LaneLedger
  const exits = yield* Effect.forEach(
    parts,
    ({ lane, row }) => {
      const { attempt, ...others } = signature(row, 0)
      return Effect.exit(lanes.commitSignatures(lane.hold, [{ ...others, attempt: { ...attempt, ...over } }]))
    },
    { concurrency: "unbounded" }
  )
  const [stored] = yield* sql<{ readonly attempts: number; readonly writes: number }>`
    SELECT count(*)::int AS attempts, count(DISTINCT a.xmin::text)::int AS writes FROM attempts a
    JOIN transactions t ON t.id = a.transaction_id AND t.state = 'signed' JOIN lanes l ON l.id = t.lane_id AND l.next_nonce = 1`
  return { isCommitted: exits.map((exit) => Exit.isSuccess(exit)), ...stored }
})

const all = Array.makeBy(laneCount, () => true)
const none = all.map(() => false)
const alone = { isCommitted: all, attempts: laneCount, writes: laneCount }

/** As solana, whose bytes have no sequence: their statement has a transaction around it. */
const paper = {
  ...rulesOfUnknown("paper"),
  repeated: () => undefined,
  withGiven: (facts: object, { hash }: { readonly hash: string }) => ({ ...facts, given: hash })
}

layerEach(ledger)("lanes whose statement the server ends", (it) => {
  for (const state of refusing) {
    it.effect(`commit one by one after ${state}`, () =>
      Effect.gen(function* () {
        const parts = yield* ofEvm
        yield* endingWith(state, "UPDATE ON transactions", "held AS MATERIALIZED")
        assert.deepStrictEqual(yield* committing(parts), alone)
      })
    )
  }

  for (const state of failing) {
    it.effect(`write nothing, and try nothing alone, after ${state}`, () =>
      Effect.gen(function* () {
        const parts = yield* ofEvm
        yield* endingWith(state, "UPDATE ON transactions", "held AS MATERIALIZED")
        assert.deepStrictEqual(yield* committing(parts), { isCommitted: none, attempts: 0, writes: 0 })
      })
    )
  }

  it.effect("save one by one", () =>
    Effect.gen(function* () {
      const lanes = yield* LaneLedger
      const parts = yield* ofEvm
      yield* endingWith("57014", "UPDATE ON lanes", "SKIP LOCKED")
      const saved = yield* Effect.forEach(
        parts,
        ({ lane: { hold, stored } }) =>
          lanes.saveLane(hold, {
            chain: stored.chain,
            read: stored,
            lane: laneOf({ ...noncesOf(stored.lane), nextNonce: 7, chainNonce: 7 }),
            usedTrust: false,
            code: "chain_changed",
            nextPollAt: 5000
          }),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        saved.map(({ lane }) => noncesOf(lane).nextNonce),
        all.map(() => 7)
      )
    })
  )
})

layerEach(ledgerOf(paper))("lanes of bytes that can repeat", (it) => {
  it.effect("commit one by one after the server has ended their statement", () =>
    Effect.gen(function* () {
      const parts = yield* Effect.forEach(Array.range(1, laneCount), (relayer) =>
        held({ ...account(relayer), chain: "paper:1" }, "paper", {})
      )
      yield* endingWith("57014", "UPDATE ON transactions", "held AS MATERIALIZED")
      assert.deepStrictEqual(yield* committing(parts, { offer: {} }), alone)
    })
  )
})

layerEach(ledger)("acceptances whose statement the server ends", (it) => {
  it.effect("are stored one by one", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const ledger = yield* Ledger
      yield* endingWith("57014", "INSERT ON transactions", "stale AS MATERIALIZED")
      // One batch has the relayers with odd numbers.
      const exits = yield* Effect.forEach(
        [1, 3, 5],
        (relayer) => Effect.exit(ledger.accept(account(relayer), [newTransaction(0)])),
        { concurrency: "unbounded" }
      )
      assert.isTrue(exits.every((exit) => Exit.isSuccess(exit)))
      assert.deepStrictEqual(
        yield* sql`SELECT count(*)::int AS rows, count(DISTINCT xmin::text)::int AS writes FROM transactions`,
        [{ rows: 3, writes: 3 }]
      )
    })
  )
})
