// Records requests that an API key may not make in the audit log.
import { Effect, Schema } from "effect"
import { Audit, encodeChange } from "../audit/Audit.ts"
import type { Use } from "../authentication/Authentication.ts"
import type { Caller } from "../../domain/access/Caller.ts"
import { currentOrigin } from "../responses/CurrentRequest.ts"
import type { Origin } from "../responses/CurrentRequest.ts"
import * as CountedRecords from "./CountedRecords.ts"

/** Requests that were refused because an API key may not make them, as the audit log records them. */
const RefusedRequests = Schema.Struct({
  /** The scope that the endpoint requires; `*` if only the administrator may use it. */
  scope: Schema.String,
  /** The method of the last of these requests. */
  method: Schema.String,
  /** The pattern of its path, such as `/api/v1/relayers/:relayer_id`. */
  route: Schema.String,
  count: Schema.Natural
})

interface Refused {
  readonly use: Use
  readonly origin: Origin
}

export const make = Effect.gen(function* () {
  const audit = yield* Audit

  /** The response does not depend on the record: a database that accepts no writes still refuses. */
  const record = ({ origin, use }: Refused, count: number) => {
    const { method, route, scope = "*" } = use
    const after = { scope, method, route, count }
    return audit
      .recordMany([encodeChange({ action: "key.refused", id: origin.keyId, schema: RefusedRequests, after }, origin)])
      .pipe(Effect.ignoreCause({ log: "Warn", message: "cannot record refused requests" }))
  }

  const counted = yield* CountedRecords.make(record)

  return (caller: Caller, use: Use) =>
    Effect.flatMap(currentOrigin, (origin) =>
      counted(`${caller.id} ${use.scope ?? "*"}`, { use, origin: { ...origin, keyId: caller.id } })
    )
})
