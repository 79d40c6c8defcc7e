// The target of a request, in the form that the router needs.
import type { HttpServerRequest } from "effect/http"

const escapes: Readonly<Record<string, string>> = { ";": "%3B", "#": "%23" }

/**
 * `;` is an ordinary character of a path (RFC 3986, section 3.3), and `#` has no meaning in a target. The router ends the
 * path at both, so that it would take `/signers/a;b` for `/signers/a`. This escapes them.
 */
export const withWholePath = (request: HttpServerRequest.HttpServerRequest): HttpServerRequest.HttpServerRequest => {
  const { url } = request
  if (!url.includes(";") && !url.includes("#")) return request
  return request.modify({
    url: url.replace(/^[^?]+/, (path) => path.replace(/[;#]/g, (char) => escapes[char] ?? char))
  })
}
