// Conditional reads (RFC 9110, section 13.1.2): a client that has the current version gets 304 without a body.
import { HttpServerResponse } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import { isKnown } from "../../domain/request/Version.ts"

type Response = HttpServerResponse.HttpServerResponse

/** What describes a body that is not sent. */
const ofBody = new Set(["content-type", "content-length"])

const withoutBody = ({ headers }: Response): Response =>
  HttpServerResponse.empty({
    status: 304,
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !ofBody.has(name)))
  })

export const respond = ({ method, headers }: HttpServerRequest.HttpServerRequest, response: Response): Response => {
  const known = headers["if-none-match"]
  const tag = response.headers["etag"]
  return known !== undefined &&
    tag !== undefined &&
    response.status === 200 &&
    (method === "GET" || method === "HEAD") &&
    isKnown(known, tag)
    ? withoutBody(response)
    : response
}
