// Relayers of OpenZeppelin Relayer: `relayers` of config.json.
import { builtin } from "../../../server/networks/builtin.ts"
import * as Imported from "../Imported.ts"
import { fields, path as at } from "../Source.ts"
import type { Fields } from "../Source.ts"
import { expectedType, isNetworkType } from "./Networks.ts"
import { policiesOf } from "./Policies.ts"
import type { ImportedNetworks } from "./Networks.ts"
import { rpcUrls } from "./RpcUrls.ts"
import type { Input } from "./Input.ts"
import type { Placed } from "./Live.ts"
import type { Found } from "./Signers.ts"

interface ImportedReferences {
  readonly signers: ReadonlyMap<string, Found>
  /** Ids of all notifications of the input, with whether they are in the document. */
  readonly notifications: ReadonlyMap<string, boolean>
  readonly networks: ImportedNetworks
}

/** What becomes of a relayer by what it refers to. */
type Outcome = "imported" | "dropped" | "invalid"

const outcomeOfSigner = (
  id: string,
  signerId: string | undefined,
  type: string,
  place: string,
  known: ImportedReferences,
  { report }: Input
): Outcome => {
  // That it is required is reported with the other fields.
  if (signerId === undefined) return "invalid"
  const signer = known.signers.get(signerId)
  if (signer?.outcome === "dropped") {
    report.add(place, "dropped", `${id}: its signer ${signerId} cannot be imported`)
    return "dropped"
  }
  const isWrongCurve = signer?.type === "vault_transit" && type === "evm"
  if (signer?.outcome === "imported" && !isWrongCurve) return "imported"
  const why =
    signer === undefined
      ? `no signer with this id: ${signerId}`
      : signer.outcome === "invalid"
        ? `its signer ${signerId} is left out`
        : "a signer of the type vault_transit has an ed25519 key: it cannot sign for evm"
  report.add(at(place, "signer_id"), "invalid", why)
  return "invalid"
}

const outcomeOfNetwork = (
  id: string,
  type: string,
  network: string | undefined,
  place: string,
  { networks }: ImportedReferences,
  { report }: Input
): Outcome => {
  if (network === undefined) return "invalid"
  const networkId = `${type}:${network}`
  if (networks.get(networkId) ?? builtin.some((found) => found.id === networkId)) return "imported"
  if (networks.has(networkId)) {
    report.add(place, "dropped", `${id}: its network ${network} is left out`)
    return "dropped"
  }
  report.add(at(place, "network"), "invalid", `no ${type} network of this name: ${network}`)
  return "invalid"
}

const notificationOf = (source: Fields, known: ImportedReferences, { report }: Input): string | undefined => {
  const id = source.text("notification_id")
  if (id === undefined) return undefined
  const isImported = known.notifications.get(id)
  if (isImported === true) return id
  const place = at(source.at, "notification_id")
  if (isImported === undefined) report.add(place, "invalid", `no notification with this id: ${id}`)
  else report.add(place, "note", `${id} was left out, so the relayer has no notification`)
  return undefined
}

const importOne = (source: Fields, known: ImportedReferences, given: Input) => {
  const id = source.text("id") ?? ""
  const type = source.text("network_type")
  const network = source.text("network")
  const signerId = source.text("signer_id")
  Imported.isOwnId(given, "relayers", id, source.at)
  const isKnownType = type !== undefined && isNetworkType(type)
  if (type === undefined) given.report.add(at(source.at, "network_type"), "invalid", "is required")
  else if (!isKnownType)
    given.report.add(at(source.at, "network_type"), "invalid", `${expectedType}: ${id} is left out`)
  const ofSigner = outcomeOfSigner(id, signerId, type ?? "", source.at, known, given)
  const ofNetwork = !isKnownType ? "invalid" : outcomeOfNetwork(id, type, network, source.at, known, given)
  const isValid = ofSigner === "imported" && ofNetwork === "imported"
  readOne(source, { id, type, network, signerId }, known, isValid ? given : Imported.onlyProblems(given))
}

interface References {
  readonly id: string
  readonly type: string | undefined
  readonly network: string | undefined
  readonly signerId: string | undefined
}

const readOne = (
  source: Fields,
  { id, type, network, signerId }: References,
  known: ImportedReferences,
  input: Input
) => {
  const isKnownType = type !== undefined && isNetworkType(type)
  if (!isKnownType) source.take("policies")
  const policies = isKnownType ? policiesOf(source, type, input) : undefined
  const urls = source.list("custom_rpc_urls")
  const custom = urls.length === 0 ? undefined : rpcUrls(urls, at(source.at, "custom_rpc_urls"), [id], input)
  const isPaused = source.take("paused")
  if (isPaused !== undefined && typeof isPaused !== "boolean") {
    input.report.add(at(source.at, "paused"), "invalid", "expected true or false")
  }
  const wasPaused = isPaused === true
  const paused = input.keepPausedState ? wasPaused : true
  if (paused && !wasPaused) {
    input.paused.push(id)
    input.remarks.push({ target: ["relayers", id, "paused"], text: "resume it after the old service has stopped" })
  }
  const notification = notificationOf(source, known, input)
  const body = {
    name: source.text("name"),
    // A type that is absent or does not exist is reported before: the other fields are checked as those of some type.
    network_type: isKnownType ? type : "evm",
    network,
    paused,
    signer_id: signerId,
    ...(notification === undefined ? {} : { notification_id: notification }),
    ...(custom === undefined ? {} : { custom_rpc_urls: custom.urls }),
    ...(policies === undefined ? {} : { policies })
  }
  source.end()
  Imported.add(input, "relayers", id, body, source.at, custom?.placeOf)
}

export const importRelayers = (relayers: ReadonlyArray<Placed>, known: ImportedReferences, input: Input) => {
  for (const { at: place, value } of relayers) importOne(fields(value, place, input.report), known, input)
  Imported.notePaused(input, " (--keep-paused-state imports false)")
}
