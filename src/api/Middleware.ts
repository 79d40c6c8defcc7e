// What every call of a resource passes before its handler, declared; `server/` implements it.
import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "effect/http-api"
import type { CurrentCaller } from "../domain/Caller.ts"
import { BadRequestError, ForbiddenError, TooManyRequestsError, UnauthorizedError } from "./Errors.ts"

const bearer = HttpApiSecurity.bearer.pipe(
  HttpApiSecurity.annotate(OpenApi.Description, "An API key: `Authorization: Bearer <key>`.")
)

/** Runs first, so that a caller without a key learns nothing. */
export class Authorization extends HttpApiMiddleware.Service<Authorization, { provides: CurrentCaller }>()(
  "effect-relayer/api/Middleware/Authorization",
  { requiredForClient: true, security: { bearer }, error: [UnauthorizedError, ForbiddenError] }
) {}

/** Runs second: it counts per caller. */
export class RateLimit extends HttpApiMiddleware.Service<RateLimit, { requires: CurrentCaller }>()(
  "effect-relayer/api/Middleware/RateLimit",
  { error: TooManyRequestsError }
) {}

/** Turns what the decoder refuses into `BadRequest`. */
export class DecodeErrors extends HttpApiMiddleware.Service<DecodeErrors>()(
  "effect-relayer/api/Middleware/DecodeErrors",
  { error: BadRequestError }
) {}

/** Collects the log lines and spans of a request that asks for them. */
export class Debug extends HttpApiMiddleware.Service<Debug>()("effect-relayer/api/Middleware/Debug") {}
