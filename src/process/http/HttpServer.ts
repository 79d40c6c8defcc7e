// The Node server under the routes.
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer } from "effect"
import { HttpServerError } from "effect/http"
import { createServer } from "node:http"
import type { Server } from "node:http"
import * as net from "node:net"
import { Draining } from "../../server/lifecycle/Draining.ts"
import * as IdleConnections from "./IdleConnections.ts"
import type { Settings } from "../settings/Settings.ts"
import * as StalledReaders from "./StalledReaders.ts"
import * as Unreadable from "./Unreadable.ts"

/**
 * Two `Authorization` headers are joined, so that they match no key; Node would take the first one. The server supports no
 * upgrade, so that a request for one is served like any other.
 */
const make = (settings: Settings): Server => {
  // Half of the request timeout is for receiving the request: after all of it, the handler that reads the body would be
  // interrupted without a response.
  const arrival = Math.ceil(settings.REQUEST_TIMEOUT_MS / 2)
  const server = createServer({
    insecureHTTPParser: false,
    joinDuplicateHeaders: true,
    shouldUpgradeCallback: () => false,
    // `Unreadable.refusal` refuses it, with an envelope.
    requireHostHeader: false,
    maxHeaderSize: 16_384,
    headersTimeout: Math.min(arrival, 10_000),
    requestTimeout: arrival,
    connectionsCheckingInterval: Math.min(Math.ceil(arrival / 4), 2000),
    // Longer than balancers keep a connection, so that they end it and no request meets a connection that is closing.
    keepAliveTimeout: 65_000
  })
  // Node silently drops header fields beyond this number. `maxHeaderSize` limits them.
  server.maxHeadersCount = 0
  // Node would answer pipelined requests beyond this number with an empty 503.
  server.maxRequestsPerSocket = 0
  return IdleConnections.keep(StalledReaders.close(Unreadable.refuse(server)))
}

/** Fails if the service could not listen, before the start changes the database. */
export const probe = ({ HOST: host, PORT: port }: Settings) =>
  Effect.callback<void, HttpServerError.ServeError>((resume) => {
    const server = net.createServer()
    server.once("error", (cause) => resume(Effect.fail(new HttpServerError.ServeError({ cause }))))
    server.listen({ host, port }, () => server.close(() => resume(Effect.void)))
  })

/** Milliseconds after the grace period at which open connections are closed. */
const linger = 500

/**
 * Listens. On release it drains: it takes no new connections, sets `connection: close` on its responses, and gives requests
 * `SHUTDOWN_GRACE_MS` to finish.
 */
export const layer = (settings: Settings) => {
  const server = make(settings)
  const drain = Layer.effectDiscard(
    Effect.gen(function* () {
      const draining = yield* Draining
      yield* Effect.addFinalizer(() =>
        Effect.gen(function* () {
          yield* Effect.logInfo("draining")
          yield* draining.begin
          setTimeout(() => server.closeAllConnections(), settings.SHUTDOWN_GRACE_MS + linger).unref()
        })
      )
    })
  )
  const listen = NodeHttpServer.layerServer(() => server, {
    host: settings.HOST,
    port: settings.PORT,
    gracefulShutdownTimeout: settings.SHUTDOWN_GRACE_MS
  })
  return { listen, drain, platform: NodeHttpServer.layerHttpServices }
}
