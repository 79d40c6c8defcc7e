// The public exports in a host program, on its database: the API under a prefix, beside the host's own routes.
import { NodeHttpServer } from "@effect/platform-node"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import type { HttpMethod } from "effect/http"
import { SqlClient } from "effect/sql"
import { createServer } from "node:http"
import * as Mount from "../examples/mount.ts"
import { Unauthorized } from "../src/domain/access/Caller.ts"
import { NotFound } from "../src/domain/request/Request.ts"
import { ApiClient, RateLimits, Server, Services } from "../src/index.ts"
import { networks } from "../src/process/Networks.ts"
import { apiKey, masterKey } from "../testkit/TestApi.ts"
import * as TestDatabase from "../testkit/TestDatabase.ts"

const keys = { administratorKey: Redacted.make(apiKey), masterKey: Redacted.make(masterKey), jobs: false }

const support = Layer.merge(TestDatabase.layer, FetchHttpClient.layer)

const baseUrl = Effect.map(HttpServer.HttpServer, ({ address }) => HttpServer.formatAddress(address))

/** Calls without an API key. */
const anonymous = Effect.fnUntraced(function* (method: HttpMethod.HttpMethod, path: string) {
  return yield* HttpClient.execute(HttpClientRequest.make(method)(`${yield* baseUrl}${path}`))
})

const call = Effect.fnUntraced(function* (method: HttpMethod.HttpMethod, path: string) {
  const request = HttpClientRequest.make(method)(`${yield* baseUrl}${path}`)
  return yield* HttpClient.execute(HttpClientRequest.bearerToken(request, apiKey))
})

/** Creates a relayer with the typed client under `/relay`. */
const createRelayer = Effect.fnUntraced(function* (id: string) {
  const context = yield* Layer.build(
    ApiClient.layer({ baseUrl: `${yield* baseUrl}/relay`, apiKey: Redacted.make(apiKey) })
  )
  const client = yield* Effect.provideContext(ApiClient, context)
  const signer = yield* client.signers.create({ payload: { type: "plain" } })
  const { data } = yield* client.relayers.create({
    query: {},
    payload: {
      id: id,
      name: "Payouts",
      network: "sepolia",
      network_type: "evm",
      paused: false,
      signer_id: signer.data.id
    }
  })
  return (yield* client.relayers.get({ params: { relayer_id: data.id } })).data
})

const failure = (message: string) => ({ data: null, message, success: false })

layer(Layer.provideMerge(Mount.layer(keys, 0), support))(
  "a host program that mounts the whole API under a prefix",
  (it) => {
    it.effect("answers on its own routes", () =>
      Effect.gen(function* () {
        const response = yield* anonymous("GET", "/")
        assert.strictEqual(response.status, 200)
        assert.match(yield* response.text, /^This host has \d+ relayers\.\n$/)
        assert.isUndefined(response.headers["x-request-id"])
      })
    )

    it.effect("answers requests outside of the prefix itself", () =>
      Effect.gen(function* () {
        for (const path of ["/nowhere", "/relayed", "/api/v1/relayers", "/v1/health"]) {
          const response = yield* call("GET", path)
          assert.strictEqual(response.status, 404, path)
          assert.strictEqual(yield* response.text, "", path)
        }
      })
    )

    it.effect("refuses requests without a key, also to unknown routes", () =>
      Effect.gen(function* () {
        for (const path of ["/relay/api/v1/relayers", "/relay/api/v1/relayers?page=x", "/relay/api/v1/nowhere"]) {
          const response = yield* anonymous("GET", path)
          assert.strictEqual(response.status, 401, path)
          assert.strictEqual(response.headers["www-authenticate"], "Bearer", path)
          assert.isDefined(response.headers["x-request-id"], path)
          const error = new Unauthorized({}).message
          assert.deepStrictEqual(yield* response.json, { ...failure("Unauthorized"), error }, path)
        }
      })
    )

    it.effect("answers unknown routes under the prefix with an envelope", () =>
      Effect.gen(function* () {
        const relayer = yield* call("GET", "/relay/api/v1/relayers/none")
        assert.strictEqual(relayer.status, 404)
        assert.deepStrictEqual(yield* relayer.json, failure("Relayer not found"))
        const route = yield* call("GET", "/relay/api/v1/nowhere")
        assert.strictEqual(route.status, 404)
        assert.deepStrictEqual(yield* route.json, { ...failure("Not Found"), error: new NotFound({}).message })
        const method = yield* call("DELETE", "/relay/api/v1/relayers")
        assert.strictEqual(method.status, 405)
        assert.strictEqual(method.headers.allow, "GET, HEAD, OPTIONS, POST")
        assert.deepStrictEqual(yield* method.json, failure("Method Not Allowed"))
      })
    )

    it.effect("refuses an id that is too long with 400", () =>
      Effect.gen(function* () {
        const response = yield* call("GET", `/relay/api/v1/relayers/${"a".repeat(3000)}`)
        assert.strictEqual(response.status, 400)
      })
    )

    it.effect("creates relayers in the host's own database", () =>
      Effect.gen(function* () {
        const relayer = yield* createRelayer("payouts")
        const sql = yield* SqlClient.SqlClient
        const rows = yield* sql`SELECT id, address FROM relayers`
        assert.deepStrictEqual(rows, [{ id: "payouts", address: relayer.address }])
        assert.strictEqual(yield* (yield* anonymous("GET", "/")).text, "This host has 1 relayers.\n")
      })
    )

    it.effect("serves documents that name the prefix", () =>
      Effect.gen(function* () {
        const json = yield* (yield* anonymous("GET", "/relay/openapi.json")).text
        assert.include(json, '"servers":[{"url":"/relay"')
        assert.include(yield* (yield* anonymous("GET", "/relay/openapi.yaml")).text, 'url: "/relay"')
        assert.include(yield* (yield* anonymous("GET", "/relay/docs")).text, '"servers":[{"url":"/relay"')
      })
    )

    it.effect("serves health and the documents without a key", () =>
      Effect.gen(function* () {
        for (const path of ["/relay/v1/health", "/relay/openapi.json", "/relay/docs", "/relay/metrics", "/relay"]) {
          assert.strictEqual((yield* anonymous("GET", path)).status, 200, path)
        }
      })
    )
  }
)

const prefixed = Layer.effect(
  HttpRouter.HttpRouter,
  Effect.map(HttpRouter.HttpRouter, (router) => router.prefixed("/relay"))
)

const bare = HttpRouter.serve(
  Layer.mergeAll(
    HttpRouter.add("GET", "/hello", HttpServerResponse.text("hello")),
    Layer.provide(Server.routes(), prefixed)
  ),
  { disableLogger: true, disableListenLog: true }
).pipe(
  Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })),
  Layer.provide([Services.layer({ networks, ...keys }), RateLimits.layerMemory({ requestsPerSecond: 1, burst: 5 })])
)

layer(Layer.provideMerge(bare, support))("a host program that adds only the routes to its prefixed router", (it) => {
  it.effect("answers on its own routes", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* (yield* anonymous("GET", "/hello")).text, "hello")
    })
  )

  it.effect("serves the endpoints with keys and envelopes", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* createRelayer("payouts")).id, "payouts")
      const stranger = yield* anonymous("GET", "/relay/api/v1/relayers")
      assert.strictEqual(stranger.status, 401)
      assert.deepStrictEqual(yield* stranger.json, { ...failure("Unauthorized"), error: new Unauthorized({}).message })
      const missing = yield* call("GET", "/relay/api/v1/relayers/none")
      assert.strictEqual(missing.status, 404)
      assert.deepStrictEqual(yield* missing.json, failure("Relayer not found"))
    })
  )

  it.effect("answers unknown routes and sets request ids itself", () =>
    Effect.gen(function* () {
      const response = yield* anonymous("GET", "/relay/api/v1/nowhere")
      assert.strictEqual(response.status, 404)
      assert.strictEqual(yield* response.text, "")
      assert.isUndefined(response.headers["x-request-id"])
    })
  )

  it.effect("sets the rate limit", () =>
    Effect.gen(function* () {
      const statuses = new Set<number>()
      for (let i = 0; i < 6; i++) statuses.add((yield* call("GET", "/relay/api/v1/relayers")).status)
      assert.isTrue(statuses.has(429))
    })
  )
})

describe("a host program whose port is open before its routes are built", () => {
  const node = NodeHttpServer.layer(Server.refuseEarly(createServer), { host: "127.0.0.1", port: 0 })
  const routes = HttpRouter.add("GET", "/", HttpServerResponse.text("served"))

  it.effect("answers requests with 503 and Retry-After until then, on one connection", () =>
    Effect.gen(function* () {
      const context = yield* Layer.build(Layer.merge(node, FetchHttpClient.layer))
      const get = Effect.provideContext(
        Effect.flatMap(baseUrl, (url) => HttpClient.get(url)),
        context
      )
      const early = yield* get
      assert.strictEqual(early.status, 503)
      assert.strictEqual(early.headers["retry-after"], "1")
      assert.strictEqual(early.headers["cache-control"], "no-store")
      assert.match(early.headers["content-type"] ?? "", /^application\/json/)
      assert.deepStrictEqual(yield* early.json, failure("Service Unavailable"))
      const serving = HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true })
      yield* Effect.provideContext(Layer.build(serving), context)
      const served = yield* get
      assert.strictEqual(served.status, 200)
      assert.strictEqual(yield* served.text, "served")
    }).pipe(Effect.scoped)
  )

  it.effect("answers by the routes alone if the host listens to requests itself", () =>
    Effect.gen(function* () {
      let seen = 0
      const counted = () => createServer().on("request", () => void seen++)
      const listening = NodeHttpServer.layer(Server.refuseEarly(counted), { host: "127.0.0.1", port: 0 })
      const context = yield* Layer.build(Layer.merge(listening, FetchHttpClient.layer))
      const get = Effect.provideContext(
        Effect.flatMap(baseUrl, (url) => HttpClient.get(url)),
        context
      )
      assert.strictEqual((yield* get).status, 503)
      yield* Effect.provideContext(Layer.build(HttpRouter.serve(routes, { disableLogger: true })), context)
      assert.strictEqual((yield* get).status, 200)
      assert.strictEqual(seen, 2)
    }).pipe(Effect.scoped)
  )
})
