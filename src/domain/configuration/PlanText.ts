// A plan as text, for terminals, and as Markdown, for pull requests. The same plan always gives the same bytes.
import type { Change } from "./Comparison.ts"
import { countsOf, hasChanges } from "./Planning.ts"
import type { Action, Plan, Step } from "./Planning.ts"
import { nameOf } from "./States.ts"

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

export const headline = (plan: Plan): string => {
  const counts = countsOf(plan)
  return `${plan.name}: ${counts.create} to create, ${counts.change} to change, ${counts.delete} to delete, ${counts.unchanged} unchanged`
}

const listed = ({ steps }: Plan): ReadonlyArray<Step> => steps.filter(({ action }) => action !== "none")

/** Characters of the date in ISO 8601. */
const dateLength = 10

const driftOf = ({ drift }: Step): string | undefined => {
  if (drift === undefined) return undefined
  const when = drift.at === undefined ? "" : ` on ${drift.at.slice(0, dateLength)}`
  return `drift: changed outside of this file${when}${drift.by === undefined ? "" : ` by ${drift.by}`}`
}

const title = (step: Step): string => {
  const remark = [remarks[step.action], step.reason, driftOf(step)].filter((part) => part !== undefined).join("; ")
  return `${nameOf(step)}${remark === "" ? "" : ` (${remark})`}`
}

const width = (changes: ReadonlyArray<Change>): number => Math.max(0, ...changes.map(({ path }) => path.length))

export const text = (plan: Plan): string => {
  const blocks = listed(plan).map((step) => {
    const first = `${step.isWarning ? "!" : " "} ${symbols[step.action]} ${title(step)}`
    const column = width(step.changes)
    const lines = step.changes.map(
      (change) => `${change.isWarning ? "!" : " "}     ${change.path.padEnd(column)}  ${valueOf(change)}`
    )
    return [first, ...lines].map((line) => printable(line).trimEnd()).join("\n")
  })
  return [
    headline(plan),
    ...(hasChanges(plan) ? [] : ["no changes"]),
    ...(blocks.length === 0 ? [] : ["", ...blocks])
  ].join("\n")
}

/** Backticks, pipes and line breaks would end a cell or a code span. */
const code = (value: string): string => `\`${printable(value).replaceAll("`", "'").replaceAll("|", "\\|")}\``

export const markdown = (plan: Plan): string => {
  const rows = listed(plan).flatMap((step) => {
    const first = `| ${step.isWarning ? "⚠" : ""} | ${symbols[step.action].trim()} | ${code(title(step))} | | |`
    const lines = step.changes.map(
      (change) => `| ${change.isWarning ? "⚠" : ""} | | | ${code(change.path)} | ${code(valueOf(change))} |`
    )
    return [first, ...lines]
  })
  const table = rows.length === 0 ? [] : ["", "| | | object | field | change |", "| - | - | - | - | - |", ...rows]
  return [`**${printable(headline(plan))}**`, ...table].join("\n")
}
