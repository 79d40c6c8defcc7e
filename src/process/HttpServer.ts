// The Node server under the routes.
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer, Schema } from "effect"
import type { HttpServerError } from "effect/http"
import { randomUUID } from "node:crypto"
import { STATUS_CODES, createServer } from "node:http"
import type { Server } from "node:http"
import type { Duplex } from "node:stream"
import { BadRequestError, unreadableStatus } from "../api/Errors.ts"
import { BadRequest } from "../domain/Request.ts"
import { Draining } from "../server/System/Draining.ts"
import * as Failures from "../server/System/Failures.ts"
import * as IdleConnections from "./IdleConnections.ts"
import type { Settings } from "./Settings.ts"

/** What Node refuses before there is a request gets the envelope of a bad request, too. */
const refuse = (error: NodeJS.ErrnoException, socket: Duplex): void => {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy()
    return
  }
  const badRequest = Failures.badRequest(new BadRequest({}))
  const status = unreadableStatus[error.code ?? ""] ?? badRequest.status
  const body = JSON.stringify(Schema.encodeSync(BadRequestError)(new BadRequest({})))
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "content-type: application/json",
    `content-length: ${body.length}`,
    `x-request-id: ${randomUUID()}`,
    "connection: close"
  ]
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`)
}

/** Two `Authorization` headers are joined, and so fit no key; Node alone would take the first. */
const make = (settings: Settings): Server =>
  IdleConnections.keep(
    createServer({
      joinDuplicateHeaders: true,
      requestTimeout: settings.REQUEST_TIMEOUT_MS,
      headersTimeout: Math.min(settings.REQUEST_TIMEOUT_MS, 10_000),
      keepAliveTimeout: 65_000
    }).on("clientError", refuse)
  )

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
