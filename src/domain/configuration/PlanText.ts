// A plan as text, for terminals, and as Markdown, for pull requests. The same plan always gives the same bytes.
import { nameOfCaller } from "../access/Caller.ts"
import type { Change } from "./Comparison.ts"
import { countsOf, hasChanges } from "./Plan.ts"
import type { Action, Plan, Step } from "./Plan.ts"
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

/** The ends of a digest, by which people compare two of them. */
const shortDigest = (digest: string): string => `${digest.slice(0, 4)}…${digest.slice(-2)}`

/** `digest`: that of the plan, if it is known. */
export const headline = (plan: Plan, digest?: string): string => {
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

export const text = (plan: Plan, digest?: string): string => {
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
    headline(plan, digest),
    ...(hasChanges(plan) ? [] : ["no changes"]),
    ...(blocks.length === 0 ? [] : ["", ...blocks])
  ].join("\n")
}

/** Escape sequences of terminals (ECMA-48), by the symbol of a step. */
const colours: Readonly<Record<string, string>> = { "+": "32", "~": "33", "±": "31", "-": "31" }

const coloured = (code: string, part: string): string => `\u001b[${code}m${part}\u001b[0m`

const warning = "1;33"

/** The text with colours: the symbols of steps, and the marks of warnings. No other text contains escape sequences. */
export const withColours = (plan: string): string =>
  plan.replace(/^([! ]) ([+~±-]) (?=\S)/gmu, (_, mark: string, symbol: string) => {
    return `${mark === "!" ? coloured(warning, mark) : mark} ${coloured(colours[symbol] ?? "0", symbol)} `
  })

/** Backticks, pipes and line breaks would end a cell or a code span. */
const code = (value: string): string => `\`${printable(value).replaceAll("`", "'").replaceAll("|", "\\|")}\``

export const markdown = (plan: Plan, digest?: string): string => {
  const rows = listed(plan).flatMap((step) => {
    const summary = summaryOf(step) === "" ? "" : `${code(summaryOf(step))} `
    const first = `| ${step.isWarning ? "⚠" : ""} | ${symbols[step.action].trim()} | ${code(title(step))} | | ${summary}|`
    const lines = step.changes.map(
      (change) => `| ${change.isWarning ? "⚠" : ""} | | | ${code(change.path)} | ${code(valueOf(change))} |`
    )
    return [first, ...lines]
  })
  const table = rows.length === 0 ? [] : ["", "| | | object | field | change |", "| - | - | - | - | - |", ...rows]
  return [`**${printable(headline(plan, digest))}**`, ...table].join("\n")
}
