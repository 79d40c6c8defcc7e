// The fees of an API key when signatures are committed: what it has left is used once, by whichever lane commits first.
import { noncesOf } from "../../../src/networks/evm/rules/Evm.ts"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { HeldLane } from "../../../src/server/ledger/LedgerEntries.ts"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { account, insert } from "../../../testkit/LedgerRows.ts"
import { claimOne, ledger, signature } from "./Fixtures.ts"

/** What a signature of `Fixtures.signature` costs, in wei. */
const cost = 21_000n * 10_000_000_000n

const ofKey = { keyId: "key", networkType: "evm" }

/** The limit of the key that `Fixtures.insert` accepts with. */
const setLimit = (maximum: bigint) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`
      INSERT INTO api_key_fee_limits (key_id, network_type, maximum) VALUES ('key', 'evm', ${String(maximum)}::numeric)
      ON CONFLICT (key_id, network_type) DO UPDATE SET maximum = excluded.maximum`
  )

/** Signs the first pending transaction of a lane. */
const commitFirst = Effect.fnUntraced(function* ({ hold }: HeldLane, maximum: bigint) {
  const lanes = yield* LaneLedger
  const { stored, pending } = yield* lanes.read(hold)
  const [row = assert.fail("nothing is pending")] = pending
  const signed = { ...signature(row, noncesOf(stored.lane).nextNonce), feeLimits: [{ ...ofKey, maximum }] }
  return yield* Effect.result(lanes.commitSignatures(hold, [signed]))
})

layerEach(ledger)("a commit of signatures", (it) => {
  it.effect("of two lanes with one API key passes for one of them if the key has fees left for one", () =>
    Effect.gen(function* () {
      const rounds = 10
      yield* insert(account(1), rounds, { fee: 0n })
      yield* insert(account(2), rounds, { fee: 0n })
      const lanes = [yield* claimOne, yield* claimOne]
      for (let round = 1; round <= rounds; round++) {
        const limit = BigInt(round) * cost
        yield* setLimit(limit)
        const results = yield* Effect.forEach(lanes, (lane) => commitFirst(lane, limit), { concurrency: 2 })
        assert.deepStrictEqual(results.map(({ _tag }) => _tag).toSorted(), ["Failure", "Success"])
        const refused = results.find(({ _tag }) => _tag === "Failure")
        assert.strictEqual(refused?._tag === "Failure" && refused.failure._tag, "LaneChanged")
        assert.strictEqual(yield* (yield* Ledger).feesOfLastDay(ofKey), limit)
      }
    })
  )

  it.effect("passes beyond the limit if it does not raise the fees of the key, and for a no-op", () =>
    Effect.gen(function* () {
      yield* setLimit(1n)
      yield* insert(account(1), 1, { fee: cost })
      const lane = yield* claimOne
      const committed = yield* commitFirst(lane, 1n)
      assert.strictEqual(committed._tag, "Success")
      const lanes = yield* LaneLedger
      const { inFlight } = yield* lanes.read(lane.hold)
      const [row = assert.fail("nothing is in flight")] = inFlight
      const feeLimits = [{ ...ofKey, maximum: 1n }]
      const bump = { ...signature(row, 0), feeLimits }
      assert.strictEqual((yield* Effect.flip(lanes.commitSignatures(lane.hold, [bump])))._tag, "LaneChanged")
      yield* lanes.commitSignatures(lane.hold, [{ ...signature(row, 0, { kind: "noop" }), feeLimits }])
    })
  )
})
