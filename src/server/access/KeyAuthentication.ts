// Implements `Authentication` with the administrator's key and the API keys in the database.
import { Effect, Layer, Option, Redacted } from "effect"
import { timingSafeEqual } from "node:crypto"
import { AdministratorKeyTooShort, allows, isAdministratorKey, isNarrowable } from "../../domain/access/ApiKey.ts"
import { Forbidden, mayUseRelayer, Unauthorized } from "../../domain/access/Caller.ts"
import type { Caller } from "../../domain/access/Caller.ts"
import { Authentication } from "../authentication/Authentication.ts"
import type { Use } from "../authentication/Authentication.ts"
import { ApiKeys } from "./ApiKeys.ts"
import { hashKey } from "./Key.ts"
import * as Refusals from "./Refusals.ts"

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
      const refused = yield* Refusals.make
      const administrator: Caller = { id: "administrator" }
      const expected = hashKey(options.administrator)

      const byApiKey = Effect.fnUntraced(function* (token: Redacted.Redacted, use: Use | undefined) {
        const found = yield* keys.find(token, use?.from)
        if (Option.isNone(found)) return yield* new Unauthorized({})
        const caller = found.value
        if (use === undefined || isAllowed(caller, use)) return caller
        yield* refused(caller, use)
        return yield* Forbidden.of(caller.id)
      })

      return Authentication.of({
        authenticate: (token, use) =>
          timingSafeEqual(hashKey(token), expected) ? Effect.succeed(administrator) : byApiKey(token, use)
      })
    })
  )
