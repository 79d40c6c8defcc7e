// Checks the requests of host programs, which no endpoint has decoded.
import { Effect, Schema } from "effect"
import { BadRequest } from "./Request.ts"

/** Returns a request that follows the schema. Otherwise `BadRequest` names every invalid field. */
export const checked = <S extends Schema.Top>(
  schema: S
): ((request: S["Type"]) => Effect.Effect<S["Type"], BadRequest>) => {
  const decode = Schema.decodeUnknownEffect(Schema.toType(schema))
  return (request) =>
    Effect.mapError(decode(request, { errors: "all", onExcessProperty: "error" }), ({ issue }) =>
      BadRequest.fromIssue(issue, "request")
    )
}
