// What every call of a resource passes before its handler, declared; `server/` implements it.
import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "effect/http-api"
import type { CurrentCaller } from "../domain/access/Caller.ts"
import * as Errors from "./Errors.ts"

const bearer = HttpApiSecurity.bearer.pipe(
  HttpApiSecurity.annotate(OpenApi.Description, "An API key: `Authorization: Bearer <key>`.")
)

/** Runs first, so that a caller without a key learns nothing. */
export class Authorization extends HttpApiMiddleware.Service<Authorization, { provides: CurrentCaller }>()(
  "effect-relayer/api/Middleware/Authorization",
  { requiredForClient: true, security: { bearer }, error: [Errors.UnauthorizedError, Errors.ForbiddenError] }
) {}

/** Runs second: it counts per caller. */
export class RateLimit extends HttpApiMiddleware.Service<RateLimit, { requires: CurrentCaller }>()(
  "effect-relayer/api/Middleware/RateLimit",
  { error: Errors.TooManyRequestsError }
) {}

/** Runs third, around a `POST`: one that is sent again with its `Idempotency-Key` gets the answer that it got before. */
export class Idempotency extends HttpApiMiddleware.Service<Idempotency, { requires: CurrentCaller }>()(
  "effect-relayer/api/Middleware/Idempotency",
  { error: [Errors.BadRequestError, Errors.IdempotencyKeyBusyError, Errors.IdempotencyKeyReusedError] }
) {}

/** Turns what the decoder refuses into `BadRequest`. */
export class DecodeErrors extends HttpApiMiddleware.Service<DecodeErrors>()(
  "effect-relayer/api/Middleware/DecodeErrors",
  { error: Errors.BadRequestError }
) {}

/** Collects the log lines and spans of a request that asks for them. */
export class Debug extends HttpApiMiddleware.Service<Debug>()("effect-relayer/api/Middleware/Debug") {}
