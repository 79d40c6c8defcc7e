// Responses that a cache may store, and must ask the service about before it uses them again.
import { HttpServerResponse } from "effect/http"
import { createHash } from "node:crypto"

/** The entity tag is weak, because the compressed forms of the response have the same one. */
export const required = (response: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse => {
  const { body } = response
  const bytes = body._tag === "Uint8Array" ? body.body : ""
  return HttpServerResponse.setHeaders(response, {
    "cache-control": "no-cache",
    vary: "Accept-Encoding",
    etag: `W/"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`
  })
}
