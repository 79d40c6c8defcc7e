// Requests that apply configurations, and their answers.
import { Schema } from "effect"
import { field } from "../request/Field.ts"
import { Instant } from "../request/Instant.ts"
import * as Shown from "../request/Shown.ts"
import { maybe, text } from "../request/Text.ts"
import { Value } from "../request/ExactJson.ts"
import { ConfigurationName, kinds } from "./Kinds.ts"
import { PlanConfiguration, PlanCounts, PlannedAction, digest } from "./PlanRequest.ts"

/** Longest name of a revision. The hash of a commit has 40 or 64 characters. */
const maxRevisionLength = 128

export const ApplyConfiguration = Schema.Struct({
  ...PlanConfiguration.fields,
  digest: field(
    Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{43}$/u, { expected: "the digest of a plan" })),
    "The digest of the plan that is applied.",
    "3kT9pD0cQ1u5mB7rW2xYzA4vN6sL8eHjKfGtRiOqPfQ"
  ),
  seen: maybe(Schema.Record(Schema.String, text(1, 64)), {
    description: "`seen` of the plan, so that a refusal can name what has changed since.",
    examples: [{ "relayers.treasury": "fQ3kT9pD0cQ1u5mB" }]
  }),
  revision: maybe(text(1, maxRevisionLength), {
    description: "What the document is from, such as the hash of a commit. It is recorded.",
    examples: ["9fceb02d0ae598e95dc970b74767f19372d61af8"]
  })
}).annotate({ identifier: "ApplyConfigurationRequest" })
export type ApplyConfiguration = typeof ApplyConfiguration.Type

const name = ConfigurationName

export const ConfigurationApplied = Schema.Struct({
  name,
  digest,
  counts: field(PlanCounts, "How many objects were changed."),
  changed: field(
    Schema.Array(
      Schema.Struct({
        kind: field(Schema.Literals(kinds), "The section of the object.", "relayers"),
        id: field(Shown.Words, "The id of the object.", "treasury"),
        action: field(PlannedAction, "What happened to it.", "create")
      }).annotate({ identifier: "AppliedChange", description: "An object that an apply has changed." })
    ),
    "The objects that were changed, in order."
  ),
  keys: field(
    Schema.Array(
      Schema.Struct({
        id: field(Shown.Id, "The id of the API key.", "dashboard"),
        key: field(
          Schema.RedactedFromValue(Shown.shaped(/^rk_[A-Za-z0-9]{43}$/)),
          "The key itself. It is not returned again.",
          "rk_7Jx0mZ2kQv"
        )
      }).annotate({ identifier: "CreatedKey", description: "A new API key with the key itself." })
    ),
    "The new API keys."
  )
}).annotate({ identifier: "ConfigurationApplied", description: "What an apply has done." })
export type ConfigurationApplied = typeof ConfigurationApplied.Type

/** What the audit log records of an apply. */
export const ApplyRecord = Schema.Struct({
  name,
  digest,
  counts: PlanCounts,
  revision: Schema.optionalKey(Schema.String)
})

export const ConfigurationSummary = Schema.Struct({
  name,
  digest,
  revision: Schema.optionalKey(
    field(Shown.Words, "What the document was from, such as the hash of a commit.", "9fceb02")
  ),
  applied_at: field(Instant, "When it was last applied.", "2026-01-02T03:04:05.678Z"),
  applied_by: field(Shown.Id, "The caller that applied it: the id of its API key.", "administrator"),
  objects: field(Schema.Natural, "How many objects it owns.", 45)
}).annotate({ identifier: "Configuration", description: "A configuration that was applied." })
export type ConfigurationSummary = typeof ConfigurationSummary.Type

export const ConfigurationDocument = Schema.Struct({
  document: field(
    Schema.Record(Schema.String, Value),
    "The configuration, as `relayers.schema.json` describes it. Secrets are `{stored: true}`; hidden parts of URLs are `***`.",
    { version: 1, name: "payments", notifications: { ops: { url: "https://hooks.example.com/***" } } }
  ),
  remarks: field(
    Schema.Record(Schema.String, Shown.Words),
    "What the document does not say about an object, by the name of the object, such as the address of a relayer.",
    { "relayers.treasury": "address 0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266" }
  )
}).annotate({ identifier: "ConfigurationDocument", description: "What the service has, as a configuration." })
export type ConfigurationDocument = typeof ConfigurationDocument.Type
