// Implements `DecodeErrors`: says what is wrong with a request, field by field.
import { Effect } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import { DecodeErrors } from "../../api/Middleware.ts"
import { BadRequest } from "../../domain/request/Request.ts"

/** The parts of a request that are decoded, as an `error` names them. */
const parts: Record<string, string> = { Params: "path", Query: "query", Headers: "headers", Payload: "body" }

export const DecodeErrorsHttp = HttpApiMiddleware.layerSchemaErrorTransform(DecodeErrors, (error) => {
  const part = parts[error.kind]
  // A response that does not encode is a defect of the service.
  return part === undefined ? Effect.die(error) : Effect.fail(BadRequest.fromIssue(error.cause.issue, part))
})
