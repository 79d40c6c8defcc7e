// The Node server under the routes.
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer } from "effect"
import { createServer } from "node:http"
import type { Server } from "node:http"
import { Draining } from "../../server/lifecycle/Draining.ts"
import * as IdleConnections from "./IdleConnections.ts"
import type { Settings } from "../settings/Settings.ts"
import * as Unreadable from "./Unreadable.ts"

/**
 * Each limit on purpose. Two `Authorization` headers are joined, and so fit no key; Node alone would take the first. There
 * is no protocol to upgrade to, so a request that asks for one is a request as any other.
 */
const make = (settings: Settings): Server => {
  // It has to be there in half of its time: when all of that is over, whoever reads its body is interrupted, without a word.
  const arrival = Math.ceil(settings.REQUEST_TIMEOUT_MS / 2)
  const server = createServer({
    insecureHTTPParser: false,
    joinDuplicateHeaders: true,
    shouldUpgradeCallback: () => false,
    // Refused in an envelope, by `Unreadable.requireHost`.
    requireHostHeader: false,
    maxHeaderSize: 16_384,
    headersTimeout: Math.min(arrival, 10_000),
    requestTimeout: arrival,
    connectionsCheckingInterval: Math.min(Math.ceil(arrival / 4), 2000),
    // Longer than what balancers keep a connection for: they end it, and no request meets a connection that is ending.
    keepAliveTimeout: 65_000
  })
  // Beyond their number Node drops header fields without a word; their size bounds them.
  server.maxHeadersCount = 0
  // Node would answer the requests that are pipelined beyond it with an empty 503.
  server.maxRequestsPerSocket = 0
  return IdleConnections.keep(Unreadable.refuse(server))
}

/** Connections that are still open half a second after the requests' grace has passed are cut. */
const linger = 500

/**
 * Listens, and on release drains: no new connections, `connection: close` on the answers to come, and as long as
 * `SHUTDOWN_GRACE_MS` for requests to finish.
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
  const listen = NodeHttpServer.layer(() => server, {
    host: settings.HOST,
    port: settings.PORT,
    gracefulShutdownTimeout: settings.SHUTDOWN_GRACE_MS
  })
  return { listen, drain }
}
