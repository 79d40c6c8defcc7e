// The guard's refusal, its words, and the failed request that it causes.
import { Option, Schema } from "effect"
import { Headers, HttpBody, HttpClientError, HttpClientRequest, UrlParams } from "effect/http"
import type * as Address from "./Address.ts"

/** Why a destination may not be reached. It contains nothing of the URL. */
export type Refusal =
  | { readonly _tag: "NotHttp" }
  /** By http to a host that is not allowed by name, though https is required of other hosts. */
  | { readonly _tag: "NotHttps" }
  | { readonly _tag: "InvalidHostName" }
  | {
      readonly _tag: "NotPublic"
      /** Whether the URL itself, or the addresses of its name, are not public. */
      readonly source: "url" | "lookup"
      readonly kind: Address.Special
      readonly what: "address" | "host"
    }

/** A predicate whose subject is the field of the URL. `notAllowed` ends the message about a destination that is not public. */
export const describe = (refusal: Refusal, notAllowed = ", which is not allowed"): string => {
  if (refusal._tag === "NotHttp") return "is not an http or https URL"
  if (refusal._tag === "InvalidHostName") return "does not have a valid host name"
  if (refusal._tag === "NotHttps") return `leads to its host by http instead of https${notAllowed}`
  const { source, kind, what } = refusal
  const article = kind === "unspecified" ? "an" : "a"
  return `${source === "url" ? "points" : "resolves"} to ${article} ${kind} ${what}${notAllowed}`
}

/** `message` contains nothing of the URL, for example "resolves to a private address, which is not allowed". */
export class OutboundRefused extends Schema.TaggedError<OutboundRefused>()("OutboundRefused", {
  message: Schema.NonEmptyString
}) {}

/** Why the guard refused the request. `undefined`: the request failed for another reason. */
export const refusal = (error: HttpClientError.HttpClientError): OutboundRefused | undefined =>
  error.reason.cause instanceof OutboundRefused ? error.reason.cause : undefined

/** The part of a request that errors and responses may show. Paths, queries, headers and bodies may contain secrets. */
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
