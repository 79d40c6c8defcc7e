// Positional parameters of JSON-RPC calls.
import { Effect, Schema } from "effect"
import { BadRequest } from "../../../../domain/request/Request.ts"
import { invalidParams } from "../../../../domain/transaction/NodeCall.ts"

export type Params = ReadonlyArray<unknown>

/** `schema` has the parameters as its field `params`, so that errors name one by its index, such as `params.0`. */
export const reader = <A>(schema: Schema.ConstraintDecoder<{ readonly params: A }>) => {
  const decode = Schema.decodeUnknownEffect(schema, { errors: "all" })
  return (params: Params) =>
    Effect.mapBoth(decode({ params }), {
      onSuccess: (read) => read.params,
      onFailure: ({ issue }) => invalidParams(BadRequest.fromIssue(issue, "params").error ?? "params are not valid")
    })
}
