// Responses outside of the endpoints, from the same error table, and the header fields that all responses have.
import { Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { MisdirectedRequestError } from "../../api/ConsoleApi.ts"
import * as Errors from "../../api/Errors.ts"

interface WithHeaders {
  readonly body: unknown
  readonly headers: Record<string, string>
}

const hasHeaders = (encoded: unknown): encoded is WithHeaders =>
  typeof encoded === "object" && encoded !== null && "headers" in encoded

const responder = <S extends Schema.ConstraintCodec<unknown, unknown>>(schema: S) => {
  const encode = Schema.encodeSync(schema)
  const annotations = Schema.resolveAnnotationsKey(schema) ?? Schema.resolveAnnotations(schema)
  const status = annotations?.httpApiStatus
  if (typeof status !== "number") throw new Error("an entry of the error table has no status")
  return (error: S["Type"]): HttpServerResponse.HttpServerResponse => {
    const encoded = encode(error)
    return hasHeaders(encoded)
      ? HttpServerResponse.jsonUnsafe(encoded.body, { status, headers: encoded.headers })
      : HttpServerResponse.jsonUnsafe(encoded, { status })
  }
}

export const unauthorized = responder(Errors.UnauthorizedError)
export const forbidden = responder(Errors.ForbiddenError)
export const badRequest = responder(Errors.BadRequestError)
export const tooManyRequests = responder(Errors.TooManyRequestsError)
export const notFound = responder(Errors.NotFoundError)
export const methodNotAllowed = responder(Errors.MethodNotAllowedError)
export const payloadTooLarge = responder(Errors.PayloadTooLargeError)
export const requestTimeout = responder(Errors.RequestTimeoutError)
export const expectationFailed = responder(Errors.ExpectationFailedError)
export const requestHeaderFieldsTooLarge = responder(Errors.RequestHeaderFieldsTooLargeError)
export const internalServerError = responder(Errors.InternalServerErrorError)
export const serviceUnavailable = responder(Errors.ServiceUnavailableError)
export const misdirected = responder(MisdirectedRequestError)

// Header fields of every response, also of those that Node's server sends before there is a request.

/**
 * Responses hold data that only the caller may see, some of it secret: caches must not store them. Documents that everyone
 * may see set another `cache-control`.
 */
export const constantHeaders = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const
