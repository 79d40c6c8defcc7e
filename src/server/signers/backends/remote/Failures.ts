// The failures of a key service: for each, the field of the request that causes it, and the message.
import { Record } from "effect"
import { SignerUnavailable } from "../SignerBackend.ts"
import type { Reason } from "../SignerBackend.ts"

export interface More {
  /** Replaces the message of the reason. */
  readonly detail?: string | undefined
  readonly retryAfter?: number | undefined
  readonly requestId?: string | undefined
}

/** A missing package is not a failure of the key service. */
export type RemoteReason = Exclude<Reason, "not_installed">

/** By reason: the field of the request, and a message whose subject is that field or the key service. */
export const make = (table: Readonly<Record<RemoteReason, readonly [field: string, message: string]>>) => ({
  fields: { ...Record.map(table, ([field]) => field), not_installed: "type" },
  unavailable: (reason: RemoteReason, { detail, retryAfter, requestId }: More = {}) =>
    new SignerUnavailable({
      reason,
      message: detail ?? table[reason][1],
      ...(retryAfter === undefined ? {} : { retryAfter }),
      ...(requestId === undefined ? {} : { requestId })
    })
})

export type Failures = ReturnType<typeof make>
