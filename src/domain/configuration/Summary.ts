// Describes a new object in a few words. A plan shows them beside the name, so that a reviewer sees its key, chain and rights.
import { maskUrl } from "../chain/Rpc.ts"
import { shown } from "./Comparison.ts"
import type { Kind } from "./Kinds.ts"
import { nameOf } from "./States.ts"
import type { WantedState } from "./States.ts"
import { isMembers } from "./Wanted.ts"

/** How many entries of a list a summary shows. */
const maxShown = 5

/** By type of signer: the configuration fields that name its key. Other types have no such field. */
const keyNames: Readonly<Record<string, ReadonlyArray<string>>> = {
  aws_kms: ["region", "key_id"],
  azure_key_vault: ["vault_url", "key_name", "key_version"],
  google_cloud_kms: ["service_account.project_id", "key.project_id", "key.location", "key.key_ring_id", "key.key_id"],
  pkcs11: ["module", "token_label", "key_label"],
  turnkey: ["organization_id", "private_key_id"],
  vault: ["address", "mount_point", "key_name"],
  vault_transit: ["address", "mount_point", "key_name"]
}

/** The text of a field, by its path. If the value came from a variable, the text is that of the file. */
type TextAt = (path: string) => string | undefined

const listed = (items: ReadonlyArray<unknown>): string => {
  const more = items.length - maxShown
  return `${items.slice(0, maxShown).join(", ")}${more > 0 ? ` and ${more} more` : ""}`
}

const list = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

const labelled = (label: string, value: string | undefined): string | undefined =>
  value === undefined || value === "" ? undefined : `${label} ${value}`

const ofUrl = (url: string | undefined): string | undefined =>
  url === undefined || url.includes("${") ? url : maskUrl(url)

type Parts = ReadonlyArray<string | undefined>

const summaries: Readonly<Record<Kind, (textAt: TextAt, fields: WantedState["fields"]) => Parts>> = {
  networks: (textAt) => [labelled("from", textAt("from")), labelled("chain id", textAt("chain_id"))],
  notifications: (textAt) => [ofUrl(textAt("url"))],
  signers: (textAt) => {
    const type = textAt("type")
    return [type, ...(keyNames[type ?? ""] ?? []).map((path) => textAt(`config.${path}`))]
  },
  relayers: (textAt) => [
    `${textAt("network_type") ?? ""}:${textAt("network") ?? ""}`,
    labelled("signer", textAt("signer_id")),
    labelled("notification", textAt("notification_id"))
  ],
  api_keys: (textAt, { relayer_ids, scopes }) => [
    listed(list(scopes)),
    relayer_ids === undefined ? undefined : labelled("relayers", listed(list(relayer_ids))),
    labelled("until", textAt("expires_at"))
  ]
}

const valueAt = (value: unknown, [name, ...rest]: ReadonlyArray<string>): unknown =>
  name === undefined ? value : valueAt(isMembers(value) ? value[name] : undefined, rest)

/** `templates`: texts that are shown instead of values, by the path of the value in the document. */
export const summaryOf = (wanted: WantedState, templates: ReadonlyMap<string, string>): ReadonlyArray<string> => {
  const textAt: TextAt = (path) => {
    const value = valueAt(wanted.fields, path.split("."))
    return value === undefined ? undefined : (templates.get(`${nameOf(wanted)}.${path}`) ?? shown(value))
  }
  return summaries[wanted.kind](textAt, wanted.fields).filter((part) => part !== undefined)
}
