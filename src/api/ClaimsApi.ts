// The endpoints of claims: a worker claims a name, extends its lease, makes the claim final, and releases it; others read who waits for what.
import { Schema } from "effect"
import { Claim, ClaimName, ClaimRequest, ReleaseQuery } from "../domain/claim/Claim.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"
import { RequestBody } from "./Middleware.ts"

const params = Schema.Struct({ name: ClaimName })

export class ClaimsApi extends Endpoint.group(
  "claims",
  "/api/v1/claims",
  { title: "Claims", description: "Names that one holder has at a time, with which workers do a thing once." },
  Endpoint.post("take", "/", {
    scope: "claims:write",
    summary: "Claim a name",
    description:
      "With `seconds`, the name belongs to `by` for that time if nobody else has it: of any number of requests at once, on any instance, one gets it. The same `by` with the same API key extends its lease. With `final`, its holder says that the thing is done: nobody gets the name for 30 days. A repetition of each is answered alike. A holder that has to do the thing once makes the claim final before it answers, and releases it if the thing was not done.",
    through: [RequestBody],
    payload: Json.body(ClaimRequest),
    success: Envelope.of(Claim),
    error: [Errors.ClaimHeldError, Errors.ClaimFinalError, Errors.ClaimLapsedError]
  }),
  Endpoint.get("get", "/:name", {
    scope: "claims:read",
    summary: "Get the claim of a name",
    description: "404 if nobody holds the name: it was never claimed, was released, or its lease has ended.",
    params,
    success: Envelope.of(Claim),
    error: Errors.ClaimNotFoundError
  }),
  Endpoint.remove("release", "/:name", {
    scope: "claims:write",
    summary: "Release a claim",
    description:
      "Ends the lease of its holder, so that the next one does not wait for its end. Nobody releases a final claim.",
    params,
    query: ReleaseQuery,
    success: Envelope.deleted("Claim released successfully"),
    error: [Errors.ClaimNotFoundError, Errors.ClaimHeldError, Errors.ClaimFinalError]
  })
) {}
