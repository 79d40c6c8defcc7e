// A plan: what an apply does to each object, as it is requested, answered, refused, applied and printed.
import { Schema } from "effect"
import { nameOfCaller } from "../access/Caller.ts"
import { Value } from "../request/ExactJson.ts"
import { field } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"
import { Instant, list, maybe, text } from "../request/Shown.ts"
import type { Violation } from "../request/Violations.ts"
import { SignerId } from "../signer/Signer.ts"
import { nameOf } from "./Comparison.ts"
import type { Change } from "./Comparison.ts"
import { ConfigurationName, kinds } from "./Document.ts"
import type { Kind } from "./Document.ts"

/** `keep`: not in the document, and not deleted. `none`: equal. */
export type Action = "create" | "adopt" | "update" | "replace" | "delete" | "keep" | "none"

export interface Step {
  readonly kind: Kind
  readonly id: string
  readonly action: Action
  readonly changes: ReadonlyArray<Change>
  /** Describes a new object in parts, such as its network and its signer. */
  readonly summary?: ReadonlyArray<string>
  /** Why the object is kept, or what the deletion does. */
  readonly reason?: string
  /** When and by which caller the object was changed outside of the file, as far as the audit log says. */
  readonly drift?: Drift
  readonly isWarning: boolean
}

export interface Drift {
  /** In ISO 8601. */
  readonly at?: string
  readonly by?: string
}

export interface Plan {
  readonly name: string
  /** In the order of execution: creations and updates, parents first; then deletions, in the reverse order. */
  readonly steps: ReadonlyArray<Step>
}

/** Whether the step changes the object itself. A step that only sets the owner does not. */
const isChange = ({ action, changes }: Step): boolean =>
  action !== "none" && action !== "keep" && (action !== "adopt" || changes.length > 0)

/** How many objects a plan creates, changes, deletes and leaves alone. */
export const countsOf = ({ steps }: Plan) => {
  const count = (...actions: ReadonlyArray<Action>) =>
    steps.filter((step) => isChange(step) && actions.includes(step.action)).length
  return {
    create: count("create"),
    change: count("adopt", "update", "replace"),
    delete: count("delete"),
    unchanged: steps.filter((step) => !isChange(step)).length
  }
}

export const hasChanges = ({ steps }: Plan): boolean => steps.some(isChange)

// Requests about configurations, and their answers.

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

const PlannedAction = Schema.Literals(["create", "adopt", "update", "replace", "delete", "keep", "none"])

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

const digest = field(
  Shown.shaped(/^[A-Za-z0-9_-]{43}$/),
  "Identifies the document, the options and what the service has. It changes when one of them changes.",
  "3kT9pD0cQ1u5mB7rW2xYzA4vN6sL8eHjKfGtRiOqPfQ"
)

const PlanCounts = Schema.Struct({
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

// Requests that apply configurations, and their answers.

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

// Why a configuration is not planned or applied.

/** Lines that an answer has. A caller that solves them sees the others. */
const maxLines = 50

const lines = (violations: ReadonlyArray<Violation>): string => {
  const shown = violations.slice(0, maxLines).map(({ field, message }) => `${field}: ${message}`)
  const more = violations.length - shown.length
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join("\n")
}

/** The service cannot become what the document says. */
export class PlanRefused extends Schema.TaggedError<PlanRefused>()("PlanRefused", {
  /** One line for each reason, with the path. */
  error: Shown.Words
}) {
  override readonly message = this.error

  static of(violations: ReadonlyArray<Violation>): PlanRefused {
    return new PlanRefused({ error: lines(violations) })
  }
}

/** The plan is not that of the document, or the service has changed since it was made. */
export class PlanOutdated extends Schema.TaggedError<PlanOutdated>()("PlanOutdated", {
  /** One line for each object that has changed. */
  error: Shown.Words
}) {
  override readonly message = this.error

  static of(violations: ReadonlyArray<Violation>): PlanOutdated {
    return new PlanOutdated({ error: lines(violations) })
  }
}

/** Another apply of the configuration runs. */
export class ApplyRunning extends Schema.TaggedError<ApplyRunning>()("ApplyRunning", { error: Shown.Words }) {
  override readonly message = this.error
}

export class ConfigurationNotFound extends Schema.TaggedError<ConfigurationNotFound>()("ConfigurationNotFound", {}) {
  override readonly message = "no configuration of this name was applied"
}

// A plan as text, for terminals, and as Markdown, for pull requests. The same plan always gives the same bytes.

/** Replaces what does not print, or moves the cursor. Texts of objects come from users. */
const printable = (text: string): string => text.replace(/[\p{C}\u2028\u2029]/gu, "?")

const symbols: Readonly<Record<Action, string>> = {
  create: "+",
  adopt: "~",
  update: "~",
  replace: "±",
  delete: "-",
  keep: " ",
  none: " "
}

const remarks: Partial<Record<Action, string>> = { adopt: "adopt", replace: "replace" }

const valueOf = (change: Change): string => {
  const { added, after, before, isSecret, remark } = change
  if (isSecret) return ["(secret) changed", ...(remark === undefined ? [] : [remark])].join(", ")
  if (added !== undefined || change.removed !== undefined) {
    return [...(added ?? []).map((item) => `+ ${item}`), ...(change.removed ?? []).map((item) => `- ${item}`)].join(
      ", "
    )
  }
  return `${before ?? "(absent)"} -> ${after ?? "(absent)"}`
}

/** The ends of a digest, by which people compare two of them. */
const shortDigest = (digest: string): string => `${digest.slice(0, 4)}…${digest.slice(-2)}`

/** `digest`: that of the plan, if it is known. */
export const planHeadline = (plan: Plan, digest?: string): string => {
  const { create, change, delete: removed, unchanged } = countsOf(plan)
  const counts = `${create} to create, ${change} to change, ${removed} to delete, ${unchanged} unchanged`
  return `${plan.name}: ${counts}${digest === undefined ? "" : `  plan ${shortDigest(digest)}`}`
}

const listed = ({ steps }: Plan): ReadonlyArray<Step> => steps.filter(({ action }) => action !== "none")

const driftOf = ({ drift }: Step): string | undefined => {
  if (drift === undefined) return undefined
  const when = drift.at === undefined ? "" : ` at ${drift.at}`
  return `drift: changed outside of this file${when}${drift.by === undefined ? "" : ` by ${nameOfCaller(drift.by)}`}`
}

const title = (step: Step): string => {
  const remark = [remarks[step.action], step.reason, driftOf(step)].filter((part) => part !== undefined).join("; ")
  return `${nameOf(step)}${remark === "" ? "" : ` (${remark})`}`
}

const widest = (texts: ReadonlyArray<string>): number => texts.reduce((most, { length }) => Math.max(most, length), 0)

/** The space between the columns of a plan. */
const gap = "  "

const summaryOf = ({ summary = [] }: Step): string => summary.join(gap)

/** All summaries start in one column, to the right of the longest name of a new object. */
const titled = (step: Step, column: number): string =>
  summaryOf(step) === "" ? title(step) : `${title(step).padEnd(column)}${gap}${summaryOf(step)}`

/** An object that is adopted as it is gets an owner, which is no change of it. */
const unchanged = ({ steps }: Plan): string =>
  steps.some(({ action }) => action === "adopt") ? "no changes, except that objects are adopted" : "no changes"

export const planText = (plan: Plan, digest?: string): string => {
  const names = widest(listed(plan).flatMap((step) => (summaryOf(step) === "" ? [] : [title(step)])))
  const blocks = listed(plan).map((step) => {
    const first = `${step.isWarning ? "!" : " "} ${symbols[step.action]} ${titled(step, names)}`
    const column = widest(step.changes.map(({ path }) => path))
    const lines = step.changes.map(
      (change) => `${change.isWarning ? "!" : " "}     ${change.path.padEnd(column)}  ${valueOf(change)}`
    )
    return [first, ...lines].map((line) => printable(line).trimEnd()).join("\n")
  })
  return [
    planHeadline(plan, digest),
    ...(hasChanges(plan) ? [] : [unchanged(plan)]),
    ...(blocks.length === 0 ? [] : ["", ...blocks])
  ].join("\n")
}

/** Escape sequences of terminals (ECMA-48), by the symbol of a step. */
const colours: Readonly<Record<string, string>> = { "+": "32", "~": "33", "±": "31", "-": "31" }

const coloured = (code: string, part: string): string => `\u001b[${code}m${part}\u001b[0m`

const warning = "1;33"

/** The text with colours: the symbols of steps, and the marks of warnings. No other text contains escape sequences. */
export const withPlanColours = (plan: string): string =>
  plan.replace(/^([! ]) ([+~±-]) (?=\S)/gmu, (_, mark: string, symbol: string) => {
    return `${mark === "!" ? coloured(warning, mark) : mark} ${coloured(colours[symbol] ?? "0", symbol)} `
  })

/** Backticks, pipes and line breaks would end a cell or a code span. */
const code = (value: string): string => `\`${printable(value).replaceAll("`", "'").replaceAll("|", "\\|")}\``

export const planMarkdown = (plan: Plan, digest?: string): string => {
  const rows = listed(plan).flatMap((step) => {
    const summary = summaryOf(step) === "" ? "" : `${code(summaryOf(step))} `
    const first = `| ${step.isWarning ? "⚠" : ""} | ${symbols[step.action].trim()} | ${code(title(step))} | | ${summary}|`
    const lines = step.changes.map(
      (change) => `| ${change.isWarning ? "⚠" : ""} | | | ${code(change.path)} | ${code(valueOf(change))} |`
    )
    return [first, ...lines]
  })
  const table = rows.length === 0 ? [] : ["", "| | | object | field | change |", "| - | - | - | - | - |", ...rows]
  return [`**${printable(planHeadline(plan, digest))}**`, ...table].join("\n")
}
