// Compares the wanted and the found form of an object: amounts as integers, addresses by the rule of their network, lists
// of names as sets. No secret is in a change.
import { DateTime } from "effect"
import { maskUrl } from "../chain/Rpc.ts"
import { isMembers } from "./Wanted.ts"
import type { Members } from "./Wanted.ts"
import { networkTypeOf } from "./States.ts"
import type { FoundState, WantedState } from "./States.ts"

/** A difference of one field. Texts are for people; absent means that the field is absent. */
export interface Change {
  readonly path: string
  readonly before?: string
  readonly after?: string
  /** Entries of a set. */
  readonly added?: ReadonlyArray<string>
  readonly removed?: ReadonlyArray<string>
  /** Only that the value differs is known. */
  readonly isSecret: boolean
  /** What else may be said about a secret value, such as "same host". */
  readonly remark?: string
  /** The change allows more than before, or cannot be undone. */
  readonly isWarning: boolean
  /** What has changed since the configuration was applied. Absent: it was not, or the object is not its own. */
  readonly origin?: "file" | "drift" | "both"
}

const setNames = /^(scopes|relayer_ids|tags|features|whitelist_receivers|receivers|(dis)?allowed_\w+|authority_\w+)$/

/** Fields whose URLs contain keys of providers. */
const urlLists = /^(custom_)?rpc_urls$/

const lastOf = (path: string): string => path.slice(path.lastIndexOf(".") + 1)

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
  readonly changes: Array<Change>
  readonly templates: ReadonlyMap<string, string>
  readonly prefix: string
}

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

/** A value that came from a variable is shown as in the file, and the value before it is not shown. */
const scalar = (before: unknown, after: unknown, path: string, context: Context) => {
  context.changes.push({
    path,
    ...(before === undefined ? {} : { before: hasTemplates(path, context) ? unshown : shown(before) }),
    ...(after === undefined ? {} : { after: shown(withTemplates(after, path, context)) }),
    isSecret: false,
    isWarning: false
  })
}

const hostOf = (url: string): string => URL.parse(url)?.host ?? ""

interface Provider {
  readonly url: string
  readonly weight: unknown
}

const providers = (value: unknown): ReadonlyArray<Provider> =>
  Array.isArray(value) ? value.filter(isMembers).map(({ url, weight }) => ({ url: String(url), weight })) : []

const urls = (before: unknown, after: unknown, path: string, context: Context) => {
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

const sets = (before: ReadonlyArray<unknown>, after: ReadonlyArray<unknown>, path: string, context: Context) => {
  const keyed = (list: ReadonlyArray<unknown>, textOf: (item: unknown, index: number) => string) =>
    new Map(list.map((item, index) => [keyOf(item, context.isEvm), textOf(item, index)]))
  const old = keyed(before, hasTemplates(path, context) ? () => unshown : shown)
  const next = keyed(after, (item, index) => shown(withTemplates(item, `${path}.${index}`, context)))
  const added = [...next].filter(([key]) => !old.has(key)).map(([, text]) => text)
  const removed = [...old].filter(([key]) => !next.has(key)).map(([, text]) => text)
  if (added.length + removed.length > 0) {
    context.changes.push({ path, added, removed, isSecret: false, isWarning: false })
  }
}

/** Tokens are compared by what identifies them, which their paths contain. */
const tokens = (before: ReadonlyArray<unknown>, after: ReadonlyArray<unknown>, path: string, context: Context) => {
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
  compareMembers(byName(before), byName(after), path, { ...context, templates: new Map(moved) }, false)
}

/** Empty policies and an empty list of URLs mean the same as their absence. */
const isAbsent = (value: unknown, name: string): boolean => {
  if (value === undefined) return true
  if (Array.isArray(value)) return value.length === 0 && urlLists.test(name)
  return isMembers(value) && Object.values(value).every((child) => child === undefined)
}

const noMembers: Members = {}

/** `isDeep`: members of an object that one side does not have are compared one by one. */
const compareMembers = (before: Members, after: Members, path: string, context: Context, isDeep: boolean): void => {
  for (const name of [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted()) {
    compareValues(before[name], after[name], path === "" ? name : `${path}.${name}`, context, isDeep)
  }
}

const isStruct = (value: unknown): value is Members => isMembers(value) && !DateTime.isDateTime(value)

const compareValues = (before: unknown, after: unknown, path: string, context: Context, isDeep = true): void => {
  const name = lastOf(path)
  const [hasBefore, hasAfter] = [!isAbsent(before, name), !isAbsent(after, name)]
  if (!hasBefore && !hasAfter) return
  if (urlLists.test(name)) return urls(before, after, path, context)
  if (isStruct(before) && isStruct(after)) return compareMembers(before, after, path, context, true)
  if (isDeep && isStruct(before) && !hasAfter) return compareMembers(before, noMembers, path, context, true)
  if (isDeep && isStruct(after) && !hasBefore) return compareMembers(noMembers, after, path, context, true)
  if (Array.isArray(before) && Array.isArray(after) && setNames.test(name)) {
    return (name === "allowed_tokens" ? tokens : sets)(before, after, path, context)
  }
  if (hasBefore !== hasAfter || keyOf(before, context.isEvm) !== keyOf(after, context.isEvm)) {
    scalar(hasBefore ? before : undefined, hasAfter ? after : undefined, path, context)
  }
}

/** URLs of webhooks contain keys as well. */
const maskedUrl = (change: Change): Change => ({
  ...change,
  ...(change.before === undefined ? {} : { before: maskUrl(change.before) }),
  ...(change.after === undefined || change.after.includes("${") ? {} : { after: maskUrl(change.after) }),
  isSecret: true
})

/** The differences of an object, in the order of their paths. Warnings of policies are added by `Widening.ts`. */
export const compare = (
  before: FoundState,
  after: WantedState,
  templates: ReadonlyMap<string, string>
): ReadonlyArray<Change> => {
  const changes: Array<Change> = []
  const prefix = `${after.kind}.${after.id}`
  const context = { isEvm: networkTypeOf(after) === "evm" || after.kind === "api_keys", changes, templates, prefix }
  const { paused: wasPaused, ...old } = before.fields
  const { paused, ...next } = after.fields
  compareValues(old, next, "", context)
  if (after.managesPaused && (wasPaused ?? false) !== (paused ?? false)) {
    scalar(wasPaused ?? false, paused ?? false, "paused", context)
  }
  for (const path of new Set([...before.secrets.keys(), ...after.secrets.keys()])) {
    if (after.kept.has(path) || before.secrets.get(path) === after.secrets.get(path)) continue
    changes.push({ path, isSecret: true, isWarning: false })
  }
  return changes
    .map((change) => (after.kind === "notifications" && change.path === "url" ? maskedUrl(change) : change))
    .toSorted((one, other) => (one.path < other.path ? -1 : one.path > other.path ? 1 : 0))
}
