// What Node refuses by itself, or would: bytes that are no request, and requests that HTTP/1.1 does not know. They get
// the envelope of a bad request and the header fields of every answer, as if an endpoint had refused them.
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import { randomUUID } from "node:crypto"
import { STATUS_CODES } from "node:http"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { BadRequestError, badRequestStatus, expectationFailedStatus, unreadableStatus } from "../../api/Errors.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import { constantHeaders } from "../../server/responses/ConstantHeaders.ts"

const body = JSON.stringify(Schema.encodeSync(BadRequestError)(new BadRequest({})))

const headers = () => ({
  ...constantHeaders,
  "content-type": "application/json",
  "content-length": String(body.length),
  "x-request-id": randomUUID(),
  connection: "close"
})

/** There is no request, and so no response to write to. */
const refuseBytes = (error: NodeJS.ErrnoException, socket: Duplex): void => {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy()
    return
  }
  const status = unreadableStatus[error.code ?? ""] ?? badRequestStatus
  const fields = Object.entries(headers()).map(([name, value]) => `${name}: ${value}`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${fields.join("\r\n")}\r\n\r\n${body}`)
}

const refuseExpectation = (_: IncomingMessage, response: ServerResponse): void => {
  response.writeHead(expectationFailedStatus, headers()).end(body)
}

export const refuse = (server: Server): Server =>
  server.on("clientError", refuseBytes).on("checkExpectation", refuseExpectation)

/** An HTTP/1.1 request names one host (RFC 9112, section 3.2); two that Node has joined are none. */
const namesHost = ({ headers: { host }, httpVersionMinor }: Pick<IncomingMessage, "headers" | "httpVersionMinor">) =>
  host === undefined ? httpVersionMinor === 0 : !host.includes(",")

/** The answer to what Node takes for a request, and is none. */
export const refusal = (
  request: HttpServerRequest.HttpServerRequest
): HttpServerResponse.HttpServerResponse | undefined =>
  namesHost(NodeHttpServerRequest.toIncomingMessage(request) as IncomingMessage)
    ? undefined
    : HttpServerResponse.text(body, { status: badRequestStatus, headers: headers() })
