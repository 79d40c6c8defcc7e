// The guard's refusal, and the failed request that it is the cause of.
import { Option, Schema } from "effect"
import { Headers, HttpBody, HttpClientError, HttpClientRequest, UrlParams } from "effect/http"

/** `message` holds nothing of the URL: "resolves to a private address, which OUTBOUND_ALLOW does not name". */
export class OutboundRefused extends Schema.TaggedError<OutboundRefused>()("OutboundRefused", {
  message: Schema.String
}) {}

/** Why the guard refused the request; `undefined` where it let it through, and something else failed. */
export const refusal = (error: HttpClientError.HttpClientError): OutboundRefused | undefined =>
  error.reason.cause instanceof OutboundRefused ? error.reason.cause : undefined

/** What errors and answers tell of a request: paths, queries, headers and bodies hold secrets. */
export const bare = (request: HttpClientRequest.HttpClientRequest, url: URL | undefined) =>
  HttpClientRequest.makeWith(
    request.method,
    url?.origin ?? "",
    UrlParams.empty,
    Option.none(),
    Headers.empty,
    HttpBody.empty
  )

export const failure = (request: HttpClientRequest.HttpClientRequest, cause: unknown, description?: string) => {
  const text = cause instanceof OutboundRefused ? cause.message : description
  const reason = { request, cause, ...(text === undefined ? {} : { description: text }) }
  return new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError(reason) })
}
