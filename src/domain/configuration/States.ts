// The configured form of objects: what a document says about an object, and what the service has. Secrets are only tokens.
import { DateTime, Redacted, Result } from "effect"
import { isMasked, maskUrl, unmask } from "../chain/Rpc.ts"
import type { RpcConfig } from "../chain/Rpc.ts"
import type { Violation } from "../request/Violations.ts"
import type { Kind } from "./Kinds.ts"
import { isMembers } from "./Wanted.ts"
import type { WantedObject } from "./Wanted.ts"

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

const determined: ReadonlySet<string> = new Set(["id"])
const determinedOfNetworks: ReadonlySet<string> = new Set(["name", "network_type"])

/** What a document says about an object. `tokenOf` is a keyed hash. */
export const wantedState = (object: WantedObject, tokenOf: (secret: string) => string): WantedState => {
  const { kind, id, request, marks, managesPaused } = object
  const secrets = new Map<string, string>()
  const hidden = kind === "networks" ? determinedOfNetworks : determined
  const plain = separate(request, "", { secrets, marked: (path) => marks.has(path) }, tokenOf)
  const fields = Object.fromEntries(Object.entries(isMembers(plain) ? plain : {}).filter(([name]) => !hidden.has(name)))
  const kept = new Set([...marks].filter(([, mark]) => mark === "stored").map(([path]) => path))
  return { kind, id, fields, secrets, kept, managesPaused }
}

const urlFields = ["rpc_urls", "custom_rpc_urls"]

const isConfigs = (value: unknown): value is ReadonlyArray<RpcConfig> =>
  Array.isArray(value) && value.every((item) => isMembers(item) && typeof item["url"] === "string")

/** Puts stored URLs in the places of masked ones. */
export const unmasked = (
  wanted: WantedState,
  found: FoundState | undefined
): Result.Result<WantedState, ReadonlyArray<Violation>> => {
  const violations: Array<Violation> = []
  const fields: Record<string, unknown> = { ...wanted.fields }
  for (const name of urlFields) {
    const given = fields[name]
    const stored = found?.fields[name]
    if (!isConfigs(given)) continue
    const urls = unmask(name, given, isConfigs(stored) ? stored : [])
    if (Result.isSuccess(urls)) fields[name] = urls.success
    else violations.push(...urls.failure)
  }
  const { url } = fields
  if (wanted.kind === "notifications" && typeof url === "string" && isMasked(url)) {
    const stored = found?.fields["url"]
    if (typeof stored === "string" && maskUrl(stored) === url) fields["url"] = stored
    else
      violations.push({ field: "url", message: "is masked, and the stored URL has another mask: send the URL itself" })
  }
  return violations.length === 0 ? Result.succeed({ ...wanted, fields }) : Result.fail(violations)
}
