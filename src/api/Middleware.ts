// What a request passes before the handler of its endpoint, as part of the contract. `server/` implements it.
import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "effect/http-api"
import type { CurrentCaller } from "../domain/access/Caller.ts"
import * as Errors from "./Errors.ts"

const bearer = HttpApiSecurity.bearer.pipe(
  HttpApiSecurity.annotate(OpenApi.Description, "An API key: `Authorization: Bearer <key>`.")
)

/**
 * Authenticates the caller, checks its scopes and counts the request against its rate limit, also if its scopes do not allow
 * it, in this order and before the request is decoded: a caller without a key learns nothing.
 */
export class Authorization extends HttpApiMiddleware.Service<Authorization, { provides: CurrentCaller }>()(
  "effect-relayer/api/Middleware/Authorization",
  {
    requiredForClient: true,
    security: { bearer },
    error: [Errors.UnauthorizedError, Errors.ForbiddenError, Errors.TooManyRequestsError]
  }
) {}

/** Limits the requests of an address, and checks the token of the metrics if the instance has one. */
export class MetricsAccess extends HttpApiMiddleware.Service<MetricsAccess>()(
  "effect-relayer/api/Middleware/MetricsAccess",
  { error: [Errors.UnauthorizedError, Errors.TooManyRequestsError] }
) {}

/** Turns everything that does not decode into `BadRequest`. Has the errors that every endpoint can have, too, so that none lists them. */
export class DecodeErrors extends HttpApiMiddleware.Service<DecodeErrors>()(
  "effect-relayer/api/Middleware/DecodeErrors",
  { error: [...Errors.any, Errors.BadRequestError] }
) {}

/**
 * Checks the body before it is decoded: its length, its media type, its coding and that it is UTF-8. If the body arrives late,
 * it checks the API key again, which may have been revoked meanwhile.
 */
export class RequestBody extends HttpApiMiddleware.Service<RequestBody>()("effect-relayer/api/Middleware/RequestBody", {
  error: [
    Errors.BadRequestError,
    Errors.PayloadTooLargeError,
    Errors.UnsupportedMediaTypeError,
    Errors.UnauthorizedError
  ]
}) {}

/**
 * Refuses a request that waits for a chain or a webhook receiver if its caller has too many of them in progress, before the
 * request costs anything.
 */
export class OutboundLimit extends HttpApiMiddleware.Service<OutboundLimit, { requires: CurrentCaller }>()(
  "effect-relayer/api/Middleware/OutboundLimit",
  { error: Errors.TooManyRequestsError }
) {}

/** A `POST` that is sent again with its `Idempotency-Key` gets the response of the first one. */
export class Idempotency extends HttpApiMiddleware.Service<Idempotency, { requires: CurrentCaller }>()(
  "effect-relayer/api/Middleware/Idempotency",
  { error: [Errors.BadRequestError, Errors.IdempotencyKeyBusyError, Errors.IdempotencyKeyReusedError] }
) {}
