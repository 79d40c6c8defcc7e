// Reads lanes that this process holds.
import { Clock, Effect } from "effect"
import type { Option } from "effect"
import { isFinal } from "../../../domain/transaction/Transaction.ts"
import * as Batcher from "../../../sql/batch/Batcher.ts"
import { client } from "../../../sql/Query.ts"
import { LaneLost } from "./HeldLane.ts"
import type { LaneContents } from "./HeldLane.ts"
import * as LaneContentsRepo from "./LaneContentsRepo.ts"
import type { OpenStates } from "./LaneContentsRepo.ts"
import type { Shared } from "./LaneFence.ts"
import * as LanesRepo from "./LanesRepo.ts"
import type { Hold, LaneId, StoredLane } from "../StoredLane.ts"
import * as TransactionsRepo from "../write/TransactionsRepo.ts"
import type { RowState } from "../write/TransactionsRepo.ts"

/** The most final transactions that are sent again in one poll after a deep reorganisation opened their nonces. */
export const maxReopened = 100

export const make = Effect.fnUntraced(function* ({ memory }: Shared) {
  const sql = yield* client
  const lanes = yield* LanesRepo.make
  const contents = yield* LaneContentsRepo.make
  const transactions = yield* TransactionsRepo.make

  // Lanes that begin a step at the same time, because a block or a burst has come, share their statements.
  const findHeld = yield* Batcher.make<Hold, Option.Option<StoredLane>>(sql, { all: lanes.findHeld })
  const statesOf = yield* Batcher.make<LaneId, OpenStates>(sql, {
    all: (ids) => Effect.flatMap(Clock.currentTimeMillis, (now) => contents.states(ids, now))
  })

  const laneOf = (hold: Hold) =>
    Effect.flatMap(
      findHeld(hold),
      Effect.fromOption(() => new LaneLost({ laneId: hold.laneId }))
    )

  /** Without those that were deleted meanwhile. */
  const rowsOf = Effect.fnUntraced(function* (hold: Hold, states: ReadonlyArray<RowState>) {
    const changed = states.filter((state) => memory.get(hold, state) === undefined)
    const read = new Map((yield* transactions.find(changed.map(({ id }) => id))).map((row) => [row.id, row]))
    return states.flatMap((state) => memory.get(hold, state) ?? read.get(state.id) ?? [])
  })

  const read = Effect.fn("LaneLedger.read")(function* (hold: Hold) {
    const [stored, { states, pendingCount, nextMoment }] = yield* Effect.all([laneOf(hold), statesOf(hold.laneId)], {
      concurrency: 2
    })
    const rows = yield* rowsOf(hold, states)
    memory.replace(hold, rows)
    // A row can change between the statements.
    const found: LaneContents = {
      stored,
      inFlight: rows.filter(({ transaction }) => transaction.place !== undefined && !isFinal(transaction)),
      pending: rows.filter(({ transaction }) => transaction.state === "pending"),
      pendingCount,
      ...(nextMoment === undefined ? {} : { nextMoment })
    }
    return found
  })

  const committedFrom = Effect.fn("LaneLedger.committedFrom")(function* (hold: Hold, from: bigint) {
    const { lane, id } = yield* laneOf(hold)
    return yield* contents.sequencesFrom(id, lane.generation, from)
  })

  const minedFrom = Effect.fn("LaneLedger.minedFrom")(function* (hold: Hold, from: bigint) {
    const { lane, id } = yield* laneOf(hold)
    return yield* contents.minedFrom(id, lane.generation, from)
  })

  const finalFrom = Effect.fn("LaneLedger.finalFrom")(function* (hold: Hold, from: bigint) {
    const { lane, id } = yield* laneOf(hold)
    return yield* transactions.find(yield* contents.finalFrom(id, lane.generation, from, maxReopened))
  })

  return { read, committedFrom, minedFrom, finalFrom }
})
