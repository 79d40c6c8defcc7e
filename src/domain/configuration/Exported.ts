// Writes what the service has as a document: the file that would change nothing.
import { Schema } from "effect"
import { isMasked, maskUrl } from "../chain/Rpc.ts"
import * as ExactJson from "../request/ExactJson.ts"
import { nameOf } from "./Comparison.ts"
import type { FoundState } from "./Comparison.ts"
import { isMembers, kinds, meaningsOf, pausable, requests } from "./Document.ts"
import type { Kind } from "./Document.ts"

type Members = { readonly [name: string]: unknown }

/** Keeps what the service has. */
const stored = { stored: true }

const usualWeight = 100

const sorted = (members: Members): Members =>
  Object.fromEntries(Object.entries(members).toSorted(([one], [other]) => (one < other ? -1 : 1)))

/** A URL without hidden parts is written as it is: its mask may be spelled in another way. */
const shownUrl = (url: string): string => (isMasked(maskUrl(url)) ? maskUrl(url) : url)

const provider = (value: unknown): unknown => {
  if (!isMembers(value)) return value
  const { url, weight } = value
  return { url: shownUrl(String(url)), ...(weight === usualWeight ? {} : { weight }) }
}

/** URLs have their hidden parts masked, which the next plan reads as the stored ones. */
const masked = (kind: Kind, fields: Members): Members =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      const as = meaningsOf(kind).get(name)?.as
      if (as === "providers" && Array.isArray(value)) return [name, value.map(provider)]
      return [name, as === "url" ? shownUrl(String(value)) : value]
    })
  )

/** What a request without the field means: empty lists of URLs, no policy, not paused, and the only type of notifications. */
const isUsual = (kind: Kind, name: string, value: unknown): boolean => {
  if (value === undefined) return true
  if (pausable.has(kind) && name === "paused") return value === false
  if (meaningsOf(kind).get(name)?.as === "providers") return Array.isArray(value) && value.length === 0
  if (name === "policies") return isMembers(value) && Object.keys(value).length === 0
  return kind === "notifications" && name === "type"
}

const withSecret = (members: Members, [name, ...rest]: ReadonlyArray<string>): Members => {
  if (name === undefined) return members
  const inner = members[name]
  return { ...members, [name]: rest.length === 0 ? stored : withSecret(isMembers(inner) ? inner : {}, rest) }
}

/** Amounts, dates and addresses as a request has them. The request of the kind decides, so that every field of it is written. */
const encoders: Readonly<Record<Kind, (value: unknown) => unknown>> = {
  networks: Schema.encodeUnknownSync(requests.networks),
  notifications: Schema.encodeUnknownSync(requests.notifications),
  signers: (value) => value,
  relayers: Schema.encodeUnknownSync(requests.relayers),
  api_keys: Schema.encodeUnknownSync(requests.api_keys)
}

const keyOf = ({ id, kind }: Pick<FoundState, "kind" | "id">): Members => {
  if (kind !== "networks") return { id }
  const at = id.indexOf(":")
  return { network_type: id.slice(0, at), name: id.slice(at + 1) }
}

/** `JSON.stringify` keeps the digits of amounts, and the parser reads them. */
const asBody = (encoded: unknown): Members => {
  const value = ExactJson.parse(JSON.stringify(encoded))
  return isMembers(value) ? value : {}
}

/** The object as a request that would create it, without secrets. */
export const requestOf = (object: Pick<FoundState, "kind" | "id" | "fields">): Members =>
  asBody(encoders[object.kind]({ ...object.fields, ...keyOf(object) }))

/** The object as a document has it. `secrets` are the paths of those that it has. */
const bodyOf = (object: FoundState, secrets: ReadonlyArray<string>): Members => {
  const key = keyOf(object)
  const shown = Object.entries(masked(object.kind, requestOf(object))).filter(
    ([name, value]) => !(name in key) && !isUsual(object.kind, name, value)
  )
  return sorted(
    secrets.reduce((members: Members, path) => withSecret(members, path.split(".")), Object.fromEntries(shown))
  )
}

/** A built-in network belongs into a document only if it is overridden. */
const isWritten = ({ fields, isBuiltin }: FoundState): boolean => isBuiltin !== true || Object.keys(fields).length > 0

/** A key that exists only in the service is not among the secrets that are compared. */
const secretsOf = ({ fields, kind, secrets }: FoundState): ReadonlyArray<string> => {
  if (kind === "signers" && fields["type"] === "plain") return ["config.key"]
  if (kind === "signers" && fields["type"] === "local") return ["config.keystore", "config.passphrase"]
  return [...secrets.keys()].toSorted()
}

/** A key whose relayers have all been deleted can use none, which a request cannot say. */
const isSayable = ({ fields, kind }: FoundState): boolean => {
  const ids = fields["relayer_ids"]
  return kind !== "api_keys" || !Array.isArray(ids) || ids.length > 0
}

export interface Exported {
  readonly document: Members
  /** What the document does not say, by the names of objects. */
  readonly remarks: Readonly<Record<string, string>>
}

const unsaid = "is not in this file: the relayers of this key have been deleted, so that it can use none"

/** Sections and ids are in order, so that the same state gives the same bytes. */
export const make = (name: string, objects: ReadonlyArray<FoundState>): Exported => {
  const ordered = objects.filter(isWritten).toSorted((one, other) => (one.id < other.id ? -1 : 1))
  const sections = kinds.flatMap((kind) => {
    const own = ordered.filter((object) => object.kind === kind && isSayable(object))
    return own.length === 0
      ? []
      : [[kind, Object.fromEntries(own.map((object) => [object.id, bodyOf(object, secretsOf(object))]))] as const]
  })
  const remarks = ordered.flatMap((object) => {
    const remark = isSayable(object) ? object.remark : unsaid
    return remark === undefined ? [] : [[nameOf(object), remark] as const]
  })
  return { document: { version: 1, name, ...Object.fromEntries(sections) }, remarks: Object.fromEntries(remarks) }
}
