// Access tokens of identities: one fetch at a time for each, used until a minute before the token expires.
import { Cache, Duration, Effect, Equal, Exit } from "effect"
import type { Redacted } from "effect"
import type { SignerUnavailable } from "../SignerBackend.ts"

export interface Token {
  readonly value: Redacted.Redacted
  /** The lifetime, from the moment of the fetch. */
  readonly lifetime: Duration.Duration
}

export interface Tokens<Login> {
  /** Runs `call` with a token. If the key service refuses the token, the next call gets a new one. */
  use<A, R>(
    login: Login,
    call: (token: Redacted.Redacted) => Effect.Effect<A, SignerUnavailable, R>
  ): Effect.Effect<A, SignerUnavailable, R>
}

/** The number of cached tokens. */
const capacity = 1000

const reserve = Duration.minutes(1)

const timeToLive = (exit: Exit.Exit<Token, unknown>) =>
  Exit.isSuccess(exit) ? Duration.max(Duration.subtract(exit.value.lifetime, reserve), Duration.zero) : Duration.zero

/** Equal logins share a token, so a login contains everything that identifies its identity. */
export const make = Effect.fnUntraced(function* <Login>(
  fetch: (login: Login) => Effect.Effect<Token, SignerUnavailable>
) {
  const tokens = yield* Cache.makeWith(fetch, { capacity, timeToLive })

  const use: Tokens<Login>["use"] = Effect.fnUntraced(function* (login, call) {
    const token = yield* Cache.get(tokens, login)
    return yield* Effect.tapError(call(token.value), ({ reason }) =>
      reason === "login" ? Cache.invalidateWhen(tokens, login, (current) => Equal.equals(current, token)) : Effect.void
    )
  })

  return { use } satisfies Tokens<Login>
})
