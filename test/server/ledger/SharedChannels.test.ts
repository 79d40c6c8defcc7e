// Lanes whose transactions take sequences of channels share a statement: a counter of a channel moves with the transactions of its lane, or neither is written.
import { assert } from "@effect/vitest"
import { Array, Effect, Exit, Fiber, Option } from "effect"
import { SqlClient } from "effect/sql"
import { cause } from "../../../src/networks/core/Cause.ts"
import { rulesOfUnknown } from "../../../src/networks/core/UnknownNetwork.ts"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import type { Hold, Signature, StoredTransaction } from "../../../src/server/ledger/LedgerEntries.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { accept, account as evmAccount } from "../../../testkit/LedgerRows.ts"
import { changedBeforeLocks, committedOrStuck, ledgerOf, locking, untilWaiting } from "./Fixtures.ts"

const laneCount = 5

interface Writer {
  readonly hold: Hold
  readonly channels: readonly [string, string]
  readonly signatures: Array.NonEmptyReadonlyArray<Signature>
}

/** The next sequence of each channel. */
const next = 7n

const signatureOf = (stored: StoredTransaction, account: string): Signature => ({
  stored,
  raw: new Uint8Array([1]),
  cause: cause("sending"),
  attempt: {
    ordinal: 1,
    kind: "original",
    generation: 0,
    requestVersion: 1,
    hash: `hash-${stored.id}`,
    place: { account, sequence: next },
    offer: {},
    maxFee: 0n,
    signedAt: 0,
    sends: 0,
    outcome: "unknown"
  }
})

/** Five held lanes, each with two channels, and a transaction for each channel that is signed and not committed. */
const writers = Effect.gen(function* () {
  const lanes = yield* LaneLedger
  return yield* Effect.forEach(Array.range(1, laneCount), (relayer) =>
    Effect.gen(function* () {
      const of = { ...evmAccount(relayer), chain: "paper:1", address: `own-${relayer}` }
      const channels = [`first-${relayer}`, `second-${relayer}`] as const
      yield* accept(of, channels.length, { request: {} })
      const { id } = Option.getOrThrow(yield* (yield* Ledger).laneOf(of))
      const [held] = yield* lanes.claim(["paper"], 1, [id])
      if (held === undefined) return assert.fail("the lane is not free")
      const { hold, stored } = held
      const [own] = stored.lane.accounts
      const others = channels.map((address) => ({
        address,
        nextSequence: next,
        chainSequence: next,
        settledSequence: next
      }))
      yield* lanes.saveLane(hold, {
        chain: of.chain,
        read: stored,
        lane: { ...stored.lane, accounts: [own, ...others] },
        usedTrust: false,
        nextPollAt: 0
      })
      const signatures = Array.zipWith((yield* lanes.read(hold)).pending, channels, signatureOf)
      if (!Array.isReadonlyArrayNonEmpty(signatures)) return assert.fail("no rows")
      const writer: Writer = { hold, channels, signatures }
      return writer
    })
  )
})

const commitAll = Effect.fnUntraced(function* (all: ReadonlyArray<Writer>) {
  const lanes = yield* LaneLedger
  return yield* Effect.forEach(all, ({ hold, signatures }) => Effect.exit(lanes.commitSignatures(hold, signatures)), {
    concurrency: "unbounded"
  })
})

/** The next sequence of each channel, and the sequence of the transaction that has it. */
const stateOf = Effect.fnUntraced(function* ({ channels }: Writer) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql`
    SELECT c.next_nonce::float8 AS next, t.nonce::float8 AS taken
    FROM lanes c LEFT JOIN transactions t ON t.channel_id = c.id WHERE c.address = ANY(${channels}::text[]) ORDER BY c.address`
})

const written = [
  { next: 8, taken: 7 },
  { next: 8, taken: 7 }
]

/** How many transactions of the database wrote the attempts of all lanes. */
const commits = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(sql`SELECT DISTINCT xmin::text FROM attempts`, (rows) => rows.length)
)

layerEach(ledgerOf(rulesOfUnknown("paper")))("lanes with channels that write at the same moment", (it) => {
  it.effect("commit in one transaction of the database", () =>
    Effect.gen(function* () {
      const all = yield* writers
      assert.isTrue((yield* commitAll(all)).every((exit) => Exit.isSuccess(exit)))
      for (const writer of all) assert.deepStrictEqual(yield* stateOf(writer), written)
      assert.strictEqual(yield* commits, 1)
    })
  )

  const moved = [
    { next: 9, taken: null },
    { next: 7, taken: null }
  ]

  const move = ({ channels: [first] }: Writer) =>
    Effect.flatMap(SqlClient.SqlClient, (sql) => sql`UPDATE lanes SET next_nonce = 9 WHERE address = ${first}`)

  it.effect("write without the part of a lane if the counter of one of its channels has moved", () =>
    Effect.gen(function* () {
      const all = yield* writers
      const [first, ...others] = all
      if (first === undefined) return assert.fail("no lane")
      yield* move(first)
      const [exit, ...exits] = yield* commitAll(all)
      assert.isTrue(exit !== undefined && Exit.isFailure(exit))
      assert.isTrue(exits.every((one) => Exit.isSuccess(one)))
      assert.deepStrictEqual(yield* stateOf(first), moved)
      for (const writer of others) assert.deepStrictEqual(yield* stateOf(writer), written)
      assert.strictEqual(yield* commits, 1)
    })
  )

  it.effect("write without the part of a lane whose channel has moved between the snapshot and the lock", () =>
    Effect.gen(function* () {
      const all = yield* writers
      const [first, ...others] = all
      if (first === undefined) return assert.fail("no lane")
      const [exit, ...exits] = yield* changedBeforeLocks(commitAll(all), move(first))
      assert.isTrue(exit !== undefined && Exit.isFailure(exit))
      assert.isTrue(exits.every((one) => Exit.isSuccess(one)))
      assert.deepStrictEqual(yield* stateOf(first), moved)
      for (const writer of others) assert.deepStrictEqual(yield* stateOf(writer), written)
    })
  )

  it.effect("wait for no lock of a channel: the part of its lane follows alone", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const all = yield* writers
      const [first, ...others] = all
      if (first === undefined) return assert.fail("no lane")
      const release = yield* locking(sql`SELECT FROM lanes WHERE address = ${first.channels[0]} FOR UPDATE`)
      const committing = yield* Effect.forkScoped(commitAll(all))
      assert.deepStrictEqual(yield* committedOrStuck, { attempts: 2 * others.length, stuck: 0 })
      for (const writer of others) assert.deepStrictEqual(yield* stateOf(writer), written)
      assert.strictEqual(yield* commits, 1)
      yield* untilWaiting
      assert.strictEqual(committing.pollUnsafe(), undefined)
      yield* release
      assert.isTrue((yield* Fiber.join(committing)).every((exit) => Exit.isSuccess(exit)))
      assert.deepStrictEqual(yield* stateOf(first), written)
    })
  )
})
