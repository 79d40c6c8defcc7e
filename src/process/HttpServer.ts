// The Node server under the routes.
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer } from "effect"
import type { HttpServerError } from "effect/http"
import { createServer } from "node:http"
import type { Server } from "node:http"
import type { Duplex } from "node:stream"
import { Draining } from "../server/System/Draining.ts"
import type { Settings } from "./Settings.ts"

/** What Node refuses before there is a request: the same envelope, by hand. */
const refusals: Record<string, { readonly status: string; readonly message: string }> = {
  HPE_HEADER_OVERFLOW: { status: "431 Request Header Fields Too Large", message: "Bad Request" },
  ERR_HTTP_REQUEST_TIMEOUT: { status: "408 Request Timeout", message: "Bad Request" }
}

const refuse = (error: NodeJS.ErrnoException, socket: Duplex): void => {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy()
    return
  }
  const { status, message } = refusals[error.code ?? ""] ?? { status: "400 Bad Request", message: "Bad Request" }
  const body = JSON.stringify({ data: null, message, success: false })
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`
  )
}

/** Two `Authorization` headers are joined, and so fit no key; Node alone would take the first. */
const make = (settings: Settings): Server =>
  createServer({
    joinDuplicateHeaders: true,
    requestTimeout: settings.REQUEST_TIMEOUT_MS,
    headersTimeout: Math.min(settings.REQUEST_TIMEOUT_MS, 10_000),
    keepAliveTimeout: 65_000
  }).on("clientError", refuse)

/** A line for the operator; the port may also be one that only root may take. */
export const explain = (settings: Settings, error: HttpServerError.ServeError): string => {
  const code = (error.cause as NodeJS.ErrnoException).code
  const place = `${settings.HOST}:${settings.PORT}`
  if (code === "EADDRINUSE") return `${place} is taken: choose another PORT`
  if (code === "EACCES") return `${place} needs more rights: choose a PORT above 1023`
  return `cannot listen on ${place}: ${String(error.cause)}`
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
