// Who an API key belongs to. A host program may provide another implementation.
import { Context, Effect, Layer, Redacted } from "effect"
import { createHash, timingSafeEqual } from "node:crypto"
import { Unauthorized } from "../../domain/Caller.ts"
import type { Caller, Forbidden } from "../../domain/Caller.ts"

/** The endpoint that a key is used for, as the contract names it: group and endpoint, such as `relayers` and `create`. */
export interface Use {
  readonly group: string
  readonly endpoint: string
}

/** Keys are long and random, so one round of SHA-256 hides them; nothing keeps a key itself. */
const hash = (key: Redacted.Redacted) => createHash("sha256").update(Redacted.value(key)).digest()

export class ApiKeys extends Context.Service<
  ApiKeys,
  {
    /** `use` is absent where no endpoint answers: the caller still has to be somebody before being told so. */
    authenticate(token: Redacted.Redacted, use: Use | undefined): Effect.Effect<Caller, Unauthorized | Forbidden>
  }
>()("effect-relayer/server/Auth/ApiKeys") {
  /** One key, which may do everything. */
  static readonly layer = (options: { readonly administrator: Redacted.Redacted }) =>
    Layer.sync(ApiKeys, () => {
      const administrator: Caller = { id: "administrator" }
      if (Redacted.value(options.administrator) === "") throw new Error("the administrator's key is empty")
      const expected = hash(options.administrator)
      return ApiKeys.of({
        authenticate: (token) =>
          timingSafeEqual(hash(token), expected) ? Effect.succeed(administrator) : Effect.fail(new Unauthorized({}))
      })
    })
}
