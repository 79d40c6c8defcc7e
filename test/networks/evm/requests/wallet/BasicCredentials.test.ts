// An API key in the URL of `/rpc`, which HTTP clients send as the password of HTTP Basic authentication.
import { Effect } from "effect"
import { assert } from "@effect/vitest"
import * as TestApi from "../../../../../testkit/TestApi.ts"
import { layerEach } from "../../../../../testkit/layerEach.ts"
import { makeKey, prepare } from "../../../../server/transactions/Fixtures.ts"
import { post, rpc } from "./fixtures.ts"

const basic = (credentials: string) => ({
  headers: { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` }
})

const call = { id: 1, method: "eth_chainId" }

layerEach(TestApi.layer())("an API key in a URL", (it) => {
  it.effect("is the password; the name has no meaning", () =>
    Effect.gen(function* () {
      yield* prepare()
      for (const name of ["", "key", "payer@example.com"]) {
        const { result } = yield* rpc("eth_chainId", [], basic(`${name}:${TestApi.apiKey}`))
        assert.strictEqual(result, "0x7a69", name)
      }
    })
  )

  it.effect("has the scopes of the key", () =>
    Effect.gen(function* () {
      yield* prepare()
      const key = yield* makeKey(["relayers:read"])
      assert.strictEqual((yield* post(call, basic(`key:${key}`))).status, 403)
    })
  )

  it.effect("that is unknown or missing is 401", () =>
    Effect.gen(function* () {
      yield* prepare()
      const unknown = yield* post(call, basic("key:unknown"))
      assert.strictEqual(unknown.status, 401)
      assert.strictEqual(unknown.headers.get("www-authenticate"), 'Bearer error="invalid_token"')
      for (const credentials of ["", "key:", TestApi.apiKey, `${TestApi.apiKey}:`]) {
        const { status, headers } = yield* post(call, basic(credentials))
        assert.strictEqual(status, 401, credentials)
        assert.strictEqual(headers.get("www-authenticate"), "Bearer", credentials)
      }
    })
  )

  it.effect("is not accepted by other endpoints", () =>
    Effect.gen(function* () {
      yield* prepare()
      const api = yield* TestApi.TestApi
      for (const path of ["/relayers/sender", "/relayers", "/relayers/sender/transactions?x=/rpc", "/rpc"]) {
        assert.strictEqual((yield* api.call(`/api/v1${path}`, basic(`key:${TestApi.apiKey}`))).status, 401, path)
      }
    })
  )
})
