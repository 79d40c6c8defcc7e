// The line in the log about each request, and the actor in the lines about changes.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, References, Struct } from "effect"
import * as Server from "../../../src/server/Server.ts"
import { evmRelayer, signer } from "../../../testkit/fixtures.ts"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

type Line = Readonly<Record<string, unknown>>

/** Runs `self` with the API, and gives the lines that were logged. */
const logged = <E>(accessLog: boolean, self: Effect.Effect<void, E, TestApi.TestApi>) => {
  const lines: Array<Line> = []
  const logger = Logger.make(({ fiber, logLevel, message }) => {
    lines.push({ logLevel, message: String(message), ...fiber.getRef(References.CurrentLogAnnotations) })
  })
  const api = TestApi.layer({ server: { ...Server.defaults, accessLog } })
  return Effect.as(Effect.provide(self, Layer.provideMerge(api, Logger.layer([logger]))), lines)
}

const headers = { "x-request-id": "logged-1" }

const requests = Effect.gen(function* () {
  const { call } = yield* TestApi.TestApi
  yield* call("/api/v1/relayers/a-secret-id?filter=secret", { headers })
  yield* call("/api/v1/relayers", { key: null, headers })
  yield* call("/nothing/secret", { key: null, headers })
})

describe("the access log", () => {
  it.effect("has a line at info for each request, with its route instead of its path", () =>
    Effect.gen(function* () {
      const lines = yield* logged(true, requests)
      const found = lines.filter(({ message }) => message === "request")
      const shared = { logLevel: "Info", message: "request", client_address: "127.0.0.1", request_id: "logged-1" }
      assert.deepStrictEqual(
        found.map((line) => Struct.omit(line, ["ms"])),
        [
          { ...shared, method: "GET", route: "/api/v1/relayers/:relayer_id", status: 404, actor: "administrator" },
          { ...shared, method: "GET", route: "/api/v1/relayers", status: 401 },
          { ...shared, method: "GET", route: "unmatched", status: 404 }
        ]
      )
      for (const { ms } of found) assert.isNumber(ms)
      assert.notInclude(JSON.stringify(found), "secret")
    })
  )

  it.effect("is silent if it is off", () =>
    Effect.gen(function* () {
      const lines = yield* logged(false, requests)
      assert.isEmpty(lines.filter(({ message }) => message === "request"))
    })
  )
})

describe("the log of changes", () => {
  it.effect("names the actor of each change", () =>
    Effect.gen(function* () {
      const lines = yield* logged(
        false,
        Effect.gen(function* () {
          const { call } = yield* TestApi.TestApi
          yield* Prepared.create("signers", signer)
          const created = yield* call("/api/v1/api-keys", { body: { name: "k", scopes: ["relayers:write"] } })
          const { id, key } = created.json.data as { readonly id: string; readonly key: string }
          const { notification_id: _, ...body } = evmRelayer
          const relayer = yield* call("/api/v1/relayers", { key, body })
          assert.strictEqual(relayer.status, 201, relayer.text)
          yield* call("/api/v1/relayers/relayer-1", { key, method: "PATCH", body: { name: "Other" } })
          yield* Effect.logInfo("end of the test").pipe(Effect.annotateLogs("key", id))
        })
      )
      const id = lines.at(-1)?.["key"]
      const actors = lines.map(({ message, actor }) => [message, actor])
      assert.includeDeepMembers(actors, [
        ["signer created", "administrator"],
        ["API key created", "administrator"],
        ["relayer created", id],
        ["relayer updated", id]
      ])
    })
  )
})
