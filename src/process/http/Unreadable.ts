// Responses to bytes that Node does not accept as a request, and to requests that HTTP/1.1 does not allow. They have the
// envelope of every failure and the header fields of every response.
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { HttpServerResponse } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import { randomUUID } from "node:crypto"
import { STATUS_CODES } from "node:http"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import * as Request from "../../domain/request/Request.ts"
import { running } from "../Running.ts"
import { constantHeaders } from "../../server/responses/ConstantHeaders.ts"
import * as Failures from "../../server/responses/Failures.ts"

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

export const refuse = (server: Server): Server => {
  const latest: Latest = new WeakMap()
  const remember = ({ socket }: IncomingMessage, response: ServerResponse) => void latest.set(socket, response)
  return server
    .on("request", remember)
    .on("checkContinue", remember)
    .on("checkExpectation", refuseExpectation)
    .on("clientError", refuseBytes(latest))
}

/** An HTTP/1.1 request names one host (RFC 9112, section 3.2). Node joins two of them with a comma. */
const namesHost = ({ headers: { host }, httpVersionMinor }: Pick<IncomingMessage, "headers" | "httpVersionMinor">) =>
  host === undefined ? httpVersionMinor === 0 : !host.includes(",")

/** The response to a request that Node accepts and HTTP/1.1 does not allow. */
export const refusal = (request: HttpServerRequest.HttpServerRequest): Response | undefined =>
  namesHost(NodeHttpServerRequest.toIncomingMessage(request))
    ? undefined
    : HttpServerResponse.setHeader(badRequest, "connection", "close")
