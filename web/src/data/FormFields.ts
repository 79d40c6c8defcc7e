// The fields of a form, which the build derives from the schemas of the contract, and the JSON that they make.
import { DateTime } from "effect"
import { exact, gwei, ofSomeChain, parse, shown, smallestUnits } from "./Amounts.ts"
import type { AmountProblem, Unit } from "./Amounts.ts"
import { authorizationsOf } from "./Authorizations.ts"
import type { AuthorizationProblem } from "./Authorizations.ts"
import { callsOf, rowsOf, textOfCalls } from "./Calls.ts"

export type FieldKind =
  | "text"
  | "secret"
  | "amount"
  | "integer"
  | "number"
  | "boolean"
  | "choice"
  /** Any number of the choices, entered as one per line. */
  | "choices"
  /** A value per line. */
  | "lines"
  /** A URL per line, with its weight after a space. */
  | "urls"
  | "moment"
  /** Rows of receiver, amount and data, entered as JSON of their texts. */
  | "calls"
  /** Signed authorizations, as wallets and libraries print them. */
  | "authorizations"
  /** JSON text, for nested shapes. */
  | "json"

export interface FormField {
  /** Where the value belongs: `config.role_id`. */
  readonly name: string
  readonly kind: FieldKind
  readonly hint: string
  readonly example?: string
  readonly isRequired?: true
  readonly choices?: ReadonlyArray<string>
  /** The only value, which the form does not show. */
  readonly fixed?: string
  /** The unit of an amount of money. Absent: the amount is no money, such as gas. */
  readonly unit?: "native" | "price"
}

export type Form = ReadonlyArray<FormField>

/** What a person has entered, by the names of the fields. Absent fields are empty. */
export type Entered = Readonly<Record<string, string>>

export type Problem =
  | AmountProblem
  | AuthorizationProblem
  | "required"
  | "not_json"
  | "not_integer"
  | "not_moment"
  | "not_weight"

/** By the name of the field, or by the path of a part of it, such as `calls.1.to`. */
export type Problems = Readonly<Record<string, Problem | string>>

/** The key under which the chosen unit of an amount is entered: its decimals. */
export const unitKey = (name: string): string => `${name}#decimals`

/** Fields of an API key that say what it may send. Those of other networks than evm have the network type in their name. */
export const limitsPrefix = "transaction_limits."

/** The native token of the amount of a field. `native`: that of what the form is about. */
export const nativeOf = ({ name }: FormField, native: Unit): Unit => {
  if (!name.startsWith(limitsPrefix)) return native
  const [, type] = name.split(".")
  return type === "solana" || type === "stellar" ? smallestUnits[type] : ofSomeChain
}

/** Decimals in which an amount is entered. */
export const decimalsOf = (field: FormField, entered: Entered, native: Unit): number => {
  if (field.unit === undefined) return 0
  const chosen = entered[unitKey(field.name)]
  return chosen === undefined ? (field.unit === "price" ? 9 : nativeOf(field, native).decimals) : Number(chosen)
}

/** The symbol of the unit in which the amount of a field is entered. Empty: it is no amount of money. */
const symbolOf = (field: FormField, entered: Entered, native: Unit): string => {
  if (field.unit === undefined) return ""
  const unit = nativeOf(field, native)
  const decimals = decimalsOf(field, entered, native)
  if (decimals === 0) return ` ${field.unit === "price" ? gwei.smallest : unit.smallest}`
  return ` ${decimals === unit.decimals && field.unit === "native" ? unit.symbol : gwei.symbol}`
}

/** What is entered, as it is entered, with its unit. */
export const writtenIn = (
  form: Form,
  entered: Entered,
  native: Unit
): ReadonlyArray<readonly [name: string, text: string]> =>
  form.flatMap((field) => {
    const value = entered[field.name]?.trim() ?? ""
    return value === "" ? [] : [[field.name, `${value}${symbolOf(field, entered, native)}`] as const]
  })

/** The hint of a field in the unit in which its amount is entered: descriptions of the API have the smallest unit. */
export const hintOf = (field: FormField, native: Unit): string => {
  if (field.unit === undefined) return field.hint
  const unit = field.unit === "price" ? gwei : nativeOf(field, native)
  return field.hint
    .replace(/,? in (wei per gas|wei|lamports|stroops)\b/g, "")
    .replace(/^(Wei|Lamports|Stroops) /, "Amount ")
    .replace(/\b(wei|lamports|stroops) that\b/g, "that")
    .replace(/The default is (\d+)\./, (_, digits: string) => `The default is ${shown(BigInt(digits), unit)}.`)
}

type Read =
  | { readonly value: unknown }
  | { readonly problem: Problem }
  /** By the paths of the parts below the field. */
  | { readonly problems: Readonly<Record<string, Problem>> }

const linesOf = (text: string) =>
  text
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter((line) => line !== "")

const weightPattern = /^(\S+)(?:\s+(\d{1,3}))?$/

const urlsOf = (text: string): Read => {
  const matches = linesOf(text).map((line) => weightPattern.exec(line))
  if (matches.some((match) => match === null)) return { problem: "not_weight" }
  return {
    value: matches.map((match) => ({
      url: match?.[1],
      ...(match?.[2] === undefined ? {} : { weight: Number(match[2]) })
    }))
  }
}

const jsonOf = (text: string): Read => {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return { problem: "not_json" }
  }
}

/** As a field of date and time has it, which knows no time zone. */
const withoutZone = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?$/

/** The text of a moment in UTC as a field of date and time takes it. Empty: it is no such text. */
export const fieldOfMoment = (text: string): string => {
  const field = text.replace(/(\.\d+)?Z$/, "")
  return withoutZone.test(field) ? field : ""
}

/** A moment without a time zone is one in UTC. */
const momentOf = (text: string): Read => {
  const given = text.trim()
  const moment = DateTime.make(withoutZone.test(given) ? `${given}Z` : given)
  return moment._tag === "None" ? { problem: "not_moment" } : { value: DateTime.formatIso(moment.value) }
}

const amountOf = (text: string, decimals: number): Read => {
  const parsed = parse(text, decimals)
  // Decimal text, because a number of JavaScript would lose digits.
  return parsed.ok ? { value: parsed.value.toString() } : { problem: parsed.problem }
}

const readCalls = (text: string, decimals: number): Read => {
  const { value, problems } = callsOf(rowsOf(text), decimals)
  return Object.keys(problems).length === 0 ? { value } : { problems }
}

/** An amount that the API takes as a number only. */
const integerAmountOf = (text: string, decimals: number): Read => {
  const parsed = parse(text, decimals)
  if (!parsed.ok) return { problem: parsed.problem }
  return parsed.value <= BigInt(Number.MAX_SAFE_INTEGER) ? { value: Number(parsed.value) } : { problem: "too_large" }
}

const read = (field: FormField, text: string, decimals: number): Read => {
  switch (field.kind) {
    case "amount":
      return amountOf(text, decimals)
    case "integer":
      if (field.unit !== undefined) return integerAmountOf(text, decimals)
      return /^-?\d{1,15}$/.test(text.trim()) ? { value: Number(text) } : { problem: "not_integer" }
    case "number":
      return /^-?\d+(\.\d+)?$/.test(text.trim()) ? { value: Number(text) } : { problem: "not_decimal" }
    case "boolean":
      return { value: text === "true" }
    case "choices":
    case "lines":
      return { value: linesOf(text) }
    case "urls":
      return urlsOf(text)
    case "calls":
      return readCalls(text, decimals)
    case "authorizations":
      return authorizationsOf(text)
    case "json":
      return jsonOf(text)
    case "moment":
      return momentOf(text)
    case "secret":
      return { value: text }
    default:
      return { value: text.trim() }
  }
}

export type Json = { [name: string]: unknown }

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

const put = (object: Json, name: string, value: unknown) => {
  const path = name.split(".")
  const last = path.pop() ?? name
  let place = object
  for (const part of path) {
    const next = place[part]
    if (isObject(next)) place = next
    else place = place[part] = {} as Json
  }
  place[last] = value
}

const at = (object: unknown, name: string): unknown =>
  name.split(".").reduce<unknown>((value, part) => (isObject(value) ? value[part] : undefined), object)

/**
 * What is entered after a person has typed a text. The unit of that moment stays: without its network, an evm amount is in wei, and the
 * number must not become one of ether when the network is known.
 */
export const withText = (form: Form, entered: Entered, name: string, text: string, native: Unit): Entered => {
  const field = form.find((field) => field.name === name)
  const unit = field?.unit === undefined ? {} : { [unitKey(name)]: String(decimalsOf(field, entered, native)) }
  return { ...entered, ...unit, [name]: text }
}

/** The value of a field, or what is wrong with it. `undefined`: nothing is entered. */
const entry = (field: FormField, entered: Entered, native: Unit): Read | undefined => {
  if (field.fixed !== undefined) return { value: field.fixed }
  const text = entered[field.name] ?? ""
  if (text.trim() !== "") return read(field, text, decimalsOf(field, entered, native))
  return field.isRequired === true ? { problem: "required" } : undefined
}

const problemsIn = ({ name }: FormField, made: Exclude<Read, { readonly value: unknown }>) =>
  "problem" in made
    ? { [name]: made.problem }
    : Object.fromEntries(Object.entries(made.problems).map(([part, problem]) => [`${name}.${part}`, problem]))

/**
 * Problems of the parts of a field, such as those that the service names `calls.1.to` or `custom_rpc_urls.0.url`, by their paths below the
 * field. Parts that are fields of the form themselves are left out.
 */
export const partsOf = (form: Form, { name }: FormField, problems: Problems): Problems =>
  Object.fromEntries(
    Object.entries(problems)
      .filter(([path]) => path.startsWith(`${name}.`))
      .filter(
        ([path]) => !form.some((other) => other.name !== name && isIn(other.name, path) && isIn(name, other.name))
      )
      .map(([path, problem]) => [path.slice(name.length + 1), problem])
  )

/** Whether the path leads to the field, or to a part of it. */
export const isIn = (name: string, path: string): boolean => path === name || path.startsWith(`${name}.`)

export interface Made {
  readonly json: Json
  readonly problems: Problems
}

/** The body that the form makes. It is only sent without problems. */
export const bodyOf = (form: Form, entered: Entered, native: Unit): Made => {
  const json: Json = {}
  const problems: Record<string, Problem> = {}
  for (const field of form) {
    const made = entry(field, entered, native)
    if (made === undefined) continue
    if ("value" in made) put(json, field.name, made.value)
    else Object.assign(problems, problemsIn(field, made))
  }
  return { json, problems }
}

const bigintText = (_key: string, value: unknown) => (typeof value === "bigint" ? value.toString() : value)

const urlLine = (value: unknown) =>
  isObject(value) ? `${String(value["url"])} ${String(value["weight"] ?? "")}`.trim() : String(value)

const written = (field: FormField, value: unknown, native: Unit): string => {
  if (value === undefined || value === null) return ""
  if (field.kind === "amount" || (field.kind === "integer" && field.unit !== undefined))
    return exact(BigInt(String(value)), decimalsOf(field, {}, native))
  if (field.kind === "urls" && Array.isArray(value)) return value.map(urlLine).join("\n")
  if (field.kind === "calls" && Array.isArray(value)) return textOfCalls(value, decimalsOf(field, {}, native))
  if ((field.kind === "lines" || field.kind === "choices") && Array.isArray(value)) return value.map(String).join("\n")
  return typeof value === "object" ? JSON.stringify(value, bigintText, 2) : String(value)
}

/** What a person would have entered to make the object. */
export const enteredOf = (form: Form, object: unknown, native: Unit): Entered =>
  Object.fromEntries(form.map((field) => [field.name, written(field, at(object, field.name), native)]))

export interface Change {
  readonly name: string
  readonly before: string
  readonly after: string
}

/** The fields whose text differs. An amount in another unit is a change only if its value is another one. */
export const changesOf = (form: Form, before: Entered, after: Entered, native: Unit): ReadonlyArray<Change> => {
  const text = (field: FormField, entered: Entered) => {
    const made = entry(field, entered, native)
    return made !== undefined && "value" in made ? JSON.stringify(made.value) : (entered[field.name] ?? "")
  }
  return form
    .filter((field) => text(field, before) !== text(field, after))
    .map(({ name }) => ({ name, before: before[name] ?? "", after: after[name] ?? "" }))
}

/** Objects that are there with their fields or not at all. */
const wholes = ["top_up"]

/** The object to which the field belongs, if nothing of it is entered any more. Otherwise the field itself. */
const emptied = (form: Form, { name }: FormField, after: Entered): string => {
  const whole = wholes.find((one) => name.startsWith(`${one}.`))
  const others = whole === undefined ? [] : form.filter((field) => field.name.startsWith(`${whole}.`))
  return whole !== undefined && others.every((field) => (after[field.name] ?? "").trim() === "") ? whole : name
}

/** The merge patch (RFC 7396) of the changed fields: an emptied field is null. */
export const patchOf = (form: Form, before: Entered, after: Entered, native: Unit): Made => {
  const changed = new Set(changesOf(form, before, after, native).map(({ name }) => name))
  const json: Json = {}
  const problems: Record<string, Problem> = {}
  for (const field of form.filter(({ name }) => changed.has(name))) {
    const made = entry(field, after, native)
    if (made === undefined) put(json, emptied(form, field, after), null)
    else if ("value" in made) put(json, field.name, made.value)
    else Object.assign(problems, problemsIn(field, made))
  }
  return { json, problems }
}
