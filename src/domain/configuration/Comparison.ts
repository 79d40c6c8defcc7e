// Compares the wanted and the found form of an object: amounts as integers, addresses by the rule of their network, lists
// of names as sets. No secret is in a change.
import { DateTime } from "effect"
import { maskUrl } from "../chain/Rpc.ts"
import { isMembers } from "./Wanted.ts"
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

/** A value that came from a variable is shown as in the file, and the value before it is not shown. */
const scalar = (before: unknown, after: unknown, path: string, context: Context) => {
  const template = context.templates.get(`${context.prefix}.${path}`)
  const text = (value: unknown) => (value === undefined ? {} : { value: shown(value) })
  const old = text(before).value
  const next = template ?? text(after).value
  context.changes.push({
    path,
    ...(old === undefined ? {} : { before: template === undefined ? old : unshown }),
    ...(next === undefined ? {} : { after: next }),
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

const urls = (before: unknown, after: unknown, path: string, { changes }: Context) => {
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
    changes.push({
      path: `${at}.url`,
      ...(one === undefined ? {} : { before: maskUrl(one.url) }),
      ...(other === undefined ? {} : { after: maskUrl(other.url) }),
      isSecret: true,
      ...(isSameHost ? { remark: "same host" } : isNew ? { remark: "new host" } : {}),
      isWarning: isNew
    })
  }
}

const sets = (before: ReadonlyArray<unknown>, after: ReadonlyArray<unknown>, path: string, context: Context) => {
  const keys = (list: ReadonlyArray<unknown>) => new Map(list.map((item) => [keyOf(item, context.isEvm), shown(item)]))
  const [old, next] = [keys(before), keys(after)]
  const added = [...next].filter(([key]) => !old.has(key)).map(([, text]) => text)
  const removed = [...old].filter(([key]) => !next.has(key)).map(([, text]) => text)
  if (added.length + removed.length > 0) {
    context.changes.push({ path, added, removed, isSecret: false, isWarning: false })
  }
}

const byToken = (list: ReadonlyArray<unknown>) =>
  Object.fromEntries(list.map((item, index) => [tokenKey(item) ?? String(index), item]))

/** Empty policies and an empty list of URLs mean the same as their absence. */
const isAbsent = (value: unknown, name: string): boolean => {
  if (value === undefined) return true
  if (Array.isArray(value)) return value.length === 0 && urlLists.test(name)
  return isMembers(value) && Object.values(value).every((child) => child === undefined)
}

const compareValues = (before: unknown, after: unknown, path: string, context: Context): void => {
  const name = lastOf(path)
  const [hasBefore, hasAfter] = [!isAbsent(before, name), !isAbsent(after, name)]
  if (!hasBefore && !hasAfter) return
  if (urlLists.test(name)) return urls(before, after, path, context)
  if (isMembers(before) && isMembers(after) && !DateTime.isDateTime(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted()
    for (const child of names) {
      compareValues(before[child], after[child], path === "" ? child : `${path}.${child}`, context)
    }
    return
  }
  if (Array.isArray(before) && Array.isArray(after) && setNames.test(name)) {
    if (name !== "allowed_tokens") return sets(before, after, path, context)
    return compareValues(byToken(before), byToken(after), path, context)
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
