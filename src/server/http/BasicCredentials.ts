// Lets a client of `/rpc` give its API key in the URL: as the password of HTTP Basic authentication (RFC 7617). Some tools
// for Ethereum, such as `forge script`, cannot set a header.
import { Headers } from "effect/http"
import type { HttpServerRequest } from "effect/http"

const scheme = /^basic +/i

const nodeCalls = /^\/+api\/v1\/relayers\/[^/?]+\/rpc\/?(\?|$)/i

/** The password: everything after the first colon. The user name has no meaning. */
const passwordOf = (authorization: string): string =>
  /^[^:]*:([^]*)$/.exec(Buffer.from(authorization.replace(scheme, ""), "base64").toString())?.[1] ?? ""

/** Puts the password in the place of the bearer token, which all later steps read. */
export const withBearerToken = (request: HttpServerRequest.HttpServerRequest): HttpServerRequest.HttpServerRequest => {
  const { authorization } = request.headers
  if (authorization === undefined || !scheme.test(authorization) || !nodeCalls.test(request.url)) return request
  return request.modify({
    headers: Headers.set(request.headers, "authorization", `Bearer ${passwordOf(authorization)}`)
  })
}
