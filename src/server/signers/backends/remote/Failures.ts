// The failures of the keys of a signer type: for each, the field of the request that causes it, and the message.
import { Record } from "effect"
import { SignerUnavailable } from "../SignerBackend.ts"
import type { Reason } from "../SignerBackend.ts"

export interface More {
  /** Replaces the message of the reason. */
  readonly detail?: string | undefined
  readonly retryAfter?: number | undefined
  readonly requestId?: string | undefined
}

/** By reason: the field of the request, and a message whose subject is that field or the key service. */
export const make = <R extends Reason>(table: Readonly<Record<R, readonly [field: string, message: string]>>) => ({
  /** A missing package is a problem of the type. */
  fields: { not_installed: "type", ...Record.map(table, ([field]) => field) },
  unavailable: (reason: R, { detail, retryAfter, requestId }: More = {}) =>
    new SignerUnavailable({
      reason,
      message: detail ?? table[reason][1],
      ...(retryAfter === undefined ? {} : { retryAfter }),
      ...(requestId === undefined ? {} : { requestId })
    })
})

/** A key service that is called over HTTP has all failures but a missing package. */
export type RemoteReason = Exclude<Reason, "not_installed">
export type Failures = ReturnType<typeof make<RemoteReason>>
