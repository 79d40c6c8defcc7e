// Responses to requests that end without a response of their endpoint.
import { Effect } from "effect"
import type { Cause } from "effect"
import { HttpServerError, HttpServerResponse } from "effect/http"
import * as Request from "../../domain/request/Request.ts"
import { isUnavailable } from "../../sql/Unavailable.ts"
import * as Failures from "../responses/Failures.ts"
import * as ChangedRow from "../secrets/ChangedRow.ts"

type Response = HttpServerResponse.HttpServerResponse

export const isRouteNotFound = (cause: Cause.Cause<unknown>): boolean =>
  cause.reasons.some(
    (reason) =>
      reason._tag === "Fail" &&
      HttpServerError.isHttpServerError(reason.error) &&
      reason.error.reason._tag === "RouteNotFound"
  )

/** The client has disconnected: there is nobody to send a response to. */
const isClientAbort = (cause: Cause.Cause<unknown>): boolean =>
  cause.reasons.some((reason) => reason._tag === "Interrupt" && reason.annotations.has(HttpServerError.ClientAbort.key))

const unreadable = (reason: HttpServerError.RequestParseError): Response =>
  reason.reason === "BodyTooLarge"
    ? Failures.payloadTooLarge(new Request.PayloadTooLarge({}))
    : Failures.badRequest(Request.BadRequest.of([{ field: "body", message: "cannot be read" }]))

const ofError = (error: unknown): Response | undefined => {
  if (HttpServerResponse.isHttpServerResponse(error)) return error
  if (isUnavailable(error) || error instanceof Request.ServiceUnavailable)
    return Failures.serviceUnavailable(new Request.ServiceUnavailable({}))
  if (HttpServerError.isHttpServerError(error) && error.reason._tag === "RequestParseError") {
    return unreadable(error.reason)
  }
  return undefined
}

/** `undefined`: a defect, which is logged. */
const ofCause = (cause: Cause.Cause<unknown>): Response | undefined => {
  for (const reason of cause.reasons) {
    // The request took longer than its time limit.
    if (reason._tag === "Interrupt") return Failures.serviceUnavailable(new Request.ServiceUnavailable({}))
    const response = ofError(reason._tag === "Die" ? reason.defect : reason.error)
    if (response !== undefined) return response
  }
  return undefined
}

export const respond = (cause: Cause.Cause<unknown>, requestId: string): Effect.Effect<Response> => {
  if (isClientAbort(cause)) return Effect.interrupt
  const response = ofCause(cause)
  if (response !== undefined) return Effect.succeed(response)
  // The caller needs to know which row it is, so that it can be repaired.
  const changed = ChangedRow.inCause(cause)
  if (changed !== undefined) {
    return Effect.logWarning("request failed because a row cannot be verified").pipe(
      Effect.annotateLogs({ request_id: requestId, reason: changed.message }),
      Effect.as(Failures.internalServerError(new Request.InternalServerError({ error: changed.message })))
    )
  }
  return Effect.logError("request failed", cause).pipe(
    Effect.annotateLogs("request_id", requestId),
    Effect.as(Failures.internalServerError(new Request.InternalServerError({})))
  )
}
