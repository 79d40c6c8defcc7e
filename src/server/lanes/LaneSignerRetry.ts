// Decides when a lane asks its signer again after a failure.
import { Clock, Effect } from "effect"
import type { SigningFailed } from "./LaneKeys.ts"
import type { StepState } from "./StepState.ts"

/** Milliseconds until a signer that failed is asked again: doubles up to a minute. */
const firstRetry = 1000
const longestRetry = 60_000

/** The longest pause, in milliseconds, that a signer may ask for: after a longer one, the lane would seem to be lost. */
const longestAsked = 300_000

/** Logs only the first failure since the last signature. */
export const noteFailure = Effect.fnUntraced(function* ({ context }: StepState, failure: SigningFailed) {
  const { memory, hold } = context
  const { code, message, requestId, retryAfter = 0 } = failure
  const failures = memory.signerFailures++
  const pause = Math.min(firstRetry * 2 ** failures, longestRetry)
  const at = (yield* Clock.currentTimeMillis) + Math.max(pause, Math.min(retryAfter, longestAsked))
  memory.signerRetry = { code, at }
  if (failures > 0) return
  yield* Effect.annotateLogs(Effect.logWarning("transactions of a lane cannot be signed"), {
    lane_id: hold.laneId,
    code,
    reason: message,
    ...(requestId === undefined ? {} : { key_service_request_id: requestId })
  })
})
