// When a lane asks its signer again after a failure.
import { Clock, Effect } from "effect"
import type { Work } from "./LaneContext.ts"
import type { SigningFailed } from "./LaneSigner.ts"

/** Milliseconds until a signer that failed is asked again: doubles up to a minute. */
const firstRetry = 1000
const longestRetry = 60_000

/** Milliseconds that a signer may ask for before the next request: longer pauses would look like a lost lane. */
const longestAsked = 300_000

/** One warning per episode, which ends with a signature. */
export const noteFailure = Effect.fnUntraced(function* ({ context }: Work, failure: SigningFailed) {
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
