// Transactions whose relayer cannot be used, because a row was changed or removed in the database: they wait with a code, and
// nothing that the changed row names is called or signs. Other relayers of the lane go on.
import { Effect } from "effect"
import { isReadonlyArrayNonEmpty } from "effect/Array"
import { cause } from "../../domain/transaction/Cause.ts"
import { Command } from "../../domain/transaction/Command.ts"
import type { Decided } from "../ledger/hold/HeldLane.ts"
import type { StepState } from "./StepState.ts"
import type { Unusable } from "./LaneRelayers.ts"

/** One warning per relayer and episode, which ends when the relayer can be used again. */
const warn = Effect.fnUntraced(function* ({ context: { memory, hold } }: StepState, unusable: ReadonlyArray<Unusable>) {
  const known = memory.unusable
  memory.unusable = new Set(unusable.map(({ id }) => id))
  for (const { id, reason } of unusable) {
    if (known.has(id)) continue
    yield* Effect.annotateLogs(Effect.logWarning("transactions of a relayer wait because a row was changed"), {
      lane_id: hold.laneId,
      relayer_id: id,
      reason
    })
  }
})

const held = Command.Hold({ cause: cause("row_changed"), scope: "relayer" })

/** A restored transaction keeps its code, because it waits for an operator in any case. */
export const holdAll = Effect.fnUntraced(function* (step: StepState, unusable: ReadonlyArray<Unusable>) {
  yield* warn(step, unusable)
  const ids = new Set(unusable.map(({ id }) => id))
  const decided = step.stored().flatMap((stored): ReadonlyArray<Decided> => {
    const { state, restored } = stored.transaction
    return !ids.has(stored.relayerId) || (state === "pending" && restored) ? [] : [{ stored, command: held }]
  })
  if (!isReadonlyArrayNonEmpty(decided)) return
  step.update(yield* step.context.ledger.apply(step.context.hold, decided))
})
