// The endpoints of configurations: what would have to change so that the service has what a document says.
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import {
  ConfigurationPlan,
  PlanConfiguration,
  maxDocumentBytes,
  maxDocumentValues
} from "../domain/configuration/PlanRequest.ts"
import { BodyLimit } from "./BodyLimit.ts"
import * as Envelope from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"
import { Authorization, DecodeErrors, RequestBody } from "./Middleware.ts"
import { RequiredScope } from "./Scopes.ts"

const bodyLimit = { bytes: maxDocumentBytes, values: maxDocumentValues }

export class ConfigurationApi extends HttpApiGroup.make("configuration")
  .add(
    HttpApiEndpoint.post("plan", "/plan", {
      payload: Json.body(PlanConfiguration),
      success: Envelope.of(ConfigurationPlan),
      error: [
        Errors.ForbiddenError,
        Errors.PayloadTooLargeError,
        Errors.PlanRefusedError,
        Errors.TooManyRequestsError,
        ...Errors.any
      ]
    })
      .middleware(RequestBody)
      .annotate(BodyLimit, bodyLimit)
      .annotate(RequiredScope, "relayers:read")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Plan a configuration",
          description:
            "Compares a document with what the service has, and changes nothing. Asks no provider and no key service. The key also needs the scope to write the resources of each section of the document, because the service compares secrets; it must not be limited to relayers. An audit record names the secrets that were compared. A caller has one plan at a time."
        })
      )
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .prefix("/api/v1/configuration")
  .annotateMerge(
    OpenApi.annotations({
      title: "Configuration",
      description: "Configurations as code: networks, notifications, signers, relayers and API keys in one document."
    })
  ) {}
