// Relayers of OpenZeppelin Relayer: `relayers` of config.json.
import { builtin } from "../../../server/networks/builtin.ts"
import * as Imported from "../Imported.ts"
import { fields, path as at } from "../Source.ts"
import type { Fields } from "../Source.ts"
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

/** Whether the signer of a relayer is in the document. */
const hasSigner = (
  id: string,
  signerId: string,
  type: string,
  place: string,
  known: ImportedReferences,
  { report }: Input
): boolean => {
  const signer = known.signers.get(signerId)
  if (signer?.outcome === "dropped") {
    report.add(place, "dropped", `${id}: its signer ${signerId} cannot be imported`)
    return false
  }
  if (signer === undefined || signer.outcome === "invalid") {
    const why = signer === undefined ? `no signer with this id: ${signerId}` : `its signer ${signerId} is left out`
    report.add(at(place, "signer_id"), "invalid", why)
    return false
  }
  if (signer.type === "vault_transit" && type === "evm") {
    report.add(
      at(place, "signer_id"),
      "invalid",
      "a signer of the type vault_transit has an ed25519 key: it cannot sign for evm"
    )
    return false
  }
  return true
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

const importOne = (source: Fields, known: ImportedReferences, input: Input) => {
  const id = source.text("id") ?? ""
  const type = source.text("network_type") ?? ""
  const network = source.text("network") ?? ""
  const signerId = source.text("signer_id") ?? ""
  if (!hasSigner(id, signerId, type, source.at, known, input)) return
  const networkId = `${type}:${network}`
  const hasNetwork = known.networks.get(networkId) ?? builtin.some((found) => found.id === networkId)
  if (!hasNetwork && known.networks.has(networkId)) {
    input.report.add(source.at, "dropped", `${id}: its network ${network} is left out`)
    return
  }
  if (!hasNetwork) {
    input.report.add(at(source.at, "network"), "invalid", `no ${type} network of this name: ${network}`)
    return
  }
  const policies = policiesOf(source, type, input)
  const urls = source.list("custom_rpc_urls")
  const custom = urls.length === 0 ? undefined : rpcUrls(urls, at(source.at, "custom_rpc_urls"), [id], input)
  const given = source.take("paused")
  if (given !== undefined && typeof given !== "boolean") {
    input.report.add(at(source.at, "paused"), "invalid", "expected true or false")
  }
  const wasPaused = given === true
  const paused = input.keepPausedState ? wasPaused : true
  if (paused && !wasPaused) {
    const message = `${id} is imported paused; resume it after the old service has stopped (--keep-paused-state imports false)`
    input.report.add(at(source.at, "paused"), "note", message)
    input.remarks.push({ target: ["relayers", id, "paused"], text: "resume it after the old service has stopped" })
  }
  const notification = notificationOf(source, known, input)
  const body = {
    name: source.text("name"),
    network_type: type,
    network,
    paused,
    signer_id: signerId,
    ...(notification === undefined ? {} : { notification_id: notification }),
    ...(custom === undefined ? {} : { custom_rpc_urls: custom }),
    ...(policies === undefined ? {} : { policies })
  }
  source.end()
  Imported.add(input, "relayers", id, body, source.at)
}

export const importRelayers = (relayers: ReadonlyArray<Placed>, known: ImportedReferences, input: Input) => {
  for (const { at: place, value } of relayers) importOne(fields(value, place, input.report), known, input)
}
