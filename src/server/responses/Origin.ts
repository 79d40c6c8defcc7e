// Which caller and which request a change comes from.
import { Effect } from "effect"
import * as Caller from "../../domain/access/Caller.ts"
import { currentRequestId } from "./CurrentRequest.ts"

export interface Origin {
  /** The id of the caller's API key. */
  readonly keyId: string
  /** Null outside of requests. */
  readonly requestId: string | null
}

export const current: Effect.Effect<Origin> = Effect.map(
  Effect.all([Caller.current, currentRequestId]),
  ([{ id }, requestId]) => ({ keyId: id, requestId: requestId ?? null })
)
