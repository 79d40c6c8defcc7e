// A lane with two accounts: a commit compares and sets the counter of each account that occurs, also above 2^53.
import { assert, layer } from "@effect/vitest"
import { Arbitrary, Array, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { cause } from "../../../src/networks/core/Cause.ts"
import { Command, finish } from "../../../src/networks/core/Rules.ts"
import type { Lane, LaneAccount } from "../../../src/networks/core/Transaction.ts"
import type { Place } from "../../../src/networks/core/TransactionValues.ts"
import { rulesOfUnknown } from "../../../src/networks/core/UnknownNetwork.ts"
import type { Signature, StoredTransaction } from "../../../src/server/ledger/LedgerEntries.ts"
import { property } from "../../../testkit/Depth.ts"
import { accept, account as evmAccount, newTransaction } from "../../../testkit/LedgerRows.ts"
import { ledgersOf } from "./Contract.ts"
import { ledgerOf } from "./Fixtures.ts"

const rules = rulesOfUnknown("paper")

/** The highest sequence of a bigint column, less what a test gives away. */
const highest = 2n ** 63n - 1000n

const Start = Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: highest }))

/** How many rows an account gets, and by how much their first sequence differs from its counter. */
const Part = Schema.Struct({
  count: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 })),
  shift: Schema.Literals([0, 0, 0, 1])
})
const Step = Schema.Struct({ own: Part, channel: Part, frees: Schema.Boolean })

const signatureAt = (stored: StoredTransaction, place: Place): Signature => ({
  stored,
  raw: new Uint8Array([1]),
  cause: cause("sending"),
  attempt: {
    ordinal: stored.transaction.attempts.length + 1,
    kind: "original",
    generation: 0,
    requestVersion: 1,
    hash: randomUUID(),
    place,
    offer: {},
    maxFee: 0n,
    signedAt: 0,
    sends: 0,
    outcome: "unknown"
  }
})

const placesOf = (account: string, { count, shift }: typeof Part.Type, next: bigint): ReadonlyArray<Place> =>
  Array.makeBy(count, (index) => ({ account, sequence: next + BigInt(shift + index) })).slice(0, count)

const isRight = ({ count, shift }: typeof Part.Type): boolean => count === 0 || shift === 0

let runs = 0

const accountAt = (address: string, sequence: bigint): LaneAccount => ({
  address,
  nextSequence: sequence,
  chainSequence: sequence,
  settledSequence: sequence
})

/** A held lane of relayer 3 with two pending rows, and what saves its accounts. */
const hold = Effect.fnUntraced(function* () {
  const lanes = yield* LaneLedger
  const of = { ...evmAccount(3), chain: "paper:1", address: randomUUID() }
  yield* accept(of, 2, { request: {} })
  const lane = Option.getOrThrow(yield* (yield* Ledger).laneOf(of)).id
  const [held] = yield* lanes.claim(["paper"], 1, [lane])
  if (held === undefined) return yield* Effect.die(new Error("the lane is not free"))
  const { chain, lane: stored } = held.stored
  const [own] = stored.accounts
  const save = (channels: ReadonlyArray<LaneAccount>, released: ReadonlyArray<string> = []) =>
    Effect.flatMap(lanes.read(held.hold), ({ stored: read }) =>
      lanes.saveLane(held.hold, {
        chain,
        read,
        lane: { ...stored, accounts: [own, ...channels] },
        released,
        usedTrust: false,
        nextPollAt: 0
      })
    )
  const addresses = Effect.map(lanes.read(held.hold), ({ stored: { lane } }) =>
    lane.accounts.map(({ address }) => address).slice(1)
  )
  return { lanes, of, hold: held.hold, save, addresses }
})

for (const [kind, ledger] of ledgersOf(rules)) {
  layer(ledger)(`accounts of a lane, ${kind},`, (it) => {
    it.effect("are adopted, unless they belong to another lane", () =>
      Effect.gen(function* () {
        const one = yield* hold()
        const other = yield* hold()
        const [mine, theirs] = [randomUUID(), randomUUID()]
        yield* other.save([accountAt(theirs, 5n)])
        const saved = yield* one.save([accountAt(mine, 7n), accountAt(theirs, 9n), accountAt(other.of.address, 1n)])
        assert.deepStrictEqual(
          saved.lane.accounts.map(({ address }) => address),
          [one.of.address, mine]
        )
        assert.deepStrictEqual(yield* one.addresses, [mine])
        assert.deepStrictEqual(yield* other.addresses, [theirs])
      })
    )

    it.effect("are released when no open transaction has a place there, and can be adopted again", () =>
      Effect.gen(function* () {
        const { addresses, hold: held, lanes, save } = yield* hold()
        const [busy, idle] = [randomUUID(), randomUUID()]
        yield* save([accountAt(busy, 1n), accountAt(idle, 1n)])
        const [row] = (yield* lanes.read(held)).pending
        if (row === undefined) return assert.fail("nothing is pending")
        const [signed] = yield* lanes.commitSignatures(held, [signatureAt(row, { account: busy, sequence: 1n })])
        if (signed === undefined) return assert.fail("not signed")
        yield* save([], [busy, idle])
        assert.deepStrictEqual(yield* addresses, [busy])
        const command = finish({ state: "failed", cause: cause("refused_by_all") })
        yield* lanes.apply(held, [{ stored: signed, command }])
        yield* save([], [busy, idle])
        assert.deepStrictEqual(yield* addresses, [])
        yield* save([accountAt(idle, 3n)])
        assert.deepStrictEqual(yield* addresses, [idle])
      })
    )

    it.effect("accept no transactions as the account of a relayer", () =>
      Effect.gen(function* () {
        const { of, save } = yield* hold()
        const channel = randomUUID()
        yield* save([accountAt(channel, 1n)])
        const transactions = yield* Ledger
        const relayer = { ...of, address: channel }
        const refused = yield* Effect.flip(transactions.accept(relayer, [newTransaction(0, { request: {} })]))
        assert.strictEqual(refused._tag, "TransactionConflict")
        assert.include(refused.message, "is a channel account of another relayer")
      })
    )
  })

  layer(ledger)(`a lane with two accounts, ${kind},`, (it) => {
    it.effect.prop(
      "gives each sequence of each account away once, in their order",
      [
        Arbitrary.schema(Start),
        Arbitrary.schema(Start),
        Arbitrary.schema(Schema.Array(Step).check(Schema.isMaxLength(6)))
      ],
      ([start, channelStart, steps]) =>
        Effect.gen(function* () {
          const lanes = yield* LaneLedger
          runs += 1
          const of = { ...evmAccount(1), chain: "paper:1", address: `own-${runs}` }
          const channel = `channel-${runs}`
          yield* accept(of, 1, { request: {} })
          const { id } = Option.getOrThrow(yield* (yield* Ledger).laneOf(of))
          const [held] = yield* lanes.claim(["paper"], 1, [id])
          if (held === undefined) return assert.fail("the lane is not free")
          const { hold, stored } = held
          const next = { own: start, channel: channelStart }
          const lane: Lane = {
            ...stored.lane,
            accounts: [accountAt(of.address, start), accountAt(channel, channelStart)]
          }
          yield* lanes.saveLane(hold, { chain: of.chain, read: stored, lane, usedTrust: false, nextPollAt: 0 })

          const checkCounters = Effect.gen(function* () {
            const { stored } = yield* lanes.read(hold)
            assert.deepStrictEqual(
              stored.lane.accounts.map(({ address, nextSequence }) => [address, nextSequence]),
              [
                [of.address, next.own],
                [channel, next.channel]
              ]
            )
          })

          for (const step of steps) {
            const own = step.own.count === 0 ? [] : placesOf(of.address, step.own, next.own)
            const others = step.channel.count === 0 ? [] : placesOf(channel, step.channel, next.channel)
            const places = [...own, ...others]
            if (places.length === 0) continue
            const { pending } = yield* lanes.read(hold)
            if (pending.length < places.length) yield* accept(of, places.length - pending.length, { request: {} })
            const rows = (yield* lanes.read(hold)).pending
            const signatures = Array.zipWith(rows, places, signatureAt)
            if (!Array.isReadonlyArrayNonEmpty(signatures)) return assert.fail("no rows")
            const commit = lanes.commitSignatures(hold, signatures)
            if (isRight(step.own) && isRight(step.channel)) {
              const written = yield* commit
              next.own += BigInt(own.length)
              next.channel += BigInt(others.length)
              assert.deepStrictEqual(
                written.map(({ transaction: { place } }) => place),
                places
              )
              const last = written.at(-1)
              const place = last?.transaction.place
              if (step.frees && last !== undefined && place?.sequence !== undefined) {
                const frees = { next: place.sequence }
                const command = Command.Requeue({ restored: false, requeues: 0, cause: cause("queued"), frees })
                yield* lanes.apply(hold, [{ stored: last, command }])
                next[place.account === channel ? "channel" : "own"] -= 1n
              }
            } else {
              assert.strictEqual((yield* Effect.flip(commit))._tag, "LaneChanged")
            }
            yield* checkCounters
            const { inFlight } = yield* lanes.read(hold)
            assert.strictEqual(
              new Set(inFlight.map(({ transaction: { place } }) => `${place?.account} ${place?.sequence}`)).size,
              inFlight.length
            )
          }
          yield* lanes.release(hold, "draining")
        }),
      property(100)
    )
  })
}

layer(ledgerOf(rules))("a lane with two accounts", (it) => {
  it.effect("keeps the counter of a place that a changed row has not given up", () =>
    Effect.gen(function* () {
      const lanes = yield* LaneLedger
      const sql = yield* SqlClient.SqlClient
      const of = { ...evmAccount(2), chain: "paper:1" }
      const [id] = yield* accept(of, 1, { request: {} })
      const lane = Option.getOrThrow(yield* (yield* Ledger).laneOf(of)).id
      const [held] = yield* lanes.claim(["paper"], 1, [lane])
      const row = held && (yield* lanes.read(held.hold)).pending[0]
      if (held === undefined || row === undefined) return assert.fail("nothing to sign")
      const [signed] = yield* lanes.commitSignatures(held.hold, [
        signatureAt(row, { account: of.address, sequence: 0n })
      ])
      if (signed === undefined) return assert.fail("not signed")
      yield* sql`UPDATE transactions SET version = version + 1 WHERE id = ${id}`
      const requeue = Command.Requeue({ restored: false, requeues: 0, cause: cause("queued"), frees: { next: 0n } })
      assert.deepStrictEqual(yield* lanes.apply(held.hold, [{ stored: signed, command: requeue }]), [])
      const contents = yield* lanes.read(held.hold)
      assert.strictEqual(contents.stored.lane.accounts[0].nextSequence, 1n)
      assert.deepStrictEqual(contents.inFlight[0]?.transaction.place, { account: of.address, sequence: 0n })
    })
  )
})
