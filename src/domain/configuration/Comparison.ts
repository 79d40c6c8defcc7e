// Compares the forms of an object: what a document says, what the service has, and what was last applied.
import { DateTime, Redacted, Result } from "effect"
import { isMasked, maskUrl, unmask } from "../chain/Rpc.ts"
import type { RpcConfig } from "../chain/Rpc.ts"
import type { ChangedText, Meaning } from "../request/Change.ts"
import type { Violation } from "../request/Violations.ts"
import { isMembers, keyFields, meaningsOf } from "./Document.ts"
import type { Kind, Meanings, Members, WantedObject } from "./Document.ts"

// The configured form of objects: what a document says about an object, and what the service has. Secrets are only tokens.

type Fields = { readonly [name: string]: unknown }

/** Values of secrets by their paths, as keyed hashes. Equal tokens are equal secrets. */
type Tokens = ReadonlyMap<string, string>

export interface WantedState {
  readonly kind: Kind
  readonly id: string
  /** Without secrets, and without what the key of the object determines. */
  readonly fields: Fields
  readonly secrets: Tokens
  /** Secrets that stay as they are. */
  readonly kept: ReadonlySet<string>
  readonly managesPaused: boolean
}

export interface FoundState {
  readonly kind: Kind
  readonly id: string
  readonly fields: Fields
  readonly secrets: Tokens
  /** Name of the configuration that owns the object. */
  readonly owner: string | undefined
  /** A built-in network, whose fields are its overrides. It is never deleted. */
  readonly isBuiltin?: boolean
  /** The key of the signer exists only in the database. */
  readonly hasOnlyCopyOfKey?: boolean
  readonly openTransactions?: number
  /** What a document does not say about it, such as an address. */
  readonly remark?: string
  /** Accounts that the stellar relayer sends through, and that hold its XLM. */
  readonly channels?: number
}

/** The name of an object in messages and options: `relayers.treasury`. */
export const nameOf = ({ kind, id }: { readonly kind: Kind; readonly id: string }): string => `${kind}.${id}`

/** The type of the chains that decide how addresses are compared. Only relayers and networks have one. */
export const networkTypeOf = ({ fields, id, kind }: WantedState | FoundState): unknown =>
  kind === "networks" ? id.slice(0, id.indexOf(":")) : fields["network_type"]

/** Splits a request into plain fields and tokens of secrets. */
const separate = (
  value: unknown,
  path: string,
  found: { readonly secrets: Map<string, string>; readonly marked: (path: string) => boolean },
  tokenOf: (secret: string) => string
): unknown => {
  if (Redacted.isRedacted(value)) {
    if (!found.marked(path)) found.secrets.set(path, tokenOf(String(Redacted.value(value))))
    return undefined
  }
  if (Array.isArray(value)) return value.map((item, index) => separate(item, `${path}.${index}`, found, tokenOf))
  if (!isMembers(value) || DateTime.isDateTime(value)) return value
  const entries = Object.entries(value).map(
    ([name, child]) => [name, separate(child, path === "" ? name : `${path}.${name}`, found, tokenOf)] as const
  )
  return Object.fromEntries(entries.filter(([, child]) => child !== undefined))
}

/** What a document says about an object. `tokenOf` is a keyed hash. */
export const wantedState = (object: WantedObject, tokenOf: (secret: string) => string): WantedState => {
  const { kind, id, request, marks, managesPaused } = object
  const secrets = new Map<string, string>()
  const hidden: ReadonlyArray<string> = keyFields[kind]
  const plain = separate(request, "", { secrets, marked: (path) => marks.has(path) }, tokenOf)
  const fields = Object.fromEntries(
    Object.entries(isMembers(plain) ? plain : {}).filter(([name]) => !hidden.includes(name))
  )
  const kept = new Set([...marks].filter(([, mark]) => mark === "stored").map(([path]) => path))
  return { kind, id, fields, secrets, kept, managesPaused }
}

const isConfigs = (value: unknown): value is ReadonlyArray<RpcConfig> =>
  Array.isArray(value) && value.every((item) => isMembers(item) && typeof item["url"] === "string")

/** Puts stored URLs in the places of masked ones. */
export const unmasked = (
  wanted: WantedState,
  found: FoundState | undefined
): Result.Result<WantedState, ReadonlyArray<Violation>> => {
  const violations: Array<Violation> = []
  const fields: Record<string, unknown> = { ...wanted.fields }
  for (const [name, given] of Object.entries(wanted.fields)) {
    const as = meaningsOf(wanted.kind).get(name)?.as
    const stored = found?.fields[name]
    if (as === "providers" && isConfigs(given)) {
      const urls = unmask(name, given, isConfigs(stored) ? stored : [])
      if (Result.isSuccess(urls)) fields[name] = urls.success
      else violations.push(...urls.failure)
    } else if (as === "url" && typeof given === "string" && isMasked(given)) {
      if (typeof stored === "string" && maskUrl(stored) === given) fields[name] = stored
      else
        violations.push({ field: name, message: "is masked, and the stored URL has another mask: send the URL itself" })
    }
  }
  return violations.length === 0 ? Result.succeed({ ...wanted, fields }) : Result.fail(violations)
}

/** A difference of one field. Texts are for people. */
export interface Change extends ChangedText {
  readonly path: string
  /** Only that the value differs is known. */
  readonly isSecret: boolean
  /** What else may be said about a secret value, such as "same host". */
  readonly remark?: string
  /** The change allows more than before, or cannot be undone. */
  readonly isWarning: boolean
  /** What has changed since the configuration was applied. Absent: it was not, or the object is not its own. */
  readonly origin?: "file" | "drift" | "both"
}

/** Text that is equal for equal values. Addresses of evm have no case. */
const keyOf = (value: unknown, isEvm: boolean): string => {
  if (typeof value === "bigint" || typeof value === "number") return `n${value}`
  if (typeof value === "string")
    return isEvm && /^0x[0-9a-f]{40}$/i.test(value) ? `s${value.toLowerCase()}` : `s${value}`
  if (DateTime.isDateTime(value)) return `d${DateTime.formatIso(value)}`
  if (Array.isArray(value)) return `[${value.map((item) => keyOf(item, isEvm)).join()}]`
  if (!isMembers(value)) return String(value)
  const members = Object.entries(value).filter(([, child]) => child !== undefined)
  return `{${members
    .map(([name, child]) => `${JSON.stringify(name)}:${keyOf(child, isEvm)}`)
    .toSorted()
    .join()}}`
}

/** A value as a plan shows it. */
export const shown = (value: unknown): string => {
  if (typeof value === "string" || typeof value === "bigint") return String(value)
  if (DateTime.isDateTime(value)) return DateTime.formatIso(value)
  return JSON.stringify(value, (_, child: unknown) => (typeof child === "bigint" ? String(child) : child)) ?? ""
}

/** What identifies an entry of a list of tokens. */
const tokenKey = (value: unknown): string | undefined => {
  if (!isMembers(value)) return undefined
  const key = value["mint"] ?? value["asset"]
  return typeof key === "string" ? key : undefined
}

interface Context {
  readonly isEvm: boolean
  readonly meanings: Meanings
  readonly changes: Array<Change>
  readonly templates: ReadonlyMap<string, string>
  readonly prefix: string
}

/** Where a value is: in the object, and in the schema of its request. */
interface Place {
  readonly path: string
  readonly schemaPath: string
}

const inside = ({ path, schemaPath }: Place, name: string, schemaName = name): Place =>
  path === ""
    ? { path: name, schemaPath: schemaName }
    : { path: `${path}.${name}`, schemaPath: `${schemaPath}.${schemaName}` }

/** A plan shows this instead of a value that may have come from a variable. */
const unshown = "(not shown)"

const templateAt = (path: string, { prefix, templates }: Context): string | undefined =>
  templates.get(`${prefix}.${path}`)

/** Whether the value at the path, or a part of it, came from a variable. */
const hasTemplates = (path: string, { prefix, templates }: Context): boolean => {
  const at = `${prefix}.${path}`
  return [...templates.keys()].some((place) => place === at || place.startsWith(`${at}.`))
}

/** The value with the texts of the file in the places of what came from variables. */
const withTemplates = (value: unknown, path: string, context: Context): unknown => {
  const template = templateAt(path, context)
  if (template !== undefined) return template
  if (Array.isArray(value)) return value.map((item, index) => withTemplates(item, `${path}.${index}`, context))
  if (!isMembers(value) || DateTime.isDateTime(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, child]) => [name, withTemplates(child, `${path}.${name}`, context)])
  )
}

/** URLs of webhooks contain keys as well. */
const maskedTexts = ({ before, after }: ChangedText): ChangedText => ({
  ...(before === undefined ? {} : { before: maskUrl(before) }),
  ...(after === undefined ? {} : { after: after.includes("${") ? after : maskUrl(after) })
})

const add = (texts: ChangedText, { path, schemaPath }: Place, { changes, meanings }: Context) => {
  const meaning = meanings.get(schemaPath)
  const isSecret = meaning?.as === "url"
  changes.push({
    path,
    ...(isSecret ? maskedTexts(texts) : texts),
    isSecret,
    isWarning: meaning?.allowsMore(texts) === true
  })
}

/** A value that came from a variable is shown as in the file, and the value before it is not shown. */
const scalar = (before: unknown, after: unknown, place: Place, context: Context) => {
  const { path } = place
  const texts = {
    ...(before === undefined ? {} : { before: hasTemplates(path, context) ? unshown : shown(before) }),
    ...(after === undefined ? {} : { after: shown(withTemplates(after, path, context)) })
  }
  add(texts, place, context)
}

const hostOf = (url: string): string => URL.parse(url)?.host ?? ""

interface Provider {
  readonly url: string
  readonly weight: unknown
}

const providers = (value: unknown): ReadonlyArray<Provider> =>
  Array.isArray(value) ? value.filter(isMembers).map(({ url, weight }) => ({ url: String(url), weight })) : []

const urls = (before: unknown, after: unknown, { path }: Place, context: Context) => {
  const { changes } = context
  const old = providers(before)
  const next = providers(after)
  const hosts = new Set(old.map(({ url }) => hostOf(url)))
  for (let index = 0; index < Math.max(old.length, next.length); index += 1) {
    const [one, other] = [old[index], next[index]]
    const at = `${path}.${index}`
    if (one !== undefined && other !== undefined && one.weight !== other.weight) {
      const weights = { before: shown(one.weight), after: shown(other.weight) }
      changes.push({ path: `${at}.weight`, ...weights, isSecret: false, isWarning: false })
    }
    if (one?.url === other?.url) continue
    const isNew = other !== undefined && !hosts.has(hostOf(other.url))
    const isSameHost = one !== undefined && other !== undefined && hostOf(one.url) === hostOf(other.url)
    const template = templateAt(`${at}.url`, context) ?? templateAt(at, context)
    changes.push({
      path: `${at}.url`,
      ...(one === undefined ? {} : { before: template === undefined ? maskUrl(one.url) : unshown }),
      ...(other === undefined ? {} : { after: template ?? maskUrl(other.url) }),
      isSecret: true,
      ...(isSameHost ? { remark: "same host" } : isNew ? { remark: "new host" } : {}),
      isWarning: isNew
    })
  }
}

const sets = (before: ReadonlyArray<unknown>, after: ReadonlyArray<unknown>, place: Place, context: Context) => {
  const { path } = place
  const keyed = (list: ReadonlyArray<unknown>, textOf: (item: unknown, index: number) => string) =>
    new Map(list.map((item, index) => [keyOf(item, context.isEvm), textOf(item, index)]))
  const old = keyed(before, hasTemplates(path, context) ? () => unshown : shown)
  const next = keyed(after, (item, index) => shown(withTemplates(item, `${path}.${index}`, context)))
  const added = [...next].filter(([key]) => !old.has(key)).map(([, text]) => text)
  const removed = [...old].filter(([key]) => !next.has(key)).map(([, text]) => text)
  if (added.length + removed.length > 0) add({ added, removed }, place, context)
}

/** Tokens are compared by what identifies them, which their paths contain. */
const tokens = (before: ReadonlyArray<unknown>, after: ReadonlyArray<unknown>, place: Place, context: Context) => {
  const { path } = place
  const keyed = after.map((item, index) => ({ item, at: `${path}.${index}`, key: tokenKey(item) ?? String(index) }))
  const names = new Map(
    keyed.map(({ at, key }) => [key, templateAt(`${at}.mint`, context) ?? templateAt(`${at}.asset`, context) ?? key])
  )
  const byName = (list: ReadonlyArray<unknown>) =>
    Object.fromEntries(
      list.map((item, index) => {
        const key = tokenKey(item) ?? String(index)
        return [names.get(key) ?? key, item]
      })
    )
  const moved = keyed.flatMap(({ at, key }) => {
    const [from, to] = [`${context.prefix}.${at}.`, `${context.prefix}.${path}.${names.get(key) ?? key}.`]
    return [...context.templates].flatMap(([place, text]): ReadonlyArray<readonly [string, string]> =>
      place.startsWith(from) ? [[to + place.slice(from.length), text]] : []
    )
  })
  const [old, next] = [byName(before), byName(after)]
  const moving = { ...context, templates: new Map(moved) }
  for (const name of namesIn(old, next)) compareValues(old[name], next[name], inside(place, name, "*"), moving, false)
}

/** Empty policies and an empty list of URLs mean the same as their absence. */
const isAbsent = (value: unknown, as: Meaning["as"]): boolean => {
  if (value === undefined) return true
  if (Array.isArray(value)) return value.length === 0 && as === "providers"
  return isMembers(value) && Object.values(value).every((child) => child === undefined)
}

const noMembers: Members = {}

const namesIn = (one: Members, other: Members): ReadonlyArray<string> =>
  [...new Set([...Object.keys(one), ...Object.keys(other)])].toSorted()

const compareMembers = (before: Members, after: Members, place: Place, context: Context): void => {
  for (const name of namesIn(before, after)) compareValues(before[name], after[name], inside(place, name), context)
}

const isStruct = (value: unknown): value is Members => isMembers(value) && !DateTime.isDateTime(value)

/** `isDeep`: members of an object that one side does not have are compared one by one. */
const compareValues = (before: unknown, after: unknown, place: Place, context: Context, isDeep = true): void => {
  const as = context.meanings.get(place.schemaPath)?.as
  const [hasBefore, hasAfter] = [!isAbsent(before, as), !isAbsent(after, as)]
  if (!hasBefore && !hasAfter) return
  if (as === "providers") return urls(before, after, place, context)
  if (isStruct(before) && isStruct(after)) return compareMembers(before, after, place, context)
  if (isDeep && isStruct(before) && !hasAfter) return compareMembers(before, noMembers, place, context)
  if (isDeep && isStruct(after) && !hasBefore) return compareMembers(noMembers, after, place, context)
  if (Array.isArray(before) && Array.isArray(after) && (as === "set" || as === "tokens")) {
    return (as === "tokens" ? tokens : sets)(before, after, place, context)
  }
  if (hasBefore !== hasAfter || keyOf(before, context.isEvm) !== keyOf(after, context.isEvm)) {
    scalar(hasBefore ? before : undefined, hasAfter ? after : undefined, place, context)
  }
}

/** The differences of an object, in the order of their paths. */
export const compare = (
  before: FoundState,
  after: WantedState,
  templates: ReadonlyMap<string, string>
): ReadonlyArray<Change> => {
  const changes: Array<Change> = []
  const prefix = `${after.kind}.${after.id}`
  const isEvm = networkTypeOf(after) === "evm" || after.kind === "api_keys"
  const context = { isEvm, meanings: meaningsOf(after.kind), changes, templates, prefix }
  const { paused: wasPaused, ...old } = before.fields
  const { paused, ...next } = after.fields
  compareMembers(old, next, { path: "", schemaPath: "" }, context)
  if (after.managesPaused && (wasPaused ?? false) !== (paused ?? false)) {
    scalar(wasPaused ?? false, paused ?? false, { path: "paused", schemaPath: "paused" }, context)
  }
  for (const path of new Set([...before.secrets.keys(), ...after.secrets.keys()])) {
    if (after.kept.has(path) || before.secrets.get(path) === after.secrets.get(path)) continue
    changes.push({ path, isSecret: true, isWarning: context.meanings.get(path)?.allowsMore({}) === true })
  }
  return changes.toSorted((one, other) => (one.path < other.path ? -1 : one.path > other.path ? 1 : 0))
}

// The last applied forms of objects. They tell a change of the file from a change of the service.

/** What an object was when the configuration was applied. URLs may contain keys, so that they are tokens as secrets are. */
export type AppliedState = Pick<FoundState, "fields" | "secrets">

/** What has changed since the configuration was applied: the file, the service, or both, each in its own way. */
export type ChangeOrigin = "file" | "drift" | "both"

type TokenOf = (value: unknown) => string

/** Values of the last applied form are read from JSON, which has no dates. */
const plain = (value: unknown): unknown => {
  if (DateTime.isDateTime(value)) return DateTime.formatIso(value)
  if (Array.isArray(value)) return value.map(plain)
  return isMembers(value)
    ? Object.fromEntries(Object.entries(value).map(([name, child]) => [name, plain(child)]))
    : value
}

const hashed = <S extends Pick<FoundState, "kind" | "fields" | "secrets">>(state: S, tokenOf: TokenOf): S => {
  const secrets = new Map(state.secrets)
  const fields = Object.entries(state.fields).filter(([name, value]) => {
    const as = meaningsOf(state.kind).get(name)?.as
    if (as !== "providers" && as !== "url") return true
    const isEmpty = value === undefined || (Array.isArray(value) && value.length === 0)
    if (!isEmpty) secrets.set(name, tokenOf(value))
    return false
  })
  return { ...state, fields: plain(Object.fromEntries(fields)) as S["fields"], secrets }
}

/** The secrets that stay are those of the object before. */
const withKept = (wanted: WantedState, found: FoundState | undefined): WantedState => {
  const secrets = new Map(wanted.secrets)
  for (const path of wanted.kept) {
    const token = found?.secrets.get(path)
    if (token !== undefined) secrets.set(path, token)
  }
  return { ...wanted, secrets, kept: new Set() }
}

/** The form of an object that is as the document says. `found` is the object before, if there was one. */
export const appliedStateOf = (wanted: WantedState, found: FoundState | undefined, tokenOf: TokenOf): AppliedState => {
  const { fields, secrets } = hashed(withKept(wanted, found), tokenOf)
  const { paused, ...others } = fields
  return { fields: wanted.managesPaused && paused !== undefined ? { ...others, paused } : others, secrets }
}

/** `change.at` itself, a part of it, or the whole around it. */
const concerns = (path: string, other: string): boolean =>
  path === other || path.startsWith(`${other}.`) || other.startsWith(`${path}.`)

const none: ReadonlyMap<string, string> = new Map()

/** Says for each changed path what has changed since the configuration was applied. */
export const originsOf = (
  applied: AppliedState,
  wanted: WantedState,
  found: FoundState,
  tokenOf: TokenOf
): ((path: string) => ChangeOrigin) => {
  const before: FoundState = { kind: wanted.kind, id: wanted.id, owner: undefined, ...applied }
  const now = hashed(withKept(wanted, found), tokenOf)
  const service: WantedState = { ...now, ...hashed(found, tokenOf) }
  const ofFile = compare(before, now, none).map(({ path }) => path)
  const ofService = compare(before, service, none).map(({ path }) => path)
  return (path) => {
    const isDrift = ofService.some((other) => concerns(path, other))
    if (!isDrift) return "file"
    return ofFile.some((other) => concerns(path, other)) ? "both" : "drift"
  }
}
