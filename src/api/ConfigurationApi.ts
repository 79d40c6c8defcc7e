// The endpoints of configurations: what would have to change so that the service has what a document says, and its change.
import { Schema } from "effect"
import * as Endpoint from "./Endpoint.ts"
import * as Envelope from "./Envelope.ts"
import { Idempotency, RequestBody } from "./Middleware.ts"
import { ConfigurationName } from "../domain/configuration/Document.ts"
import {
  ApplyConfiguration,
  ConfigurationApplied,
  ConfigurationDocument,
  ConfigurationPlan,
  ConfigurationSummary,
  maxDocumentBytes,
  maxDocumentValues,
  PlanConfiguration
} from "../domain/configuration/Plan.ts"
import { PageQuery } from "../domain/request/Page.ts"
import { flag } from "../domain/request/Shown.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"

const bodyLimit = { bytes: maxDocumentBytes, values: maxDocumentValues }

export class ConfigurationApi extends Endpoint.group(
  "configuration",
  "/api/v1/configuration",
  {
    title: "Configuration",
    description: "Configurations as code: networks, notifications, signers, relayers and API keys in one document."
  },
  Endpoint.post("plan", "/plan", {
    scope: "relayers:read",
    summary: "Plan a configuration",
    description:
      "Compares a document with what the service has, and changes nothing. Asks no provider and no key service. The key also needs the scope to write the resources of each section of the document, because the service compares secrets; it must not be limited to relayers. An audit record names the secrets that were compared. A caller has one plan at a time.",
    through: [RequestBody],
    bodyLimit: bodyLimit,
    payload: Json.body(PlanConfiguration),
    success: Envelope.of(ConfigurationPlan),
    error: [Errors.ForbiddenError, Errors.PayloadTooLargeError, Errors.PlanRefusedError]
  }),
  Endpoint.post("apply", "/apply", {
    scope: "relayers:read",
    summary: "Apply a configuration",
    description:
      "Makes all changes of the plan with this digest, or none. Key services are asked for the keys of new signers first; then one transaction computes the plan again, and writes only if its digest is the same. The key needs what a plan needs. Only this response contains the keys of new API keys. An apply without changes writes nothing.",
    through: [Idempotency, RequestBody],
    bodyLimit: bodyLimit,
    payload: Json.body(ApplyConfiguration),
    success: Envelope.of(ConfigurationApplied),
    error: [
      Errors.ForbiddenError,
      Errors.PayloadTooLargeError,
      Errors.PlanRefusedError,
      Errors.PlanOutdatedError,
      Errors.ApplyRunningError,
      Errors.BadGatewayError
    ]
  }),
  Endpoint.get("list", "/", {
    scope: "relayers:read",
    summary: "List configurations",
    description: "Those that were applied, by name.",
    query: PageQuery,
    success: Envelope.pageOf(ConfigurationSummary)
  }),
  Endpoint.get("get", "/:configuration", {
    scope: "relayers:read",
    summary: "Get a configuration",
    description: "When it was last applied, by which caller, and from which revision.",
    params: Schema.Struct({ configuration: ConfigurationName }),
    success: Envelope.of(ConfigurationSummary),
    error: Errors.ConfigurationNotFoundError
  }),
  Endpoint.get("document", "/:configuration/document", {
    scope: "relayers:read",
    summary: "Export a configuration",
    description:
      "What the configuration owns, as a document. Secrets are `{stored: true}`, and hidden parts of URLs are masked: both stand for what the service has, so that a plan of the document has no changes. The key needs the scopes to read all sections. The key of the caller is left out, because the caller cannot change it.",
    params: Schema.Struct({ configuration: ConfigurationName }),
    query: {
      all: Schema.optionalKey(flag("Whether the document has everything of the service, under this name."))
    },
    success: Envelope.of(ConfigurationDocument),
    error: [Errors.ConfigurationNotFoundError, Errors.ForbiddenError]
  })
) {}
