// A key that is revoked while the body of its request is on its way.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as TestApi from "../../../testkit/TestApi.ts"
import { connect } from "../../../testkit/process/Connection.ts"
import { until } from "../../../testkit/process/Folder.ts"
import { call, make } from "../access/requests.ts"
import type { Key } from "../access/requests.ts"

const request = JSON.stringify({ name: "eternal", scopes: ["relayers:read"] })

const keyOfMinutes = Effect.map(
  make({ scopes: ["api-keys:write", "relayers:read"], expires_at: "1970-01-01T01:00:00Z" }),
  (key): Key => key
)

const revoke = ({ id }: Key) => call(`/api/v1/api-keys/${id}?descendants=true`, { method: "DELETE" })

/** Sends the head of a request and waits until the service reads its body. */
const begin = Effect.fnUntraced(function* ({ key }: Key) {
  const { baseUrl } = yield* TestApi.TestApi
  const connection = yield* connect(baseUrl)
  yield* connection.write(
    [
      "POST /api/v1/api-keys HTTP/1.1",
      "host: test",
      `authorization: Bearer ${key}`,
      "content-type: application/json",
      `content-length: ${request.length}`,
      "expect: 100-continue",
      "connection: close",
      "",
      ""
    ].join("\r\n")
  )
  const isReading = Effect.sync(() => connection.received().includes("100 Continue") || undefined)
  yield* TestClock.withLive(until("the service to read the body", isReading))
  return connection
})

const names = Effect.map(call("/api/v1/api-keys?per_page=100"), ({ text }) => text)

layer(TestApi.layer())("a key that is revoked while its request arrives", (it) => {
  it.effect("gets 401 for a body that arrives later, and creates no key", () =>
    Effect.gen(function* () {
      const key = yield* keyOfMinutes
      const connection = yield* begin(key)
      yield* revoke(key)
      yield* TestClock.adjust("2 seconds")
      yield* connection.write(request)
      yield* connection.ended
      assert.include(connection.received(), "HTTP/1.1 401 ")
      assert.notInclude(yield* names, "eternal")
    })
  )

  it.effect("creates no key without its limits, if the body arrives soon", () =>
    Effect.gen(function* () {
      const key = yield* keyOfMinutes
      const connection = yield* begin(key)
      yield* revoke(key)
      yield* connection.write(request)
      yield* connection.ended
      assert.include(connection.received(), "HTTP/1.1 403 ")
      assert.notInclude(yield* names, "eternal")
    })
  )
})
