// The Node server under the routes, with what Node does not do: answers to unreadable bytes, ends of stalled and idle connections.
import { Effect, Layer } from "effect"
import { HttpServerError, HttpServerResponse } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { randomUUID } from "node:crypto"
import { createServer, STATUS_CODES } from "node:http"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import * as net from "node:net"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import * as Request from "../../domain/request/Request.ts"
import { Draining } from "../../server/lifecycle/Lifecycle.ts"
import * as Failures from "../../server/responses/Failures.ts"
import { constantHeaders } from "../../server/responses/Failures.ts"
import { running } from "../Running.ts"
import type { Settings } from "../settings/Settings.ts"

// Responses to bytes that Node does not accept as a request, and to requests that HTTP/1.1 does not allow. They have the
// envelope of every failure and the header fields of every response.

type Response = HttpServerResponse.HttpServerResponse

const badRequest = Failures.badRequest(new Request.BadRequest({}))
const expectationFailed = Failures.expectationFailed(new Request.ExpectationFailed({}))

/** By the code of Node's error. Every other error is a bad request. */
const responses: Readonly<Record<string, Response>> = {
  HPE_HEADER_OVERFLOW: Failures.requestHeaderFieldsTooLarge(new Request.RequestHeaderFieldsTooLarge({})),
  ERR_HTTP_REQUEST_TIMEOUT: Failures.requestTimeout(new Request.RequestTimeout({}))
}

const headersOf = ({ headers }: Response): Record<string, string> => ({
  ...constantHeaders,
  ...headers,
  "x-relayer-version": running,
  "x-request-id": randomUUID(),
  connection: "close"
})

const bodyOf = ({ body }: Response): string => (body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : "")

const write = (socket: Duplex, response: Response): void => {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const fields = Object.entries(headersOf(response)).map(([name, value]) => `${name}: ${value}`)
  const statusLine = `HTTP/1.1 ${response.status} ${STATUS_CODES[response.status]}`
  socket.end([statusLine, ...fields, "", bodyOf(response)].join("\r\n"))
}

/** The response to the latest request of each connection. */
type Latest = WeakMap<Duplex, ServerResponse>

/** Responses keep the order of their requests: when the latest one is closed, all are. */
const latestOf = (server: Server): Latest => {
  const latest: Latest = new WeakMap()
  const remember = ({ socket }: IncomingMessage, response: ServerResponse) => void latest.set(socket, response)
  server.on("request", remember).on("checkContinue", remember)
  return latest
}

/** A request gets one response, and responses keep the order of their requests. */
const refuseBytes = (latest: Latest) => (error: NodeJS.ErrnoException, socket: Duplex) => {
  const response = responses[error.code ?? ""] ?? badRequest
  const last = latest.get(socket)
  // The bytes belong to a request that has its response already, such as a 401 before the body has arrived.
  if (error.code === "ECONNRESET" || (last !== undefined && !last.req.complete && last.headersSent)) {
    socket.destroy()
  } else if (last === undefined || !last.req.complete || last.closed) {
    write(socket, response)
  } else {
    last.once("close", () => write(socket, response))
  }
}

const refuseExpectation = (_: IncomingMessage, response: ServerResponse): void => {
  response.writeHead(expectationFailed.status, headersOf(expectationFailed)).end(bodyOf(expectationFailed))
}

const refuse = (server: Server, latest: Latest): Server =>
  server.on("checkExpectation", refuseExpectation).on("clientError", refuseBytes(latest))

/** An HTTP/1.1 request names one host (RFC 9112, section 3.2). Node joins two of them with a comma. */
const namesHost = ({ headers: { host }, httpVersionMinor }: Pick<IncomingMessage, "headers" | "httpVersionMinor">) =>
  host === undefined ? httpVersionMinor === 0 : !host.includes(",")

/** The response to a request that Node accepts and HTTP/1.1 does not allow. */
export const refusal = (request: HttpServerRequest.HttpServerRequest): Response | undefined =>
  namesHost(NodeHttpServerRequest.toIncomingMessage(request))
    ? undefined
    : HttpServerResponse.setHeader(badRequest, "connection", "close")

// Closes connections whose client does not read: what it does not read stays in the memory of the service and of the kernel.

/** Milliseconds without a byte that the client has taken. As long as a stream of events waits for its reader. */
const patience = 30_000

/**
 * Node emits `timeout` if a socket was silent for so long, also while a write makes no progress, and leaves what to do to the
 * listener. A socket is also silent while it is idle, which Node would close, and while a request is being handled, which has a
 * time limit of its own.
 */
export const closeStalled = (server: Server, milliseconds: number = patience, latest = latestOf(server)): Server => {
  server.timeout = milliseconds
  return server.on("timeout", (socket: Socket) => {
    const isHandled = latest.get(socket)?.closed === false
    if (!isHandled || socket.writableLength > 0) socket.destroy()
  })
}

// Delays the closing of idle connections when the server closes: Node closes them at once, also one on which a request is
// arriving, which would get no response.

/** Milliseconds in which such a request is read, and answered with `connection: close`. */
const grace = 250

export const keepIdle = (server: Server): Server => {
  const cut = server.closeIdleConnections.bind(server)
  server.closeIdleConnections = () => void setTimeout(cut, grace)
  return server
}

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
  const latest = latestOf(server)
  return keepIdle(closeStalled(refuse(server, latest), patience, latest))
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
