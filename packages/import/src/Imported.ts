// The document that an import writes, with the secrets that it moves out of the input. Objects that the service would refuse are reported and left out.
import { Redacted, Result, Schema } from "effect"
import { SigningKey } from "../../../src/domain/notification/Notification.ts"
import { decodeObject, idViolation, isMembers } from "../../../src/domain/configuration/Document.ts"
import type { Kind } from "../../../src/domain/configuration/Document.ts"
import { variableName } from "../../../src/domain/configuration/Reference.ts"
import type { Remark } from "../../../src/cli/configuration/Export.ts"
import { hostToAllow } from "./Source.ts"
import type { Report } from "./Source.ts"

export interface Document {
  readonly version: 1
  readonly name: string
  readonly networks: Map<string, object>
  readonly signers: Map<string, object>
  readonly notifications: Map<string, object>
  readonly relayers: Map<string, object>
  readonly api_keys: Map<string, object>
}

export const empty = (name: string): Document => ({
  version: 1,
  name,
  networks: new Map(),
  signers: new Map(),
  notifications: new Map(),
  relayers: new Map(),
  api_keys: new Map()
})

/** The document as plain values. API keys are left out if there are none. */
export const toPlain = ({ version, name, ...sections }: Document): Record<string, unknown> => ({
  version,
  name,
  ...Object.fromEntries(
    Object.entries(sections)
      .filter(([kind, objects]) => kind !== "api_keys" || objects.size > 0)
      .map(([kind, objects]) => [kind, Object.fromEntries(objects)])
  )
})

/** Whether the document has no object. */
export const isEmpty = ({ api_keys, networks, notifications, relayers, signers }: Document): boolean =>
  [api_keys, networks, notifications, relayers, signers].every(({ size }) => size === 0)

/** An id of the letters, digits, dashes and underscores of a text. */
export const idOf = (text: string, otherwise: string): string => {
  const id = text
    .normalize("NFKD")
    .replace(/[^A-Za-z0-9_-]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 36)
  return id === "" ? otherwise : id
}

/** A valid id in the place of one that is none. Networks keep their type, which decides what their fields are. */
const idLike = (kind: Kind, id: string): string => {
  const type = /^(evm|solana|stellar):/u.exec(id)?.[1] ?? "evm"
  return kind === "networks" ? `${type}:some` : "some-id"
}

/** A valid URL in the place of one that is not in the document. */
const someUrl = "https://rpc.example.com"

/** A value for a variable that is a part of a text: only the rest of the text can be checked. */
const someVariable = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g

const isReference = (value: unknown): boolean =>
  isMembers(value) && ["env", "file", "mnemonic"].some((name) => Object.hasOwn(value, name))

/** References and variables replaced by values that are valid if the reference is, and without fields that are absent. */
const checkable = (value: unknown, name: string): unknown => {
  if (isReference(value)) return name === "url" ? someUrl : { stored: true }
  if (Array.isArray(value)) return value.map((item) => checkable(item, name))
  if (isMembers(value)) {
    const present = Object.entries(value).filter(([, child]) => child !== undefined)
    return Object.fromEntries(present.map(([key, child]) => [key, checkable(child, key)]))
  }
  return value
}

/** The variables in texts. `$${` stands for the characters `${`. */
export const variablesIn = (value: unknown): ReadonlyArray<string> => {
  if (typeof value === "string") {
    return [...value.replaceAll("$${", "").matchAll(someVariable)].map(([, name = ""]) => name)
  }
  if (Array.isArray(value)) return value.flatMap(variablesIn)
  return isMembers(value) ? Object.values(value).flatMap(variablesIn) : []
}

/** All variables that a document reads: those in texts, and those of references. */
export const readVariables = (value: unknown): ReadonlyArray<string> => {
  if (Array.isArray(value)) return value.flatMap(readVariables)
  if (!isMembers(value)) return variablesIn(value)
  const { env, ...others } = value
  return [...(typeof env === "string" ? [env] : readVariables(env)), ...Object.values(others).flatMap(readVariables)]
}

/** The files of the references in a document. */
export const referencedFiles = (value: unknown): ReadonlyArray<string> => {
  if (Array.isArray(value)) return value.flatMap(referencedFiles)
  if (!isMembers(value)) return []
  const { file, ...others } = value
  return [...(typeof file === "string" ? [file] : []), ...Object.values(others).flatMap(referencedFiles)]
}

/** Fields whose URLs the service calls. */
const calledFields: ReadonlySet<string> = new Set(["url", "horizon_url", "address"])

const calledUrls = (value: unknown, moved: ReadonlyMap<string, string>): ReadonlyArray<string> => {
  if (Array.isArray(value)) return value.flatMap((item) => calledUrls(item, moved))
  if (!isMembers(value)) return []
  return Object.entries(value).flatMap(([name, child]) => {
    if (!calledFields.has(name)) return calledUrls(child, moved)
    const url = isMembers(child) ? moved.get(String(child["env"])) : child
    return typeof url === "string" ? [url] : []
  })
}

/** Hosts of the document that OUTBOUND_ALLOW has to name. `moved`: values by the names of their variables. */
export const hostsToAllow = (
  { networks, notifications, relayers, signers }: Document,
  moved: ReadonlyMap<string, string>
): ReadonlyArray<string> => {
  const hosts = (section: ReadonlyMap<string, object>, httpsOnly: boolean) =>
    calledUrls([...section.values()], moved).map((url) => hostToAllow(url, httpsOnly))
  const all = [
    ...[networks, relayers, signers].flatMap((section) => hosts(section, false)),
    ...hosts(notifications, true)
  ]
  return [...new Set(all.filter((host) => host !== undefined))]
}

export interface Context {
  /** Names such as `signers.hot` that objects of the input have, also those that are left out. */
  readonly taken: Set<string>
  readonly document: Document
  readonly report: Report
  readonly secrets: Secrets
  /** Ids of relayers that are imported paused, although they were not. */
  readonly paused: Array<string>
  /** Comments of what the document cannot say, such as the account of a relayer. */
  readonly remarks: Array<Remark>
}

const valueAt = (body: unknown, field: string): unknown =>
  field === ""
    ? body
    : field
        .split(".")
        .reduce<unknown>((value, name) => (value instanceof Object ? Reflect.get(value, name) : value), body)

/** What to write in the place of an empty text, if its length is all that the decoder says. Shipped examples have such texts. */
const emptyMessages: Readonly<Record<string, string>> = {
  "notifications.url": "is empty, and should be the https URL of the receiver",
  "relayers.name": "is empty, and should be 1 to 256 characters"
}

/** Whether the id is there, and no other object of the input has it. Otherwise reports that, and what else is wrong with the object can still be read. */
export const isOwnId = ({ report, taken }: Context, kind: Kind, id: string, at: string): boolean => {
  const name = `${kind}.${id}`
  if (id === "") report.refuse(`${at}.id`, "is required")
  else if (taken.has(name)) report.refuse(`${at}.id`, `the id ${id} is here twice: ${report.leftOut("this one")}`)
  else {
    taken.add(name)
    return true
  }
  return false
}

/**
 * Why a list of receivers without an entry is not written after entries were left out: it is not the list of the old service, and a list
 * that is absent would allow every receiver.
 */
export const noReceivers = "no entry is left, and an empty list allows no receiver but the relayer's own address"

const isSigningKey = Schema.is(Schema.toType(SigningKey))

/** Reports a signing key that the service would refuse. A value that is not known here is checked by the plan. */
export const checkSigningKey = (value: string | undefined, at: string, id: string, { report }: Context): boolean => {
  if (value === undefined || isSigningKey(Redacted.make(value))) return true
  report.add(at, "invalid", `expected 32 to 512 characters, and base64 after whsec_: ${report.leftOut(id)}`)
  return false
}

/**
 * Adds an object to the document if the service would accept it. Otherwise reports what is wrong at its place in the input;
 * `placeOf` translates a field of the document into one of the input.
 */
export const add = (
  { document, report, secrets }: Context,
  kind: Kind,
  id: string,
  body: object,
  at: string,
  placeOf: (field: string) => string = (field) => field
): boolean => {
  const section = document[kind]
  // The rest is checked with another id. That an id is absent is said before.
  const wrongId = id === "" ? undefined : idViolation(kind, id)
  const checkedId = id === "" || wrongId !== undefined ? idLike(kind, id) : id
  const decoded = decodeObject(kind, checkedId, checkable(body, ""))
  const found = Result.isSuccess(decoded) ? [] : decoded.failure
  const violations = [
    ...(wrongId === undefined ? [] : [{ field: kind === "networks" ? "" : "id", message: wrongId }]),
    // What a variable contains is checked by the plan.
    ...found.filter(({ field }) => variablesIn(valueAt(body, field)).length === 0)
  ]
  if (violations.length === 0) {
    // Without the field that the old service does not know, the object may allow more. The first of an id stays.
    if (report.isRefused(at) || section.has(id) || id === "") return false
    for (const name of variablesIn(body)) secrets.need(name)
    section.set(id, body)
    return true
  }
  for (const { field, message } of violations) {
    const place = placeOf(field)
    const why = isMembers(body) && body[field] === "" ? emptyMessages[`${kind}.${field}`] : undefined
    report.add(place === "" ? at : `${at}.${place}`, "invalid", `${why ?? message}: ${report.leftOut(id)}`)
  }
  return false
}

/** At most so many ids are named in a note. */
const maxNamed = 5

/** Some of the ids, and how many more there are. */
export const named = (ids: ReadonlyArray<string>): string =>
  ids.length <= maxNamed ? ids.join(", ") : `${ids.slice(0, maxNamed).join(", ")} and ${ids.length - maxNamed} more`

/** One note about all relayers that are imported paused. */
export const notePaused = ({ document, paused, report }: Context, how: string) => {
  const imported = paused.filter((id) => document.relayers.has(id))
  if (imported.length === 0) return
  const [what, it] = imported.length === 1 ? ["is", "it"] : ["are", "them"]
  const message = `${named(imported)} ${what} imported paused; resume ${it} after the old service has stopped${how}`
  report.add("relayers", "note", message)
}

/** For an object that is left out: reports what else is wrong with it, and nothing else. */
export const onlyProblems = <C extends Context>(context: C): C => ({
  ...context,
  document: empty(""),
  paused: [],
  remarks: [],
  report: {
    ...context.report,
    add: (place, code, message) => {
      if (code === "invalid") context.report.add(place, code, message)
    }
  }
})

export const unescaped = (text: string): string => text.replaceAll("$${", () => "${")

export interface Secrets {
  /** Values by the names of their variables, for the file of secrets. */
  readonly moved: ReadonlyMap<string, string>
  /** The name of the variable. Another value under the same name gets a number. */
  readonly move: (parts: ReadonlyArray<string | number>, value: string) => string
  /** Names of all variables that the written document reads. */
  readonly needed: ReadonlySet<string>
  readonly need: (name: string) => void
}

/** A name of an environment variable, made of the parts. */
const variableOf = (parts: ReadonlyArray<string | number>): string => {
  const name = parts
    .join("_")
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, "_")
    .slice(0, 120)
  return /^[A-Z_]/.test(name) ? name : `_${name}`
}

/** `${NAME}` of a file that is a template, which another program fills in: no text of a running service contains it. */
const template = /(?<!\$)\$\{([A-Za-z_][A-Za-z0-9_]{0,127})\}/gu

/**
 * Texts of a service without variables. `${NAME}` stays a variable, because such a file is a template. Any other `${` is written as `$${`, so
 * that the loader of the file reads it as it was.
 */
export const escaped = (text: string): string => {
  const rest = text
    .split(template)
    .map((part, index) => (index % 2 === 1 ? `\${${part}}` : part.replaceAll("${", () => "$${")))
  return rest.join("")
}

/** The variable of `${NAME}` alone. */
export const wholeVariable = (text: string): string | undefined => {
  const name = /^\$\{([^}]+)\}$/u.exec(text)?.[1]
  return name !== undefined && variableName.test(name) ? name : undefined
}

interface Options {
  /** Gives the text of a secret as it was in the input: files of secrets have no variables. */
  readonly original?: (text: string) => string
  /** Names of variables of the input: a value that is moved must not get the name of another one. */
  readonly taken?: ReadonlySet<string>
}

export const makeSecrets = ({ original = (text) => text, taken = new Set() }: Options = {}): Secrets => {
  const moved = new Map<string, string>()
  const needed = new Set<string>()
  return {
    moved,
    needed,
    need: (name) => void needed.add(name),
    move: (parts, given) => {
      const value = original(given)
      const base = variableOf(parts)
      let name = base
      for (
        let next = 2;
        (moved.has(name) && moved.get(name) !== value) || (!moved.has(name) && (needed.has(name) || taken.has(name)));
        next += 1
      ) {
        name = `${base}_${next}`
      }
      moved.set(name, value)
      needed.add(name)
      return name
    }
  }
}

/**
 * The quote around a value in a file of variables, so that `.env` readers read the exact value, and shells too if that is possible. Undefined: there
 * is none, because the value has all of them, or the return of a line break, which readers remove.
 */
const quoteOf = (value: string): string | undefined => {
  const isWithout = (...parts: ReadonlyArray<string>) => parts.every((part) => !value.includes(part))
  if (!isWithout("\r")) return undefined
  if (isWithout("'")) return "'"
  if (isWithout('"', "\\", "$", "`")) return '"'
  if (isWithout("`")) return "`"
  // Between double quotes, readers replace `\n`.
  return isWithout('"', "\\n") ? '"' : undefined
}

/** Whether a file of variables can have the value. */
export const isWritable = (value: string): boolean => quoteOf(value) !== undefined

/** A line per variable. Values that cannot be written are left out. */
export const secretsFile = (moved: ReadonlyMap<string, string>): string =>
  [...moved]
    .map(([name, value]) => {
      const quote = quoteOf(value)
      return quote === undefined ? "" : `${name}=${quote}${value}${quote}\n`
    })
    .join("")
