// The last applied forms of objects. They tell a change of the file from a change of the service.
import { DateTime } from "effect"
import { compare } from "./Comparison.ts"
import type { FoundState, WantedState } from "./States.ts"
import { isMembers } from "./Wanted.ts"

/** What an object was when the configuration was applied. URLs may contain keys, so that they are tokens as secrets are. */
export type AppliedState = Pick<FoundState, "fields" | "secrets">

/** What has changed since the configuration was applied: the file, the service, or both, each in its own way. */
export type Origin = "file" | "drift" | "both"

type TokenOf = (value: unknown) => string

/** Fields whose values may contain keys, with the kinds that have them. */
const hidden = /^(networks|relayers)\.(custom_)?rpc_urls$|^notifications\.url$/

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
    if (!hidden.test(`${state.kind}.${name}`)) return true
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
export const ofWanted = (wanted: WantedState, found: FoundState | undefined, tokenOf: TokenOf): AppliedState => {
  const { fields, secrets } = hashed(withKept(wanted, found), tokenOf)
  const { paused, ...others } = fields
  return { fields: wanted.managesPaused && paused !== undefined ? { ...others, paused } : others, secrets }
}

/** `change.at` itself, a part of it, or the whole around it. */
const concerns = (path: string, other: string): boolean =>
  path === other || path.startsWith(`${other}.`) || other.startsWith(`${path}.`)

const none: ReadonlyMap<string, string> = new Map()

/** Says for each changed path what has changed since the configuration was applied. */
export const origins = (
  applied: AppliedState,
  wanted: WantedState,
  found: FoundState,
  tokenOf: TokenOf
): ((path: string) => Origin) => {
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
