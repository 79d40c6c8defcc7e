// Compares signers: what a document says about a key, and what is stored about it. The forms differ, because a keystore is not
// stored, and a key service adds what it knows about a key.
import { Option, Predicate, Redacted } from "effect"
import type { FoundState, WantedState } from "../../domain/configuration/States.ts"
import type { WantedObject } from "../../domain/configuration/Wanted.ts"
import type { ConfiguredSigner } from "../signers/Signers.ts"

type Members = { readonly [name: string]: unknown }

const membersOf = (value: unknown): Members => (Predicate.isObject(value) && !Array.isArray(value) ? value : {})

/** What the service finds out about a key when it creates the signer. */
const derived: ReadonlySet<string> = new Set([
  "key_arn",
  "kid",
  "key_version_name",
  "algorithm",
  "protection_level",
  "token_serial"
])

/** What the service fills in if a request leaves it out. */
const filled: Readonly<Record<string, ReadonlyArray<string>>> = {
  pkcs11: ["key_id"],
  azure_key_vault: ["auth_type", "key_version"]
}

/** A stored URL of Key Vault is an origin. */
const isSameOrigin = (wanted: unknown, found: unknown): boolean =>
  typeof wanted === "string" && typeof found === "string" && URL.parse(wanted)?.origin === found

/** The stored configuration in the form of a request. */
const configOf = ({ type, config }: ConfiguredSigner["signer"], wanted: Members): Members => {
  const fields = Object.entries(membersOf(config)).filter(
    ([name]) => !derived.has(name) && (wanted[name] !== undefined || filled[type]?.includes(name) !== true)
  )
  return Object.fromEntries(
    fields.map(([name, value]) => [
      name,
      name === "vault_url" && isSameOrigin(wanted[name], value) ? wanted[name] : value
    ])
  )
}

const parsed = (text: string): Members => {
  try {
    return membersOf(JSON.parse(text))
  } catch {
    return {}
  }
}

/** The stored secrets by their paths in a request. */
export const secretsOf = ({ signer: { type }, secret }: ConfiguredSigner): ReadonlyMap<string, string> => {
  if (Option.isNone(secret)) return new Map()
  const text = Redacted.value(secret.value)
  if (type === "plain" || type === "local") return new Map([["config.key", text]])
  if (type === "pkcs11") return new Map([["config.pin", text]])
  const { credentials, ...login } = parsed(text)
  const of = (members: Members, prefix: string) =>
    Object.entries(members).map(([name, value]) => [`${prefix}.${name}`, String(value)] as const)
  return new Map([...of(login, "config"), ...of(membersOf(credentials), "config.service_account")])
}

/** The evm address that a keystore names. It may name none. */
const addressOf = (keystore: unknown): string | undefined => {
  if (!Redacted.isRedacted(keystore)) return undefined
  const { address } = parsed(String(Redacted.value(keystore)))
  return typeof address === "string" ? address.toLowerCase().replace(/^0x/, "") : undefined
}

/** A keystore is not opened for a plan: it is another key if it names another address. */
const isOtherKey = (wanted: WantedObject, { signer }: ConfiguredSigner): boolean => {
  const named = addressOf(membersOf(wanted.request["config"])["keystore"])
  const { evm } = membersOf(signer.addresses)
  return named !== undefined && typeof evm === "string" && evm.toLowerCase() !== `0x${named}`
}

/** The accounts of the key, and what the key service says about it. */
const remarkOf = ({ addresses, config }: ConfiguredSigner["signer"]): string =>
  [
    ...Object.entries(addresses).map(([type, address]) => `${type} ${String(address)}`),
    ...Object.entries(membersOf(config)).flatMap(([name, value]) =>
      derived.has(name) ? [`${name} ${String(value)}`] : []
    )
  ].join(", ")

/** `wanted` absent: the document does not have the signer. */
export const foundState = (
  found: ConfiguredSigner,
  wanted: { readonly object: WantedObject; readonly state: WantedState } | undefined,
  tokenOf: (secret: string) => string
): FoundState => {
  const { signer } = found
  const isStored = signer.type === "plain" || signer.type === "local"
  const secrets = new Map([...secretsOf(found)].map(([path, secret]) => [path, tokenOf(secret)]))
  if (signer.type === "local" || wanted?.state.secrets.has("config.key") !== true) secrets.delete("config.key")
  if (wanted !== undefined && signer.type === "local" && !isOtherKey(wanted.object, found)) {
    for (const [path, token] of wanted.state.secrets) secrets.set(path, token)
  }
  const wantedConfig = membersOf(wanted?.state.fields["config"])
  const config = configOf(signer, wantedConfig)
  return {
    kind: "signers",
    id: signer.id,
    fields: { type: signer.type, ...(Object.keys(config).length === 0 ? {} : { config }) },
    secrets,
    owner: undefined,
    hasOnlyCopyOfKey: isStored,
    remark: remarkOf(signer)
  }
}
