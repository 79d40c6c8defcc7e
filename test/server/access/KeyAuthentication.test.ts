// The administrator's key of a host program, and what the scopes and relayers of an API key allow.
import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { ApiKeys } from "../../../src/server/access/ApiKeys.ts"
import * as KeyAuthentication from "../../../src/server/access/KeyAuthentication.ts"
import { Audit } from "../../../src/server/audit/Audit.ts"
import { Authentication } from "../../../src/server/authentication/Authentication.ts"
import type { Use } from "../../../src/server/authentication/Authentication.ts"
import type { Caller } from "../../../src/domain/access/Caller.ts"

/** No statement runs. */
const database = Layer.effect(
  SqlClient.SqlClient,
  SqlClient.make({ acquirer: Effect.never, compiler: PgClient.makeCompiler(), driver: "none", spanAttributes: [] })
).pipe(Layer.provide(Reactivity.layer))

const apiKeys = Layer.mergeAll(
  Layer.mock(ApiKeys, { find: () => Effect.succeedNone }),
  Layer.mock(Audit, { recording: (records) => records }),
  database
)

const authenticate = (administrator: string, token: string) =>
  Effect.flatMap(Authentication, (service) => service.authenticate(Redacted.make(token), undefined)).pipe(
    Effect.provide(Layer.provide(KeyAuthentication.layer({ administrator: Redacted.make(administrator) }), apiKeys))
  )

describe("the administrator's key", () => {
  it.effect("is refused if it has fewer than 32 characters", () =>
    Effect.gen(function* () {
      const key = "k".repeat(31)
      const error = yield* Effect.flip(authenticate(key, key))
      assert.strictEqual(error._tag, "AdministratorKeyTooShort")
      assert.notInclude(error.message, key)
    })
  )

  it.effect("authenticates only the administrator", () =>
    Effect.gen(function* () {
      const key = "k".repeat(32)
      assert.deepStrictEqual(yield* authenticate(key, key), { id: "administrator" })
      assert.strictEqual((yield* Effect.flip(authenticate(key, `${key}k`)))._tag, "Unauthorized")
    })
  )
})

describe("an API key", () => {
  const use = (over: Partial<Use>): Use => ({
    group: "transactions",
    endpoint: "list",
    method: "GET",
    route: "/",
    scope: undefined,
    relayerId: undefined,
    from: undefined,
    ...over
  })
  const isAllowed = (caller: Caller, over: Partial<Use>) => KeyAuthentication.isAllowed(caller, use(over))

  it("may do what its scopes allow, and needs all scopes where no scope is named", () => {
    const reader = { id: "reader", scopes: ["transactions:read"] as const }
    assert.isTrue(isAllowed(reader, { scope: "transactions:read" }))
    assert.isFalse(isAllowed(reader, { scope: "transactions:write" }))
    assert.isFalse(isAllowed(reader, {}))
    assert.isTrue(isAllowed({ id: "all", scopes: ["*"] }, {}))
  })

  it("that is narrowed reaches its relayers, and nothing that concerns all of them", () => {
    const narrowed = { id: "narrowed", scopes: ["*"] as const, relayerIds: ["one"] }
    assert.isTrue(isAllowed(narrowed, { scope: "transactions:write", relayerId: "one" }))
    assert.isFalse(isAllowed(narrowed, { scope: "transactions:write", relayerId: "two" }))
    assert.isFalse(isAllowed(narrowed, { scope: "api-keys:write" }))
  })
})
