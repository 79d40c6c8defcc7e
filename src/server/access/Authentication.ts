// Who a bearer token belongs to, and whether that caller may use an endpoint. A host program may provide another
// implementation.
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { timingSafeEqual } from "node:crypto"
import { Forbidden, Unauthorized, mayUseRelayer } from "../../domain/access/Caller.ts"
import type { Caller } from "../../domain/access/Caller.ts"
import { allows } from "../../domain/access/Scope.ts"
import type { Scope } from "../../domain/access/Scope.ts"
import { ApiKeys } from "./ApiKeys.ts"
import { hashKey } from "./Key.ts"

/** What a token is used for. */
export interface Use {
  /** The endpoint as the contract names it: group and endpoint, such as `relayers` and `create`. */
  readonly group: string
  readonly endpoint: string
  /** What the endpoint declares to need; undefined: only who may do everything. */
  readonly scope: Scope | undefined
  /** The relayer in the path, where there is one. */
  readonly relayerId: string | undefined
  /** Network address of the caller. */
  readonly from: string | undefined
}

export class Authentication extends Context.Service<
  Authentication,
  {
    /** `use` is absent where no endpoint answers: the caller still has to be somebody before being told so. */
    authenticate(token: Redacted.Redacted, use: Use | undefined): Effect.Effect<Caller, Unauthorized | Forbidden>
  }
>()("effect-relayer/server/access/Authentication") {
  /** The administrator's key, which may do everything, and the keys in the database, which may do what they are granted. */
  static readonly layer = (options: { readonly administrator: Redacted.Redacted }) =>
    Layer.effect(
      Authentication,
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const administrator: Caller = { id: "administrator" }
        if (Redacted.value(options.administrator) === "") throw new Error("the administrator's key is empty")
        const expected = hashKey(options.administrator)

        const holder = Effect.fnUntraced(function* (token: Redacted.Redacted, use: Use | undefined) {
          const found = yield* keys.find(token, use?.from)
          if (Option.isNone(found)) return yield* new Unauthorized({})
          const caller = found.value
          if (use !== undefined && !isAllowed(caller, use)) return yield* new Forbidden({})
          return caller
        })

        const authenticate = (token: Redacted.Redacted, use: Use | undefined) =>
          timingSafeEqual(hashKey(token), expected) ? Effect.succeed(administrator) : holder(token, use)

        return Authentication.of({ authenticate })
      })
    )
}

const isAllowed = (caller: Caller, { scope, relayerId }: Use): boolean =>
  (caller.scopes === undefined || allows(caller.scopes, scope ?? "*")) &&
  (relayerId === undefined || mayUseRelayer(caller, relayerId))
