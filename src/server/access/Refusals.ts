// Records requests that an API key may not make in the audit log.
import { Duration, Effect, FiberSet, Schema } from "effect"
import type { Caller } from "../../domain/access/Caller.ts"
import { Audit, encodeChange } from "../audit/Audit.ts"
import type { Use } from "../authentication/Authentication.ts"
import * as Origin from "../responses/Origin.ts"

/**
 * A key that goes on after a refusal must not fill the audit log: the first request that lacks a scope is recorded at once, and
 * further ones of this time are recorded together at its end.
 */
export const interval = Duration.minutes(1)

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
  readonly count: number
  readonly use: Use
  readonly origin: Origin.Origin
}

export const make = Effect.gen(function* () {
  const audit = yield* Audit
  const run = yield* FiberSet.makeRuntime<never>()
  /** By key and scope: the requests since the record. An entry exists for the interval after a record. */
  const further = new Map<string, Refused | undefined>()

  /** The response does not depend on the record: a database that accepts no writes still refuses. */
  const record = ({ count, origin, use }: Refused) => {
    const { method, route, scope = "*" } = use
    const after = { scope, method, route, count }
    return audit
      .recordMany([encodeChange({ action: "key.refused", id: origin.keyId, schema: RefusedRequests, after }, origin)])
      .pipe(Effect.ignoreCause({ log: "Warn", message: "cannot record refused requests" }))
  }

  const recordFurther = (name: string) =>
    Effect.suspend(() => {
      const refused = further.get(name)
      further.delete(name)
      return refused === undefined ? Effect.void : record(refused)
    })

  return Effect.fnUntraced(function* (caller: Caller, use: Use) {
    const name = `${caller.id} ${use.scope ?? "*"}`
    const origin = { ...(yield* Origin.current), keyId: caller.id }
    if (further.has(name)) {
      const count = (further.get(name)?.count ?? 0) + 1
      return void further.set(name, { count, use, origin })
    }
    further.set(name, undefined)
    // Also if the instance stops before the end.
    run(Effect.ensuring(Effect.sleep(interval), recordFurther(name)))
    return yield* record({ count: 1, use, origin })
  })
})
