// Keys that begin no session, and what an address gets that tries them.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeTrustedProxies } from "../../../src/server/responses/CurrentRequest.ts"
import * as Server from "../../../src/server/Server.ts"
import * as ConsolePage from "../../../testkit/ConsolePage.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

const server = { ...Server.defaults, trustedProxies: makeTrustedProxies(["127.0.0.1"]) }

layerEach(TestApi.layer({ server, console: { files: ConsolePage.files } }))("a sign-in", (it) => {
  it.effect("is refused with a key that is wrong, revoked or expired", () =>
    Effect.gen(function* () {
      const revoked = yield* Prepared.createKey({ id: "revoked", scopes: ["relayers:read"] })
      yield* TestApi.call("/api/v1/api-keys/revoked", { method: "DELETE" })
      const expired = yield* Prepared.createKey({ scopes: ["relayers:read"], expires_at: "1970-01-01T00:10:00Z" })
      yield* TestClock.adjust("10 minutes")
      for (const key of [`${TestApi.apiKey}x`, "no key", revoked, expired]) {
        const { status, headers } = yield* ConsolePage.trySignIn(key)
        assert.deepStrictEqual([status, headers.getSetCookie().length], [401, 0], key)
      }
    })
  )

  it.effect("is counted by address when it is refused, so that other addresses go on", () =>
    Effect.gen(function* () {
      const from = (address: string, key: string) =>
        Effect.map(ConsolePage.trySignIn(key, { headers: { "x-forwarded-for": address } }), ({ status }) => status)
      for (let tries = 0; tries < 10; tries++) assert.strictEqual(yield* from("192.0.2.1", "wrong"), 401)
      assert.strictEqual(yield* from("192.0.2.1", "wrong"), 429)
      assert.strictEqual(yield* from("192.0.2.2", "wrong"), 401)
      assert.strictEqual(yield* from("192.0.2.2", TestApi.apiKey), 201)
    })
  )
})
