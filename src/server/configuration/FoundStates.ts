// Reads what the service has in the form in which a document says it.
import { Effect, Option, Redacted, Schema } from "effect"
import type { FoundState, WantedState } from "../../domain/configuration/States.ts"
import { nameOf, wantedState } from "../../domain/configuration/States.ts"
import type { Kind } from "../../domain/configuration/Kinds.ts"
import type { WantedObject } from "../../domain/configuration/Wanted.ts"
import { NetworkId } from "../../domain/network/NetworkId.ts"
import { ApiKeys } from "../access/ApiKeys.ts"
import { Ledger } from "../ledger/Ledger.ts"
import { Networks } from "../networks/Networks.ts"
import type { ConfiguredNetwork } from "../networks/Networks.ts"
import { Notifications } from "../notifications/Notifications.ts"
import { Relayers } from "../relayers/Relayers.ts"
import { Signers } from "../signers/Signers.ts"
import * as SignerStates from "./SignerStates.ts"
import type { Tokens } from "./Tokens.ts"

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
      found.push(SignerStates.foundState(signer, comparedWith("signers", signer.signer.id), tokens.ofSecret))
    }
    for (const key of yield* keys.configured(idsOf("api_keys"), lock)) {
      const { name, scopes, relayer_ids, expires_at, transaction_limits } = key
      const fields = without({ name, scopes, relayer_ids, expires_at, transaction_limits })
      found.push({ kind: "api_keys", id: key.id, fields, secrets: none, owner: undefined })
    }
    return found
  })
})
