// The error that the service answers if a body is invalid.
import { Result } from "effect"
import type { Schema } from "effect"
import { BadRequest } from "../src/domain/request/Request.ts"
import type { Violation } from "../src/domain/request/Request.ts"

/** The options with which the service decodes bodies: it reports all problems, and refuses unknown fields. */
export const strict = { errors: "all", onExcessProperty: "error" } as const

/** The problems of the decoder. If there are none, those of `violationsOf`. Empty: the body is valid. */
export const errorIn = <A>(
  decoded: Result.Result<A, Schema.SchemaError>,
  violationsOf: (body: A) => ReadonlyArray<Violation> = () => []
): string => {
  const problems = Result.match(decoded, {
    onFailure: ({ issue }) => BadRequest.fromIssue(issue, "body"),
    onSuccess: (body) => BadRequest.of(violationsOf(body))
  })
  return problems.error ?? ""
}
