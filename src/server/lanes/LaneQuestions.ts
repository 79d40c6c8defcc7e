// Asks the chain what decisions need to know besides a poll.
import { Effect } from "effect"
import type { Array as Arr } from "effect"
import type { Inquiry } from "./LaneNetwork.ts"
import type { StepState } from "./StepState.ts"

/**
 * Returns what is seen of each row with its answer, by number. Foreign transactions that were found on the way mark the
 * requests that they could be, before any of these is decided.
 */
export const inquire = Effect.fnUntraced(function* (
  { context: { chain, ledger, hold }, storedLane, lane, update }: StepState,
  inquiries: Arr.NonEmptyReadonlyArray<Inquiry>
) {
  const found = yield* chain.inquire(lane(), inquiries)
  for (const { foreign = [] } of found) {
    for (const one of foreign) update(yield* ledger.markRestored(hold, storedLane.chain, one))
  }
  return new Map(inquiries.map(({ row, seen }, index) => [row.transaction.number, found[index]?.seen ?? seen] as const))
})
