// What the response to a request says about a body that is wrong.
import { Result } from "effect"
import type { Schema } from "effect"
import { BadRequest } from "../src/domain/request/Request.ts"
import type { Violation } from "../src/domain/request/Request.ts"

/** As bodies are decoded: every problem is reported, and so is each unknown field. */
export const strict = { errors: "all", onExcessProperty: "error" } as const

/** The problems of the decoder, or else those of the fields in combination. Empty: there is none. */
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
