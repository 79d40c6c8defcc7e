// Lanes that write at the same moment share a statement: the part of each one is written whole or not at all, whatever becomes of the others, by the lane and the rows as they
// are when they are locked.
import { assert, layer } from "@effect/vitest"
import { Arbitrary, Array, Effect, Exit, Fiber, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import type { RelayerId } from "../../../src/domain/relayer/Relayer.ts"
import { cause } from "../../../src/networks/core/Cause.ts"
import { Command } from "../../../src/networks/core/Rules.ts"
import type { TransactionId } from "../../../src/networks/core/TransactionValues.ts"
import { rulesOfUnknown } from "../../../src/networks/core/UnknownNetwork.ts"
import { laneOf, nonceOf, noncesOf } from "../../../src/networks/evm/rules/Evm.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import type { HeldLane, LaneId, ReadRelayer, Signature } from "../../../src/server/ledger/LedgerEntries.ts"
import { rowState } from "../../../src/sql/Rows.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { property } from "../../../testkit/Depth.ts"
import { accept, account, insert, newTransaction } from "../../../testkit/LedgerRows.ts"
import {
  changedBeforeLocks,
  committedOrStuck,
  eventsOf,
  holding,
  ledger,
  ledgerOf,
  locking,
  process,
  sentOf,
  signature,
  untilWaiting,
  waitAfterSnapshot
} from "./Fixtures.ts"

const laneCount = 5

interface Writer {
  readonly lane: HeldLane
  readonly relayer: number
  readonly ids: ReadonlyArray<TransactionId>
  readonly signatures: Array.NonEmptyReadonlyArray<Signature>
}

/** Five held lanes, each with two pending transactions that are signed and not committed. `from`: which lanes. */
const writersFrom = Effect.fnUntraced(function* (from: number) {
  const lanes = yield* LaneLedger
  return yield* Effect.forEach(Array.range(1, laneCount), (relayer) =>
    Effect.gen(function* () {
      const of = account(relayer, from + relayer)
      const ids = yield* insert(of, 2)
      const { id } = Option.getOrThrow(yield* (yield* Ledger).laneOf(of))
      const [lane] = yield* lanes.claim(["evm"], 1, [id])
      if (lane === undefined) return assert.fail("the lane is not free")
      const { pending } = yield* lanes.read(lane.hold)
      const signatures = pending.map((row, index) => signature(row, index))
      if (!Array.isReadonlyArrayNonEmpty(signatures)) return assert.fail("no rows")
      const writer: Writer = { lane, relayer, ids, signatures }
      return writer
    })
  )
})

const writers = writersFrom(0)

const commit = ({ lane, signatures }: Writer) =>
  Effect.flatMap(LaneLedger, (lanes) => Effect.exit(lanes.commitSignatures(lane.hold, signatures)))

const commitAll = (all: ReadonlyArray<Writer>) => Effect.forEach(all, commit, { concurrency: "unbounded" })

/** The next nonce of a lane, and the nonces of its transactions. */
const stateOf = Effect.fnUntraced(function* ({ lane: { hold } }: Writer) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql`
    SELECT l.next_nonce::float8 AS next, array_agg(t.nonce::float8 ORDER BY t.number) AS nonces, count(a.id)::float8 AS attempts
    FROM lanes l JOIN transactions t ON t.lane_id = l.id LEFT JOIN attempts a ON a.transaction_id = t.id
    WHERE l.id = ${hold.laneId} GROUP BY l.id`
})

const written = [{ next: 2, nonces: [0, 1], attempts: 2 }]
const untouched = [{ next: 0, nonces: [null, null], attempts: 0 }]

const assertWritten = Effect.fnUntraced(function* (all: ReadonlyArray<Writer>) {
  for (const writer of all) {
    assert.deepStrictEqual(yield* stateOf(writer), written)
    for (const id of writer.ids) assert.deepStrictEqual(yield* eventsOf(id), ["transaction.signed"])
  }
})

/** How many transactions of the database wrote the rows of these lanes. */
const transactionsOf = Effect.fnUntraced(function* (all: ReadonlyArray<Writer>) {
  const sql = yield* SqlClient.SqlClient
  const ids = all.flatMap((writer) => writer.ids)
  const [row] = yield* sql<{ readonly count: number }>`
    SELECT count(DISTINCT x)::float8 AS count FROM (
      SELECT xmin::text AS x FROM transactions WHERE id = ANY(${ids}::uuid[])
      UNION ALL SELECT xmin::text FROM attempts WHERE transaction_id = ANY(${ids}::uuid[])
      UNION ALL SELECT xmin::text FROM events WHERE resource_id = ANY(${ids}::text[])
    ) rows`
  return row?.count
})

/** What makes the part of a lane unfit. */
const changes = {
  "whose row another process has changed": ({ ids }: Writer) =>
    Effect.flatMap(
      SqlClient.SqlClient,
      (sql) => sql`UPDATE transactions SET version = version + 1 WHERE id = ${ids[1] ?? ""}::uuid`
    ),
  "whose counter has moved": ({ lane }: Writer) =>
    Effect.flatMap(SqlClient.SqlClient, (sql) => sql`UPDATE lanes SET next_nonce = 7 WHERE id = ${lane.hold.laneId}`),
  "that another process has claimed": ({ lane }: Writer) =>
    Effect.flatMap(
      SqlClient.SqlClient,
      (sql) => sql`UPDATE lanes SET epoch = epoch + 1 WHERE id = ${lane.hold.laneId}`
    ),
  "that another process holds": ({ lane }: Writer) =>
    Effect.flatMap(
      SqlClient.SqlClient,
      (sql) => sql`UPDATE lanes SET holder = ${randomUUID()}::uuid WHERE id = ${lane.hold.laneId}`
    ),
  "whose lease has passed": ({ lane }: Writer) =>
    Effect.flatMap(
      SqlClient.SqlClient,
      (sql) => sql`UPDATE lanes SET held_until = now() - interval '1 second' WHERE id = ${lane.hold.laneId}`
    ),
  "that begins a generation": ({ lane }: Writer) =>
    Effect.flatMap(
      SqlClient.SqlClient,
      (sql) => sql`UPDATE lanes SET generation = generation + 1 WHERE id = ${lane.hold.laneId}`
    )
}

type Change = keyof typeof changes

const assertNothing = Effect.fnUntraced(function* (writer: Writer, change: Change) {
  const [state] = yield* stateOf(writer)
  assert.deepStrictEqual(state, {
    ...untouched[0],
    next: change === "whose counter has moved" ? 7 : 0
  })
  for (const id of writer.ids) assert.deepStrictEqual(yield* eventsOf(id), [])
})

layerEach(ledger)("lanes that write at the same moment", (it) => {
  it.effect("commit, record and decide in one transaction of the database each time", () =>
    Effect.gen(function* () {
      const lanes = yield* LaneLedger
      const all = yield* writers
      const committed = (yield* commitAll(all)).map((exit) => (Exit.isSuccess(exit) ? exit.value : []))
      yield* assertWritten(all)
      assert.strictEqual(yield* transactionsOf(all), 1)
      const sent = yield* Effect.forEach(
        all,
        ({ lane }, index) => {
          const sends = (committed[index] ?? []).map((row) => sentOf(row, true))
          return Array.isReadonlyArrayNonEmpty(sends) ? lanes.recordSends(lane.hold, sends) : Effect.succeed([])
        },
        { concurrency: "unbounded" }
      )
      assert.strictEqual(yield* transactionsOf(all), 2)
      const decided = yield* Effect.forEach(
        all,
        ({ lane }, index) => {
          const commands = (sent[index] ?? []).map((stored) => ({
            stored,
            command: Command.Hold({ cause: cause("insufficient_funds", { required: 5n }), scope: "lane" })
          }))
          return Array.isReadonlyArrayNonEmpty(commands) ? lanes.apply(lane.hold, commands) : Effect.succeed([])
        },
        { concurrency: "unbounded" }
      )
      for (const [index, { lane, ids }] of all.entries()) {
        const { inFlight } = yield* lanes.read(lane.hold)
        assert.deepStrictEqual(inFlight, decided[index])
        assert.deepStrictEqual(
          inFlight.map((row) => [nonceOf(row.transaction), row.transaction.state, row.transaction.cause?.code]),
          [
            [0, "submitted", "insufficient_funds"],
            [1, "submitted", "insufficient_funds"]
          ]
        )
        for (const id of ids) {
          assert.deepStrictEqual(yield* eventsOf(id), [
            "transaction.signed",
            "transaction.submitted",
            "transaction.held"
          ])
        }
      }
    })
  )

  it.effect("write without the part that the server refuses, whose lane writes alone until it succeeds", () =>
    Effect.gen(function* () {
      const all = yield* writers
      const [first, ...others] = all
      if (first === undefined) return assert.fail("no lane")
      const [one, ...rest] = first.signatures
      const tooLarge = { ...one, attempt: { ...one.attempt, ordinal: 2 ** 40 } }
      const broken: Writer = { ...first, signatures: [tooLarge, ...rest] }
      const exits = yield* commitAll([broken, ...others])
      assert.deepStrictEqual(
        exits.map((exit) => Exit.isSuccess(exit)),
        [false, true, true, true, true]
      )
      yield* assertWritten(others)
      assert.deepStrictEqual(yield* stateOf(first), untouched)
      const lanes = yield* LaneLedger
      const bumped = yield* Effect.forEach(others, (writer) =>
        Effect.map(lanes.read(writer.lane.hold), ({ inFlight }): Writer => {
          const [row] = inFlight
          return row === undefined ? writer : { ...writer, ids: [row.id], signatures: [signature(row, 0)] }
        })
      )
      yield* commitAll([broken, ...bumped])
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql`SELECT DISTINCT xmin::text FROM attempts WHERE ordinal = 2`
      assert.lengthOf(rows, 1)
      assert.isTrue(Exit.isSuccess(yield* commit(first)))
      yield* assertWritten([first])
    })
  )

  for (const [change, apply] of Object.entries(changes) as ReadonlyArray<[Change, (typeof changes)[Change]]>) {
    it.effect(`write without the part of a lane ${change} between the snapshot and the lock`, () =>
      Effect.gen(function* () {
        const all = yield* writers
        const [first, ...others] = all
        if (first === undefined) return assert.fail("no lane")
        const [exit, ...exits] = yield* changedBeforeLocks(commitAll(all), apply(first))
        assert.isTrue(exit !== undefined && Exit.isFailure(exit))
        assert.isTrue(exits.every((one) => Exit.isSuccess(one)))
        yield* assertNothing(first, change)
        yield* assertWritten(others)
        assert.strictEqual(yield* transactionsOf(others), 1)
      })
    )
  }

  const locks = {
    "a lane": ({ lane }: Writer) =>
      Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT FROM lanes WHERE id = ${lane.hold.laneId} FOR UPDATE`),
    "a transaction": ({ ids }: Writer) =>
      Effect.flatMap(
        SqlClient.SqlClient,
        (sql) => sql`SELECT FROM transactions WHERE id = ${ids[0] ?? ""}::uuid FOR UPDATE`
      )
  }

  for (const [what, lock] of Object.entries(locks)) {
    it.effect(`wait for no lock of ${what}: its part follows alone`, () =>
      Effect.gen(function* () {
        const all = yield* writers
        const [first, ...others] = all
        if (first === undefined) return assert.fail("no lane")
        const release = yield* locking(lock(first))
        const committing = yield* Effect.forkScoped(commitAll(all))
        assert.deepStrictEqual(yield* committedOrStuck, { attempts: 2 * others.length, stuck: 0 })
        yield* assertWritten(others)
        assert.strictEqual(yield* transactionsOf(others), 1)
        yield* untilWaiting
        assert.strictEqual(committing.pollUnsafe(), undefined)
        yield* release
        assert.isTrue((yield* Fiber.join(committing)).every((exit) => Exit.isSuccess(exit)))
        yield* assertWritten(all)
      })
    )
  }

  it.effect("save what they have found in one transaction of the database, each if it is held and as it was read", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const lanes = yield* LaneLedger
      const [moved, claimed, over, ...others] = yield* writers
      if (moved === undefined || claimed === undefined || over === undefined) return assert.fail("no lane")
      const save = ({ lane: { hold, stored } }: Writer) =>
        Effect.exit(
          lanes.saveLane(hold, {
            chain: stored.chain,
            read: stored,
            lane: laneOf({ ...noncesOf(stored.lane), nextNonce: 100 + hold.laneId, chainNonce: 100 + hold.laneId }),
            usedTrust: false,
            code: "chain_changed",
            nextPollAt: 5000
          })
        )
      yield* commit(moved)
      yield* changes["that another process has claimed"](claimed)
      yield* changes["whose lease has passed"](over)
      const exits = yield* Effect.forEach([moved, claimed, over, ...others], save, { concurrency: "unbounded" })
      assert.deepStrictEqual(
        exits.map((exit) =>
          Exit.isSuccess(exit) ? [noncesOf(exit.value.lane).nextNonce, exit.value.code, exit.value.nextPollAt] : []
        ),
        [[], [], [], ...others.map(({ lane }) => [100 + lane.hold.laneId, "chain_changed", 5000])]
      )
      yield* assertWritten([moved])
      for (const lost of [claimed, over]) assert.deepStrictEqual(yield* stateOf(lost), untouched)
      const ids = others.map(({ lane }) => String(lane.hold.laneId))
      assert.lengthOf(yield* sql`SELECT DISTINCT xmin::text FROM lanes WHERE id = ANY(${ids}::bigint[])`, 1)
    })
  )

  it.effect("learn in the statement that reads them which relayers and networks are as they were read", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const lanes = yield* LaneLedger
      const [one, two] = yield* writers
      if (one === undefined || two === undefined) return assert.fail("no lane")
      const states = Effect.gen(function* () {
        const relayers = yield* sql<{ readonly id: RelayerId; readonly state: string }>`
          SELECT r.id, ${rowState(sql, "r")} AS state FROM relayers r ORDER BY r.seq`
        const [network] = yield* sql<{ readonly state: string }>`SELECT ${rowState(sql, "w")} AS state FROM networks w`
        const networks = [{ id: "evm:parent" }, { id: "evm:sepolia", ...network }]
        return relayers.map(({ id, state }): ReadRelayer => ({ id, terms: { relayer: state, networks } }))
      })
      const unchanged = (relayers: ReadonlyArray<ReadRelayer>) =>
        Effect.map(
          Effect.all([lanes.read(one.lane.hold, relayers), lanes.read(two.lane.hold, relayers.slice(3))], {
            concurrency: "unbounded"
          }),
          (read) => read.map(({ asRead = new Set() }) => [...asRead])
        )
      const before = yield* states
      assert.deepStrictEqual(yield* unchanged(before), [
        ["r1", "r2", "r3", "r4", "r5"],
        ["r4", "r5"]
      ])
      yield* sql`UPDATE relayers SET name = name WHERE id = 'r2'`
      yield* sql`DELETE FROM relayers WHERE id = 'r4'`
      assert.deepStrictEqual(yield* unchanged(before), [["r1", "r3", "r5"], ["r5"]])
      yield* sql`INSERT INTO networks (id, definition) VALUES ('evm:sepolia', '{}')`
      assert.deepStrictEqual(yield* unchanged(before), [[], []])
      const changed = yield* states
      assert.deepStrictEqual(yield* unchanged(changed), [["r1", "r2", "r3", "r5"], ["r5"]])
      yield* sql`UPDATE networks SET definition = definition`
      assert.deepStrictEqual(yield* unchanged(changed), [[], []])
      const last = yield* states
      yield* sql`DELETE FROM networks`
      assert.deepStrictEqual(yield* unchanged(last), [[], []])
      const { asRead } = yield* lanes.read(one.lane.hold)
      assert.isUndefined(asRead)
    })
  )

  it.effect("take no relayer for unchanged if a row was changed after the statement that compared them", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const lanes = yield* LaneLedger
      const [one] = yield* writers
      if (one === undefined) return assert.fail("no lane")
      const [id = ""] = one.ids
      const relayers = yield* Effect.map(
        sql<{ readonly id: RelayerId; readonly state: string }>`
          SELECT r.id, ${rowState(sql, "r")} AS state FROM relayers r WHERE r.seq = ${one.relayer}`,
        (rows) => rows.map(({ id, state }): ReadRelayer => ({ id, terms: { relayer: state, networks: [] } }))
      )
      const change = sql`UPDATE transactions SET version = version + 1 WHERE id = ${id}::uuid`
      const read = Effect.map(lanes.read(one.lane.hold, relayers), ({ asRead = new Set(), pending }) => ({
        version: pending.find((row) => row.id === id)?.version,
        asRead: [...asRead]
      }))
      yield* change
      // Only the read of rows needs the attempts.
      const release = yield* locking(sql`LOCK TABLE attempts IN ACCESS EXCLUSIVE MODE`)
      const reading = yield* Effect.forkScoped(read)
      yield* untilWaiting
      yield* change
      yield* release
      assert.deepStrictEqual(yield* Fiber.join(reading), { version: 3, asRead: [] })
      assert.deepStrictEqual(yield* read, { version: 3, asRead: ["r1"] })
    })
  )

  it.effect("of two processes give every nonce once, without a hole", () =>
    Effect.gen(function* () {
      const count = 40
      const rounds = 5
      const ids: Array<LaneId> = []
      for (const index of Array.range(1, count)) {
        const of = account((index % laneCount) + 1, index)
        yield* insert(of, rounds)
        ids.push(Option.getOrThrow(yield* (yield* Ledger).laneOf(of)).id)
      }
      const work = (some: ReadonlyArray<LaneId>) =>
        Effect.gen(function* () {
          const lanes = yield* LaneLedger
          const held = yield* Effect.forEach(some, (id) => lanes.claim(["evm"], 1, [id]))
          const step = Effect.fnUntraced(function* ({ hold }: HeldLane) {
            const { pending, stored } = yield* lanes.read(hold)
            const [row] = pending
            if (row === undefined) return
            const [sent] = yield* lanes.commitSignatures(hold, [
              signature(row, Number(stored.lane.accounts[0].nextSequence))
            ])
            if (sent !== undefined) yield* lanes.recordSends(hold, [sentOf(sent, true)])
          })
          const own = held.flat()
          for (let round = 0; round < rounds; round++) {
            yield* Effect.all(
              [Effect.forEach(own, step, { concurrency: "unbounded" }), lanes.renew(own.map((one) => one.hold))],
              {
                concurrency: "unbounded"
              }
            )
          }
        })
      const other = yield* process()
      yield* Effect.all([work(ids.slice(0, count / 2)), Effect.provide(work(ids.slice(count / 2)), other)], {
        concurrency: "unbounded"
      })
      const sql = yield* SqlClient.SqlClient
      const found = yield* sql`
        SELECT l.next_nonce::float8 AS next, array_agg(t.nonce::float8 ORDER BY t.nonce) AS nonces, array_agg(DISTINCT t.state) AS states
        FROM lanes l JOIN transactions t ON t.lane_id = l.id GROUP BY l.id`
      assert.deepStrictEqual(
        found,
        Array.makeBy(count, () => ({ next: rounds, nonces: Array.range(0, rounds - 1), states: ["submitted"] }))
      )
    })
  )
})

const Condition = Schema.Literals(["as it was read", ...(Object.keys(changes) as Array<Change>)])

let runs = 0

layer(ledger)("lanes of which any have been lost or changed", (it) => {
  it.effect.prop(
    "write exactly the parts of the others",
    [Schema.Array(Condition).check(Schema.isMaxLength(laneCount)).pipe(Arbitrary.schema)],
    ([conditions]) =>
      Effect.gen(function* () {
        const all = yield* writersFrom(1000 * ++runs)
        const conditionOf = (index: number) => conditions[index] ?? "as it was read"
        for (const [index, writer] of all.entries()) {
          const condition = conditionOf(index)
          if (condition !== "as it was read") yield* changes[condition](writer)
        }
        const exits = yield* commitAll(all)
        for (const [index, writer] of all.entries()) {
          const condition = conditionOf(index)
          assert.strictEqual(exits[index] && Exit.isSuccess(exits[index]), condition === "as it was read")
          if (condition === "as it was read") yield* assertWritten([writer])
          else yield* assertNothing(writer, condition)
        }
      }),
    property()
  )
})

const notify = (relayer: number, notification: string | null) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.andThen(
      sql`INSERT INTO notifications (id, type, url) VALUES ('n1', 'webhook', 'https://example.com') ON CONFLICT DO NOTHING`,
      sql`UPDATE relayers SET notification_id = ${notification} WHERE seq = ${relayer}`
    )
  )

/** Deliveries of a transaction, in their order. Each has the type, the state and the id of its event and its own id. */
const deliveriesOf = Effect.fnUntraced(function* (id: TransactionId) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly event: string; readonly isOfEvent: boolean }>`
    SELECT d.event, d.event = e.type AND d.body::json ->> 'type' = e.type AND d.body::json ->> 'id' = d.id
      AND d.body::json -> 'payload' ->> 'status' = e.data ->> 'status' AND d.body::json -> 'payload' ->> 'id' = ${id} AS "isOfEvent"
    FROM deliveries d JOIN events e ON e.id = d.event_id AND e.resource_id = d.lane WHERE d.lane = ${id} ORDER BY d.seq`
  assert.isTrue(rows.every(({ isOfEvent }) => isOfEvent))
  return rows.map(({ event }) => event)
})

layerEach(ledger)("lanes whose relayers have a notification", (it) => {
  it.effect("store deliveries together after a statement has found the notifications", () =>
    Effect.gen(function* () {
      const lanes = yield* LaneLedger
      for (const relayer of [1, 2]) yield* notify(relayer, "n1")
      const all = yield* writers
      const committed = (yield* commitAll(all)).map((exit) => (Exit.isSuccess(exit) ? exit.value : []))
      yield* Effect.forEach(
        all,
        ({ lane }, index) => {
          const sends = (committed[index] ?? []).map((row) => sentOf(row, true))
          return Array.isReadonlyArrayNonEmpty(sends) ? lanes.recordSends(lane.hold, sends) : Effect.succeed([])
        },
        { concurrency: "unbounded" }
      )
      for (const { relayer, ids } of all) {
        const expected = relayer <= 2 ? ["transaction.signed", "transaction.submitted"] : []
        for (const id of ids) assert.deepStrictEqual(yield* deliveriesOf(id), expected)
      }
      const sql = yield* SqlClient.SqlClient
      const [row] = yield* sql<{ readonly count: number }>`
        SELECT count(DISTINCT xmin::text)::float8 AS count FROM (
          SELECT xmin FROM transactions UNION ALL SELECT xmin FROM deliveries WHERE event = 'transaction.submitted'
        ) rows`
      assert.strictEqual(row?.count, 1)
    })
  )

  for (const [what, before, after] of [
    ["gets one", null, "n1"],
    ["loses it", "n1", null]
  ] as const) {
    it.effect(`deliver by the relayer as it is, if it ${what} after a statement has read it`, () =>
      Effect.gen(function* () {
        const lanes = yield* LaneLedger
        yield* notify(1, before)
        const all = yield* writers
        const committed = (yield* commitAll(all)).map((exit) => (Exit.isSuccess(exit) ? exit.value : []))
        yield* notify(1, after)
        yield* Effect.forEach(
          all,
          ({ lane }, index) => {
            const sends = (committed[index] ?? []).map((row) => sentOf(row, true))
            return Array.isReadonlyArrayNonEmpty(sends) ? lanes.recordSends(lane.hold, sends) : Effect.succeed([])
          },
          { concurrency: "unbounded" }
        )
        const first = all.find(({ relayer }) => relayer === 1)
        for (const id of first?.ids ?? []) {
          assert.deepStrictEqual(
            yield* deliveriesOf(id),
            before === null ? ["transaction.submitted"] : ["transaction.signed"]
          )
        }
      })
    )
  }
})

/** A network whose bytes have no sequence, so that two transactions can have the same ones. */
const paper = {
  ...rulesOfUnknown("paper"),
  repeated: () => undefined,
  withGiven: (facts: object, { hash }: { readonly hash: string }) => ({ ...facts, given: hash })
}

layerEach(ledgerOf(paper))("lanes of bytes that can repeat", (it) => {
  it.effect("do not commit bytes that a caller gets meanwhile", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const lanes = yield* LaneLedger
      const of = (relayer: number) => ({ ...account(relayer), chain: "paper:1" })
      const parts = yield* Effect.forEach([1, 2], (relayer) =>
        Effect.gen(function* () {
          yield* accept(of(relayer), 1, { request: {} })
          const { id } = Option.getOrThrow(yield* transactions.laneOf(of(relayer)))
          const [lane] = yield* lanes.claim(["paper"], 1, [id])
          if (lane === undefined) return assert.fail("the lane is not free")
          const [row] = (yield* lanes.read(lane.hold)).pending
          if (row === undefined) return assert.fail("no transaction is pending")
          const { attempt, ...others } = signature(row, 0, { hash: `${relayer}`.repeat(88) })
          return { hold: lane.hold, signature: { ...others, attempt: { ...attempt, offer: {} } } }
        })
      )
      const [first, second] = parts
      if (first === undefined || second === undefined) return assert.fail("no lane")
      yield* waitAfterSnapshot("UPDATE")
      const release = yield* holding
      const committing = yield* Effect.forkScoped(
        Effect.forEach(parts, (part) => Effect.exit(lanes.commitSignatures(part.hold, [part.signature])), {
          concurrency: "unbounded"
        })
      )
      yield* untilWaiting
      const giving = yield* Effect.forkScoped(
        Effect.exit(
          transactions.give(of(1), {
            identity: "bytes",
            hash: first.signature.attempt.hash,
            raw: first.signature.raw,
            fee: 1n,
            end: { validUntil: Date.UTC(2100, 0) }
          })
        )
      )
      const sql = yield* SqlClient.SqlClient
      const waiting = sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
      yield* Effect.race(Effect.repeat(waiting, { until: (rows) => rows.length > 1 }), Fiber.await(giving))
      yield* release
      assert.isTrue(Exit.isFailure(yield* Fiber.join(giving)))
      assert.isTrue((yield* Fiber.join(committing)).every((exit) => Exit.isSuccess(exit)))
      assert.deepStrictEqual(yield* lanes.given([first.signature.attempt.hash]), new Set())
      yield* transactions.accept(of(1), [newTransaction(0, { request: {} })])
    })
  )
})
