// SQL transactions about a held lane: they lock the lane first, and write nothing if it is no longer held.
import { Effect } from "effect"
import * as Deadlock from "../../../sql/Deadlock.ts"
import * as Transaction from "../../../sql/Transaction.ts"
import { ClaimsRepo } from "./ClaimsRepo.ts"
import { LaneChanged, LaneLost } from "./HeldLane.ts"
import type { RememberedRows } from "./RememberedRows.ts"
import * as LanesRepo from "./LanesRepo.ts"
import type { Assignments } from "./LanesRepo.ts"
import type { Hold } from "../StoredLane.ts"

interface LaneFence {
  /** Runs writes while the lane is locked. Fails with `LaneLost` before them. */
  held<A, E>(hold: Hold, writes: Effect.Effect<A, E>): Effect.Effect<A, E | LaneLost>
  /** The same, and gives away sequences. Fails with `LaneChanged` if the lane would assign others. */
  assigning<A, E>(
    hold: Hold,
    assignments: Assignments,
    writes: Effect.Effect<A, E>
  ): Effect.Effect<A, E | LaneLost | LaneChanged>
}

/** What the parts of the service share. */
export interface Shared {
  readonly memory: RememberedRows
  readonly fence: LaneFence
}

export const make = Effect.gen(function* () {
  const lanes = yield* LanesRepo.make
  const claims = yield* ClaimsRepo
  const transaction = yield* Transaction.make

  const lost = ({ laneId }: Hold) => Effect.fail(new LaneLost({ laneId }))

  const held = <A, E>(hold: Hold, writes: Effect.Effect<A, E>): Effect.Effect<A, E | LaneLost> =>
    lanes.fence(hold).pipe(
      Effect.flatMap((isHeld): Effect.Effect<A, E | LaneLost> => (isHeld ? writes : lost(hold))),
      transaction,
      Deadlock.retry
    )

  const refuse = (hold: Hold) =>
    Effect.flatMap(claims.isHeld(hold), (isHeld): Effect.Effect<never, LaneLost | LaneChanged> =>
      isHeld ? Effect.fail(new LaneChanged({ laneId: hold.laneId })) : lost(hold)
    )

  const assigning = <A, E>(hold: Hold, assignments: Assignments, writes: Effect.Effect<A, E>) =>
    lanes.assign(hold, assignments).pipe(
      Effect.flatMap((isAssigned): Effect.Effect<A, E | LaneLost | LaneChanged> =>
        isAssigned ? writes : refuse(hold)
      ),
      transaction,
      Deadlock.retry
    )

  return { held, assigning } satisfies LaneFence
})
