// The public exports in a host program: its server ends cleanly, and its services work without HTTP.
// Its server ends by the clock of the machine.
import { NodeHttpServer } from "@effect/platform-node"
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Logger, Redacted, Scope, Stream } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpRouter, HttpServer } from "effect/http"
import { createServer } from "node:http"
import { RelayerId } from "../src/domain/relayer/Relayer.ts"
import {
  Deliveries,
  EventFeed,
  Networks,
  Notifications,
  RateLimits,
  Readiness,
  RelayerHealth,
  Relayers,
  Server,
  Services,
  Signers
} from "../src/index.ts"
import { networks } from "../src/process/Networks.ts"
import { apiKey, masterKey } from "../testkit/TestApi.ts"
import * as TestDatabase from "../testkit/TestDatabase.ts"

const keys = { networks, administratorKey: Redacted.make(apiKey), masterKey: Redacted.make(masterKey) }

const serving = Layer.provideMerge(
  HttpRouter.serve(Server.layer(), {
    routerConfig: Server.routerConfig,
    disableLogger: true,
    disableListenLog: true
  }).pipe(
    Server.drainFirst,
    Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })),
    Layer.provide(RateLimits.layerMemory({ requestsPerSecond: 100, burst: 300 })),
    Layer.provideMerge(Services.layer(keys))
  ),
  TestDatabase.layer
)

describe("a host program that closes its server", () => {
  it.live("ends event streams before its connections are closed", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(serving, scope)
      const { address } = Context.get(context, HttpServer.HttpServer)
      const request = HttpClientRequest.get(`${HttpServer.formatAddress(address)}/api/v1/events`).pipe(
        HttpClientRequest.bearerToken(apiKey),
        HttpClientRequest.accept("text/event-stream")
      )
      const opened = yield* Deferred.make<void>()
      const reading = yield* HttpClient.execute(request).pipe(
        Effect.flatMap(({ stream }) => Stream.runForEach(stream, () => Deferred.succeed(opened, undefined))),
        Effect.provide(FetchHttpClient.layer),
        Effect.forkChild
      )
      yield* Deferred.await(opened)
      yield* Scope.close(scope, Exit.void)
      // A stream whose connection is closed before its end fails.
      yield* Fiber.join(reading)
    })
  )
})

describe("a host program that gives wrong keys", () => {
  const refusal = (options: Parameters<typeof Services.layer>[0]) =>
    Layer.build(Layer.provide(Services.layer({ ...options, jobs: false }), TestDatabase.layer)).pipe(
      Effect.scoped,
      Effect.flip,
      Effect.map(({ message }) => message.split(";")[0])
    )

  it.live("gets an error that names the option", () =>
    Effect.gen(function* () {
      const bytes = (count: number) => Redacted.make(new Uint8Array(count))
      assert.strictEqual(yield* refusal({ ...keys, masterKey: bytes(3) }), "masterKey: expected 32 bytes, but it has 3")
      assert.strictEqual(
        yield* refusal({ ...keys, decryptionKeys: [bytes(32), bytes(33)] }),
        "decryptionKeys.1: expected 32 bytes, but it has 33"
      )
      assert.strictEqual(
        yield* refusal({ ...keys, administratorKey: Redacted.make("short") }),
        "administratorKey: expected at least 32 characters"
      )
    })
  )
})

const services = Layer.provideMerge(Services.layer({ ...keys, jobs: false }), TestDatabase.layer).pipe(
  Layer.provideMerge(Logger.layer([]))
)

layer(services, { excludeTestServices: true })("a host program that uses only the services", (it) => {
  it.effect("gets an error that names the invalid fields of its requests, which change nothing", () =>
    Effect.gen(function* () {
      const [notifications, relayers, networks] = [yield* Notifications, yield* Relayers, yield* Networks]
      const request = {
        name: "",
        network: "no network",
        network_type: "evm",
        paused: false,
        signer_id: "hot 1"
      } as const
      const relayer = yield* Effect.flip(relayers.create({ ...request, id: "../1" }))
      assert.strictEqual(relayer._tag, "BadRequest")
      assert.strictEqual(
        relayer.message,
        "id: Expected 1 to 36 letters, digits, dashes and underscores; name: Expected 1 to 256 characters; network: Expected a name without white space and slashes; signer_id: Expected 1 to 36 letters, digits, dashes and underscores"
      )
      const network = yield* Effect.flip(networks.create({ network_type: "evm", name: "a/b" }))
      assert.strictEqual(network.message, "name: Expected a name without white space and slashes")
      const notification = yield* Effect.flip(notifications.create({ type: "webhook", url: "hooks.example.com" }))
      assert.strictEqual(notification.message, "url: Expected an http or https URL")
      assert.strictEqual((yield* relayers.list({})).total, 0)
    })
  )

  it.effect("reads health, deliveries and events, and follows new events", () =>
    Effect.gen(function* () {
      const feed = yield* EventFeed
      const [notifications, relayers, signers] = [yield* Notifications, yield* Relayers, yield* Signers]
      const { value: notification } = yield* notifications.create({
        type: "webhook",
        url: "https://hooks.example.com/relayer"
      })
      const following = yield* feed
        .stream({ type: ["relayer.created"] })
        .pipe(Stream.take(2), Stream.runCollect, Effect.forkChild)
      const create = Effect.fnUntraced(function* (id: string) {
        const signer = yield* signers.create({ type: "plain" })
        const network = "sepolia"
        const rest = {
          name: id,
          network,
          network_type: "evm",
          paused: false,
          notification_id: notification.id
        } as const
        yield* relayers.create({ id, signer_id: signer.id, ...rest })
      })
      yield* create("first")
      yield* create("second")
      const followed = yield* Fiber.join(following)
      assert.deepStrictEqual(
        followed.map(({ resource_id }) => resource_id),
        ["first", "second"]
      )
      const { items: after } = yield* feed.list({ after: followed[0]?.id ?? 0, type: ["relayer.created"] })
      assert.deepStrictEqual(after, followed.slice(1))
      const { items } = yield* (yield* Deliveries).list(notification.id, { state: "pending" })
      assert.deepStrictEqual(
        items.map(({ relayer_id, event_id }) => [relayer_id, event_id]),
        followed.map(({ resource_id, id }) => [resource_id, id]).toReversed()
      )
      const { code } = yield* (yield* RelayerHealth).explain(RelayerId.make("first"))
      assert.strictEqual(code, "not_checked")
      const { components } = yield* (yield* Readiness).check
      assert.deepInclude(components.jobs, { deliveries: "off", health_checks: "off" })
    })
  )
})
