// The administrator's key of a host program.
import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { ApiKeys } from "../../../src/server/access/ApiKeys.ts"
import { Audit } from "../../../src/server/audit/Audit.ts"
import * as KeyAuthentication from "../../../src/server/access/KeyAuthentication.ts"
import { Authentication } from "../../../src/server/authentication/Authentication.ts"

/** No statement runs. */
const database = Layer.effect(
  SqlClient.SqlClient,
  SqlClient.make({ acquirer: Effect.never, compiler: PgClient.makeCompiler(), driver: "none", spanAttributes: [] })
).pipe(Layer.provide(Reactivity.layer))

const apiKeys = Layer.mergeAll(Layer.mock(ApiKeys, { find: () => Effect.succeedNone }), Layer.mock(Audit, {}), database)

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
