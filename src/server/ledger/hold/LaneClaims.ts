// Claims on lanes by this process.
import { Effect } from "effect"
import { ClaimsRepo } from "./ClaimsRepo.ts"
import type { HeldLane, ReleaseReason } from "./HeldLane.ts"
import type { Shared } from "./LaneFence.ts"
import { LedgerMark } from "../LedgerMark.ts"
import type { Hold, LaneId } from "../StoredLane.ts"

export const make = Effect.fnUntraced(function* ({ memory }: Shared) {
  const repo = yield* ClaimsRepo
  const mark = yield* LedgerMark

  const claim = Effect.fn("LaneLedger.claim")(function* (
    types: ReadonlyArray<string>,
    limit: number,
    among?: ReadonlyArray<LaneId>
  ) {
    yield* mark.renew
    const found = yield* repo.claim(types, limit, among)
    return found.map(({ epoch, stored }): HeldLane => ({ hold: { laneId: stored.id, epoch }, stored }))
  })

  const renew = (holds: ReadonlyArray<Hold>) => (holds.length === 0 ? Effect.succeed([]) : repo.renew(holds))

  const release = Effect.fn("LaneLedger.release")(function* (hold: Hold, reason: ReleaseReason) {
    const isReleased = yield* repo.release(hold, reason === "idle")
    const isGone = isReleased || !(yield* repo.isHeld(hold))
    if (isGone) memory.forget(hold.laneId)
    return isGone
  })

  const { lease, hasLanes, hasWork, newestPending } = repo
  return { lease, claim, renew, release, hasLanes, hasWork, newestPending }
})
