// Fillers: no-ops for sequences that no transaction has. The oldest open transaction lends them its relayer.
import { Clock, Effect } from "effect"
import { isReadonlyArrayNonEmpty } from "effect/Array"
import type { GapSignature } from "../ledger/hold/HeldLane.ts"
import type { StoredTransaction } from "../ledger/StoredTransaction.ts"
import { reach } from "./CrashPoints.ts"
import type { Filler, LaneRelayer } from "./LaneNetwork.ts"
import { send } from "./LaneSending.ts"
import { attemptOf, inParallel } from "./LaneSigning.ts"
import { noteFailure } from "./LaneSignerRetry.ts"
import type { StepState } from "./StepState.ts"

const none: ReadonlyArray<GapSignature> = []

export const fill = Effect.fnUntraced(function* (
  step: StepState,
  fillers: ReadonlyArray<Filler>,
  owner: StoredTransaction,
  relayer: LaneRelayer
) {
  if (fillers.length === 0) return
  const { context } = step
  const sign = Effect.fnUntraced(function* ({ place, request, sign }: Filler) {
    const { hash, raw } = yield* context.chain.sign({ lane: step.lane(), relayer, request: undefined, place, sign })
    const id = yield* context.newId
    const now = yield* Clock.currentTimeMillis
    const attempt = attemptOf(undefined, step.lane(), sign, { place, hash, now })
    const gap: GapSignature = { id, request, attempt, raw, cause: sign.cause }
    return gap
  })
  const signed = yield* Effect.catch(Effect.forEach(fillers, sign, { concurrency: inParallel }), (failure) =>
    Effect.as(noteFailure(step, failure), none)
  )
  if (!isReadonlyArrayNonEmpty(signed)) return
  const stored = yield* context.ledger.commitGaps(context.hold, owner, signed)
  yield* reach("committed")
  step.update(stored)
  const raw = new Map(signed.map((gap) => [gap.id, gap.raw]))
  yield* send(
    step,
    stored.map((stored) => ({ stored, relayer, ordinals: [1] })),
    ({ id }) => raw.get(id)
  )
})
