// Implements `Authentication` with the administrator's key and the API keys in the database, and records refused requests.
import { Duration, Effect, Exit, FiberSet, Layer, Option, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { timingSafeEqual } from "node:crypto"
import { AdministratorKeyTooShort, allows, isAdministratorKey, isNarrowable } from "../../domain/access/ApiKey.ts"
import { Forbidden, mayUseRelayer, Unauthorized } from "../../domain/access/Caller.ts"
import type { Caller } from "../../domain/access/Caller.ts"
import { Audit, encodeChange } from "../audit/Audit.ts"
import { Authentication } from "../authentication/Authentication.ts"
import type { Use } from "../authentication/Authentication.ts"
import { currentOrigin } from "../responses/CurrentRequest.ts"
import type { Origin } from "../responses/CurrentRequest.ts"
import { ApiKeys } from "./ApiKeys.ts"
import { forgetKey, hashKey, keepKey, readKey } from "./KeyChanges.ts"

// Records of what callers may repeat at will, such as refusals: they must not fill the audit log.

/** The first of a name is recorded at once, and further ones of this time are recorded together at its end. */
export const recordInterval = Duration.minutes(1)

interface Further<A> {
  readonly last: A
  readonly count: number
}

/** `record` gets the last one, and how many there were. It is also called if the instance stops before the end of the interval. */
export const makeCountedRecords = Effect.fnUntraced(function* <A>(
  record: (last: A, count: number) => Effect.Effect<void>
) {
  const sql = yield* SqlClient.SqlClient
  const run = yield* FiberSet.makeRuntime<never>()
  /** An entry exists for the interval after a record. */
  const further = new Map<string, Further<A> | undefined>()

  const recordFurther = (name: string) =>
    Effect.suspend(() => {
      const found = further.get(name)
      further.delete(name)
      return found === undefined ? Effect.void : record(found.last, found.count)
    })

  const begin = (name: string) =>
    Effect.sync(() => {
      if (further.has(name)) return
      further.set(name, undefined)
      run(Effect.ensuring(Effect.sleep(recordInterval), recordFurther(name)))
    })

  const count = (name: string, last: A) =>
    Effect.sync(() => void further.set(name, { last, count: (further.get(name)?.count ?? 0) + 1 }))

  /**
   * If the record is interrupted, it is recorded with the further ones. If it is part of a transaction that is rolled back, the next one
   * is the first.
   */
  const recordFirst = (name: string, one: A) =>
    Effect.andThen(sql.afterCommit(begin(name)), record(one, 1)).pipe(
      Effect.onExit((exit) => (Exit.isFailure(exit) && further.has(name) ? count(name, one) : Effect.void))
    )

  return (name: string, one: A): Effect.Effect<void> =>
    Effect.suspend(() => (further.has(name) ? count(name, one) : recordFirst(name, one)))
})

// Records requests that an API key may not make in the audit log.

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

interface RefusedRequest {
  readonly use: Use
  readonly origin: Origin
}

export const makeRefusals = Effect.gen(function* () {
  const audit = yield* Audit

  /** The response does not depend on the record: a database that accepts no writes still refuses. */
  const record = ({ origin, use }: RefusedRequest, count: number) => {
    const { method, route, scope = "*" } = use
    const after = { scope, method, route, count }
    return audit
      .recordMany([encodeChange({ action: "key.refused", id: origin.keyId, schema: RefusedRequests, after }, origin)])
      .pipe(Effect.ignoreCause({ log: "Warn", message: "cannot record refused requests" }))
  }

  const counted = yield* makeCountedRecords(record)

  return (caller: Caller, use: Use) =>
    Effect.flatMap(currentOrigin, (origin) =>
      counted(`${caller.id} ${use.scope ?? "*"}`, { use, origin: { ...origin, keyId: caller.id } })
    )
})

/** Whether the caller's scopes and relayers allow the use. */
export const isAllowed = (caller: Caller, { scope, relayerId }: Use): boolean =>
  (caller.scopes === undefined || allows(caller.scopes, scope ?? "*")) &&
  // Also for keys that were created before the scopes of limited keys were checked.
  (caller.relayerIds === undefined || scope === undefined || isNarrowable(scope)) &&
  (relayerId === undefined || mayUseRelayer(caller, relayerId))

/** The administrator may do everything; an API key may do what its scopes allow. */
export const layer = (options: { readonly administrator: Redacted.Redacted }) =>
  Layer.effect(
    Authentication,
    Effect.gen(function* () {
      if (!isAdministratorKey(Redacted.value(options.administrator))) return yield* new AdministratorKeyTooShort()
      const keys = yield* ApiKeys
      const refused = yield* makeRefusals
      const administrator: Caller = { id: "administrator" }
      const asAdministrator = Effect.succeed(administrator)
      const expected = hashKey(options.administrator)

      const byApiKey = Effect.fnUntraced(function* (token: Redacted.Redacted, use: Use | undefined) {
        const found = yield* keys.find(token, use?.from)
        if (Option.isNone(found)) {
          forgetKey(token)
          return yield* new Unauthorized({})
        }
        const caller = found.value
        if (use === undefined || isAllowed(caller, use)) return caller
        yield* refused(caller, use)
        return yield* Forbidden.of(caller.id)
      })

      return Authentication.of({
        authenticate: (token, use) => {
          const known = readKey(token)
          if (!timingSafeEqual(known.hash, expected)) return byApiKey(token, use)
          keepKey(token, known)
          return asAdministrator
        }
      })
    })
  )
