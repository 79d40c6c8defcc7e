// Which caller and which request a change comes from.
import { Effect } from "effect"
import * as Caller from "../../domain/access/Caller.ts"
import { CurrentRequest } from "./CurrentRequest.ts"

export interface Origin {
  /** The id of the caller's API key. */
  readonly keyId: string
  /** Null outside of requests. */
  readonly requestId: string | null
  /** Null outside of requests. */
  readonly clientAddress: string | null
}

export const current: Effect.Effect<Origin> = Effect.map(
  Effect.all([Caller.current, CurrentRequest]),
  ([{ id }, request]) => ({
    keyId: id,
    requestId: request?.id ?? null,
    clientAddress: request?.clientAddress ?? null
  })
)
