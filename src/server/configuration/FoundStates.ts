// Reads what the service has in the form in which a document says it: secrets as tokens, and when an object last changed.
import { DateTime, Effect, Option, Predicate, Redacted, Schema } from "effect"
import { createHmac, createSecretKey } from "node:crypto"
import { nameOf, wantedState } from "../../domain/configuration/Comparison.ts"
import type { FoundState, WantedState } from "../../domain/configuration/Comparison.ts"
import { isMembers } from "../../domain/configuration/Document.ts"
import type { Kind, WantedObject } from "../../domain/configuration/Document.ts"
import type { Drift, Plan, Step } from "../../domain/configuration/Plan.ts"
import { NetworkId } from "../../domain/network/Network.ts"
import { Ledger } from "../ledger/Ledger.ts"
import { ApiKeys } from "../access/ApiKeys.ts"
import { Audit } from "../audit/Audit.ts"
import { Networks } from "../networks/Networks.ts"
import type { ConfiguredNetwork } from "../networks/Networks.ts"
import { Notifications } from "../notifications/Notifications.ts"
import { Relayers } from "../relayers/Relayers.ts"
import { ServiceSecrets } from "../secrets/Secrets.ts"
import { Signers } from "../signers/Signers.ts"
import type { ConfiguredSigner } from "../signers/Signers.ts"

// Compares signers: what a document says about a key, and what is stored about it. The forms differ, because a keystore is not
// stored, and a key service adds what it knows about a key.

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
const foundState = (
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

// Keyed hashes: of secrets, so that they are compared without being in a plan, and of everything that a plan is based on.

const tokenSecretName = "configuration"

/** Private keys have the same value with and without their prefix, in upper and lower case. */
const privateKey = /^(0x)?([0-9a-fA-F]{64})$/

const canonicalSecret = (secret: string): string => privateKey.exec(secret)?.[2]?.toLowerCase() ?? secret

/** Text that is equal for equal values. The order of members does not matter. */
export const stableJson = (value: unknown): string => {
  if (typeof value === "bigint") return `${value}n`
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null"
  if (Array.isArray(value)) return `[${value.map(stableJson).join()}]`
  if (value instanceof Map) return stableJson(Object.fromEntries(value))
  if (value instanceof Set) return stableJson([...value].toSorted())
  if (DateTime.isDateTime(value)) return JSON.stringify(DateTime.formatIso(value))
  const members = value as { readonly [name: string]: unknown }
  let text = ""
  for (const name of Object.keys(members).toSorted()) {
    const child = members[name]
    if (child !== undefined) text += `${text === "" ? "" : ","}${JSON.stringify(name)}:${stableJson(child)}`
  }
  return `{${text}}`
}

/** 96 bits are enough to distinguish the states of one object. */
const shortLength = 16

export const shortenedToken = (token: string): string => token.slice(0, shortLength)

export interface Tokens {
  readonly ofSecret: (secret: string) => string
  /** A keyed hash of a value that may contain a secret, such as a list of URLs. */
  readonly ofValue: (value: unknown) => string
  readonly digest: (value: unknown) => string
}

const tokensOf = (text: string): Tokens => {
  // With a key that is not a `KeyObject`, Node needs three times as long.
  const key = createSecretKey(text, "utf8")
  const hash = (use: string, text: string) => createHmac("sha256", key).update(use).update(text).digest("base64url")
  return {
    ofSecret: (secret) => hash("secret\n", canonicalSecret(secret)),
    ofValue: (value) => hash("value\n", stableJson(value)),
    digest: (value) => hash("digest\n", stableJson(value))
  }
}

/** All instances have the same key. */
export const makeTokens = Effect.map(ServiceSecrets, ({ get }) => ({
  load: Effect.map(get(tokenSecretName), tokensOf)
}))

/** The identity of an object. */
export interface Name {
  readonly kind: Kind
  readonly id: string
}

/** An object of the document, decoded and in the form that is compared. */
export interface Compared {
  readonly object: WantedObject
  readonly state: WantedState
  /** The state as text that is equal for equal states. */
  readonly text: string
}

/** What is read, and for which document. */
export interface Selection {
  readonly names: ReadonlyArray<Name> | "all"
  readonly wanted: ReadonlyMap<string, Compared>
  /** Relayers whose open transactions and channels are counted, because the plan may delete them. */
  readonly deletable: (name: string) => boolean
  readonly tokens: Tokens
  /** Whether the rows stay locked until the running transaction ends. */
  readonly lock: boolean
}

const isNetworkId = Schema.is(NetworkId)

const without = (fields: object, ...names: ReadonlyArray<string>) =>
  Object.fromEntries(Object.entries(fields).filter(([name, value]) => value !== undefined && !names.includes(name)))

/** A built-in network is compared with what comes with the service, in the fields that are overridden before or afterwards. */
const networkFields = ({ own, builtin }: ConfiguredNetwork, wanted: WantedState | undefined) => {
  const fields = own === undefined ? {} : without(own, "name", "network_type")
  if (builtin === undefined) return fields
  const given = without(builtin, "name", "network_type")
  const names = Object.keys(wanted?.fields ?? {}).filter((name) => name in given)
  return { ...Object.fromEntries(names.map((name) => [name, given[name]])), ...fields }
}

const none: ReadonlyMap<string, string> = new Map()

/** Relayers are read first: a change of a relayer locks the relayer before its notification. */
export const make = Effect.gen(function* () {
  const relayers = yield* Relayers
  const networks = yield* Networks
  const notifications = yield* Notifications
  const signers = yield* Signers
  const keys = yield* ApiKeys
  const ledger = yield* Ledger

  return Effect.fn("FoundStates.read")(function* ({ names, wanted, deletable, tokens, lock }: Selection) {
    const idsOf = (kind: Kind) =>
      names === "all" ? names : [...new Set(names.filter((name) => name.kind === kind).map(({ id }) => id))].toSorted()
    const networkIds = idsOf("networks")
    const comparedWith = (kind: Kind, id: string) => wanted.get(nameOf({ kind, id }))
    const found: Array<FoundState> = []
    for (const { id, number, address, request } of yield* relayers.configured(idsOf("relayers"), lock)) {
      const name = { kind: "relayers" as const, id }
      const object = { ...name, request, marks: new Map<string, "stored">(), managesPaused: true }
      const { fields } = wantedState(object, tokens.ofSecret)
      const isDeletable = deletable(nameOf(name))
      const openTransactions = isDeletable ? yield* ledger.countOpen(number) : 0
      const channels = isDeletable ? yield* ledger.countChannels(address) : 0
      found.push({
        ...name,
        fields,
        secrets: none,
        owner: undefined,
        openTransactions,
        channels,
        remark: `address ${address}`
      })
    }
    for (const network of yield* networks.configured(
      networkIds === "all" ? networkIds : networkIds.filter(isNetworkId),
      lock
    )) {
      const { id, builtin } = network
      const fields = networkFields(network, comparedWith("networks", id)?.state)
      found.push({ kind: "networks", id, fields, secrets: none, owner: undefined, isBuiltin: builtin !== undefined })
    }
    for (const { notification, signingKey } of yield* notifications.configured(idsOf("notifications"), lock)) {
      const secrets = Option.match(signingKey, {
        onNone: () => none,
        onSome: (key) => new Map([["signing_key", tokens.ofSecret(Redacted.value(key))]])
      })
      const fields = without(notification, "id", "has_signing_key", "managed_by")
      found.push({ kind: "notifications", id: notification.id, fields, secrets, owner: undefined })
    }
    for (const signer of yield* signers.configured(idsOf("signers"), lock)) {
      found.push(foundState(signer, comparedWith("signers", signer.signer.id), tokens.ofSecret))
    }
    for (const key of yield* keys.configured(idsOf("api_keys"), lock)) {
      const { name, scopes, relayer_ids, expires_at, transaction_limits } = key
      const fields = without({ name, scopes, relayer_ids, expires_at, transaction_limits })
      found.push({ kind: "api_keys", id: key.id, fields, secrets: none, owner: undefined })
    }
    return found
  })
})

// The last change of objects: when, and by which caller, according to the audit log.

/** The names of the kinds in the audit log. */
const auditResources = {
  networks: "network",
  notifications: "notification",
  signers: "signer",
  relayers: "relayer",
  api_keys: "key"
} as const satisfies Record<Kind, string>

const kindOf: ReadonlyMap<string, string> = new Map(
  Object.entries(auditResources).map(([kind, resource]) => [resource, kind])
)

interface LastChange {
  /** In ISO 8601, in UTC with milliseconds, as responses have it. */
  readonly at: string
  /** Id of the caller. */
  readonly by: string
  /** Paths of at most two names. */
  readonly fields: ReadonlyArray<string>
}

const parsedValue = (json: string | null): unknown => (json === null ? undefined : JSON.parse(json))

/** The members in which two values differ. Empty if one of them is not an object. */
const differing = (one: unknown, other: unknown): ReadonlyArray<string> => {
  if (!isMembers(one) || !isMembers(other)) return []
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])].toSorted()
  return names.filter((name) => JSON.stringify(one[name]) !== JSON.stringify(other[name]))
}

/** The paths in which two JSON texts differ: fields and members of fields. Empty if a text is missing. */
const changedFields = (before: string | null, after: string | null): ReadonlyArray<string> => {
  const [old, now] = [parsedValue(before), parsedValue(after)]
  return differing(old, now).flatMap((name) => {
    const inner = isMembers(old) && isMembers(now) ? differing(old[name], now[name]) : []
    return inner.length === 0 ? [name] : inner.map((child) => `${name}.${child}`)
  })
}

export const makeLastChanges = Effect.gen(function* () {
  const audit = yield* Audit

  /** By the names of the objects. */
  const of = Effect.fnUntraced(function* (objects: ReadonlyArray<Name>) {
    if (objects.length === 0) return new Map<string, LastChange>()
    const records = yield* audit.lastChanges(objects.map(({ kind, id }) => ({ resource: auditResources[kind], id })))
    return new Map(
      records.map(({ resource, id, at, keyId, before, after }): readonly [string, LastChange] => [
        `${kindOf.get(resource) ?? resource}.${id}`,
        { at: DateTime.formatIso(DateTime.makeUnsafe(at)), by: keyId, fields: changedFields(before, after) }
      ])
    )
  })

  /** Adds when, and by which caller, objects were changed outside of the file. */
  const withDrift = Effect.fnUntraced(function* (plan: Plan) {
    const drifted = plan.steps.filter(({ changes }) =>
      changes.some(({ origin }) => origin !== undefined && origin !== "file")
    )
    const last = yield* of(drifted)
    const names = new Set(drifted.map(nameOf))
    const driftOf = (step: Step): Drift => {
      const change = last.get(nameOf(step))
      return change === undefined ? {} : { at: change.at, by: change.by }
    }
    const steps = plan.steps.map((step) => (names.has(nameOf(step)) ? { ...step, drift: driftOf(step) } : step))
    return { ...plan, steps }
  })

  return { of, withDrift }
})
