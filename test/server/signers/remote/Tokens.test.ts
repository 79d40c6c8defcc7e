// The cache of access tokens.
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { makeTokens } from "../../../../src/server/signers/backends/Rest.ts"
import { SignerUnavailable } from "../../../../src/server/signers/backends/SignerBackend.ts"

const refused = new SignerUnavailable({ reason: "login", message: "refused" })

interface Login {
  readonly tenant: string
  readonly secret: Redacted.Redacted
}

const login: Login = { tenant: "a", secret: Redacted.make("secret") }

/** Tokens for ten minutes, which are the number of their fetch. */
const prepared = Effect.gen(function* () {
  let fetches = 0
  const tokens = yield* makeTokens<Login>(() =>
    Effect.sync(() => ({ value: Redacted.make(String(++fetches)), lifetime: Duration.minutes(10) }))
  )
  const get = (by: Login = login) => tokens.use(by, (token) => Effect.succeed(Redacted.value(token)))
  return { tokens, get }
})

describe("access tokens", () => {
  it.effect("are used until a minute before their end", () =>
    Effect.gen(function* () {
      const { get } = yield* prepared
      assert.strictEqual(yield* get(), "1")
      yield* TestClock.adjust("8 minutes")
      assert.strictEqual(yield* get(), "1")
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* get(), "2")
    })
  )

  it.effect("are fetched once for concurrent calls", () =>
    Effect.gen(function* () {
      const { get } = yield* prepared
      const found = yield* Effect.forEach(Array.from({ length: 20 }), () => get(), { concurrency: "unbounded" })
      assert.deepStrictEqual([...new Set(found)], ["1"])
    })
  )

  it.effect("belong to one identity: a login that differs in any part gets its own", () =>
    Effect.gen(function* () {
      const { get } = yield* prepared
      assert.strictEqual(yield* get(), "1")
      assert.strictEqual(yield* get({ ...login, tenant: "b" }), "2")
      assert.strictEqual(yield* get({ ...login, secret: Redacted.make("other") }), "3")
      assert.strictEqual(yield* get({ tenant: "a", secret: Redacted.make("secret") }), "1")
    })
  )

  it.effect("are forgotten when the key service refuses them, and only then", () =>
    Effect.gen(function* () {
      const { get, tokens } = yield* prepared
      yield* get()
      yield* Effect.flip(tokens.use(login, () => new SignerUnavailable({ reason: "refused", message: "no right" })))
      assert.strictEqual(yield* get(), "1")
      yield* Effect.flip(tokens.use(login, () => refused))
      assert.strictEqual(yield* get(), "2")
    })
  )

  it.effect("are fetched again after a fetch that failed", () =>
    Effect.gen(function* () {
      let fetches = 0
      const tokens = yield* makeTokens<Login>(() => {
        fetches++
        return Effect.fail(refused)
      })
      yield* Effect.flip(tokens.use(login, () => Effect.void))
      yield* Effect.flip(tokens.use(login, () => Effect.void))
      assert.strictEqual(fetches, 2)
    })
  )
})
