// Requests about configurations, and their answers.
import { Schema } from "effect"
import { Value } from "../request/ExactJson.ts"
import { field } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"
import { list, maybe, text } from "../request/Text.ts"
import { SignerId } from "../signer/SignerId.ts"
import { ConfigurationName, kinds } from "./Kinds.ts"
import type { Change } from "./Comparison.ts"
import { countsOf } from "./Plan.ts"
import type { Plan, Step } from "./Plan.ts"

/** A body of a configuration may have more bytes and members than other bodies, because it contains many resources. */
export const maxDocumentBytes = 8 * 1024 * 1024
export const maxDocumentValues = 200_000

/** Objects of one document. */
export const maxObjects = 5000

const ObjectName = text(1, 128)

export const PlanOptions = Schema.Struct({
  prune: maybe(Schema.Boolean, {
    description:
      "Whether objects of the configuration that the document no longer contains are deleted. Only in sections that the document has.",
    examples: [true]
  }),
  take_over: maybe(Schema.Boolean, {
    description: "Whether objects of other configurations become objects of this one.",
    examples: [true]
  }),
  replace: maybe(list(ObjectName), {
    description: "Names of objects that may be deleted and created again.",
    examples: [["relayers.treasury"]]
  }),
  destroy_keys: maybe(list(SignerId.schema), {
    description: "Ids of signers that may be deleted although their key exists only in the service.",
    examples: [["hot-1"]]
  })
}).annotate({ identifier: "PlanOptions", description: "What a plan may do beyond creating and changing objects." })
export type PlanOptions = typeof PlanOptions.Type

export const PlanConfiguration = Schema.Struct({
  document: field(
    Schema.Record(Schema.String, Value),
    "The configuration, as `relayers.schema.json` describes it, with values in the places of references to secrets.",
    { version: 1, name: "payments", notifications: { ops: { url: "https://hooks.example.com/relayer" } } }
  ),
  options: maybe(PlanOptions, { description: "What the plan may do beyond creating and changing objects." }),
  templates: maybe(Schema.Record(Schema.String, text(0, 2048)), {
    description: "Texts that are shown instead of values of the document, by path.",
    examples: [{ "notifications.ops.url": "https://${RELAYER_HOST}/relayer" }]
  })
}).annotate({ identifier: "PlanConfigurationRequest" })
export type PlanConfiguration = typeof PlanConfiguration.Type

const PlannedChange = Schema.Struct({
  path: field(Shown.Words, "The field.", "policies.gas_price_cap"),
  before: Schema.optionalKey(field(Shown.Words, "The value before. Absent if there is none, or if it is secret.", "1")),
  after: Schema.optionalKey(
    field(Shown.Words, "The value afterwards. Absent if there is none, or if it is secret.", "2")
  ),
  added: Schema.optionalKey(field(Schema.Array(Shown.Words), "New entries of a set.", ["relayers:write"])),
  removed: Schema.optionalKey(field(Schema.Array(Shown.Words), "Entries that are removed from a set.", ["signers:*"])),
  is_secret: field(Schema.Boolean, "Whether only that the value differs is shown.", false),
  remark: Schema.optionalKey(field(Shown.Words, "What else is known about a secret value.", "same host")),
  is_warning: field(Schema.Boolean, "Whether the change allows more than before, or cannot be undone.", false),
  origin: Schema.optionalKey(
    field(
      Schema.Literals(["file", "drift", "both"]),
      "What has changed since the configuration was applied: `file`: the document; `drift`: the service; `both`: each in its own way. Absent for objects that it has not applied.",
      "drift"
    )
  )
}).annotate({ identifier: "PlannedChange", description: "A difference of one field." })

export const PlannedAction = Schema.Literals(["create", "adopt", "update", "replace", "delete", "keep", "none"])

const PlannedStep = Schema.Struct({
  kind: field(Schema.Literals(kinds), "The section of the object.", "relayers"),
  id: field(Shown.Words, "The id of the object.", "treasury"),
  action: field(
    PlannedAction,
    "What happens to the object. `adopt`: the configuration becomes its owner; `keep`: the document no longer contains it; `none`: it is as the document says.",
    "update"
  ),
  summary: Schema.optionalKey(
    field(Schema.Array(Shown.Words), "What a new object is, in parts: its network and its signer, or its scopes.", [
      "evm:sepolia",
      "signer hot-1"
    ])
  ),
  reason: Schema.optionalKey(field(Shown.Words, "Why it is kept, or what the deletion does.", "resets its overrides")),
  changes: field(Schema.Array(PlannedChange), "The differences, by path."),
  drift: Schema.optionalKey(
    field(
      Schema.Struct({
        at: Schema.optionalKey(field(Shown.Words, "When, in ISO 8601.", "2026-11-22T10:00:00.000Z")),
        by: Schema.optionalKey(field(Shown.Words, "Which caller: the id of its API key.", "dashboard"))
      }).annotate({ identifier: "PlannedDrift", description: "The last change of an object outside of its document." }),
      "When and by which caller the object was changed outside of the document, as far as the audit log says. Absent: it was not."
    )
  ),
  is_warning: field(Schema.Boolean, "Whether a change allows more than before, or cannot be undone.", false)
}).annotate({ identifier: "PlannedStep", description: "What a plan does to one object." })

const count = Schema.Natural

export const digest = field(
  Shown.shaped(/^[A-Za-z0-9_-]{43}$/),
  "Identifies the document, the options and what the service has. It changes when one of them changes.",
  "3kT9pD0cQ1u5mB7rW2xYzA4vN6sL8eHjKfGtRiOqPfQ"
)

export const PlanCounts = Schema.Struct({
  create: field(count, "Objects to create.", 1),
  change: field(count, "Objects to update and to replace, and adopted ones that differ.", 1),
  delete: field(count, "Objects to delete.", 0),
  unchanged: field(count, "Objects that stay as they are, also if they only get an owner.", 41)
}).annotate({ identifier: "PlanCounts", description: "How many objects a plan concerns." })

export const ConfigurationPlan = Schema.Struct({
  name: ConfigurationName,
  digest,
  counts: field(PlanCounts, "How many objects the plan concerns."),
  steps: field(Schema.Array(PlannedStep), "All objects, in the order in which they are changed."),
  seen: field(
    Schema.Record(Schema.String, Shown.Words),
    "A keyed hash of each object that the plan is based on, by name, so that an apply can say which of them has changed.",
    { "relayers.treasury": "fQ3kT9pD0cQ1u5mB" }
  )
}).annotate({ identifier: "ConfigurationPlan", description: "What has to change so that the service has a document." })
export type ConfigurationPlan = typeof ConfigurationPlan.Type

const ofChange = ({ isSecret, isWarning, ...change }: Change): typeof PlannedChange.Type => ({
  ...change,
  is_secret: isSecret,
  is_warning: isWarning
})

const ofStep = ({ isWarning, changes, ...step }: Step): typeof PlannedStep.Type => ({
  ...step,
  changes: changes.map(ofChange),
  is_warning: isWarning
})

export const ofPlan = (plan: Plan, about: Pick<ConfigurationPlan, "digest" | "seen">): ConfigurationPlan => ({
  name: plan.name,
  ...about,
  counts: countsOf(plan),
  steps: plan.steps.map(ofStep)
})

/** The plan of an answer, which is printed as text or as Markdown. */
export const toPlan = ({ name, steps }: ConfigurationPlan): Plan => ({
  name,
  steps: steps.map(({ is_warning, changes, ...step }) => ({
    ...step,
    changes: changes.map(({ is_secret, is_warning, ...change }) => ({
      ...change,
      isSecret: is_secret,
      isWarning: is_warning
    })),
    isWarning: is_warning
  }))
})
