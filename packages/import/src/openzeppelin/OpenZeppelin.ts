// Imports the configuration of OpenZeppelin Relayer: config.json, its networks, its environment file, and the relayers of the running service,
// which reads config.json only at its first start and then changes by its API.
import { isMasked, maskUrl } from "../../../../src/domain/chain/Rpc.ts"
import { isMembers } from "../../../../src/domain/configuration/Document.ts"
import * as Imported from "../Imported.ts"
import type { Fields } from "../Source.ts"
import { fields, needOf, path as at, picked } from "../Source.ts"
import { importNetworks } from "./Networks.ts"
import { importSigners, knownSecret, secretOf } from "./Signers.ts"
import { importDotEnv } from "./Input.ts"
import type { Input, Options } from "./Input.ts"
import { importRelayers } from "./Relayers.ts"
import type { Placed } from "./Relayers.ts"

/** The ids of all notifications, with whether they are in the document. */
const importNotifications = (values: ReadonlyArray<unknown>, input: Input): ReadonlyMap<string, boolean> => {
  const found = new Map<string, boolean>()
  for (const [index, value] of values.entries()) {
    const source = fields(value, `notifications.${index}`, input.report)
    const id = source.text("id") ?? ""
    Imported.isOwnId(input, "notifications", id, source.at)
    const plain = picked(source, ["type", "url"])
    const need = typeof plain["url"] === "string" ? needOf(plain["url"], true) : undefined
    if (need !== undefined) input.report.add(at(source.at, "url"), "needs", need)
    const hasKey = Imported.checkSigningKey(
      knownSecret(source, "signing_key", input),
      at(source.at, "signing_key"),
      id,
      input
    )
    source.end("invalid")
    // The key of an object that is left out must not reach the secrets file.
    const isAdded = Imported.add(input, "notifications", id, plain, source.at)
    if (isAdded && hasKey) {
      const signing_key = secretOf(source, "signing_key", id, input)
      input.document.notifications.set(id, { ...plain, ...(signing_key === undefined ? {} : { signing_key }) })
      if (input.report.isRefused(source.at)) input.document.notifications.delete(id)
    } else if (isAdded) input.document.notifications.delete(id)
    // A second notification of an id is left out, and the first one stays.
    found.set(id, input.document.notifications.has(id))
  }
  return found
}

const pluginFields = [
  "path",
  "timeout",
  "emit_logs",
  "emit_traces",
  "raw_response",
  "allow_get_invocation",
  "config",
  "forward_logs"
]

const dropPlugins = (values: ReadonlyArray<unknown>, { report }: Input) => {
  for (const [index, value] of values.entries()) {
    const source = fields(value, `plugins.${index}`, report)
    const id = source.text("id") ?? "a plugin"
    picked(source, pluginFields)
    source.end()
    report.add(
      source.at,
      "dropped",
      `${id}: plugins do not exist here; call the API from your program, or embed the service`
    )
  }
}

/** The names of all variables that the configuration reads. */
export const variablesOf = (value: unknown): ReadonlyArray<string> => {
  if (Array.isArray(value)) return value.flatMap(variablesOf)
  if (!isMembers(value)) return []
  const { type, value: name } = value
  return type === "env" && typeof name === "string" ? [name] : Object.values(value).flatMap(variablesOf)
}

const usedNetworks = (relayers: ReadonlyArray<Placed>): ReadonlySet<string> =>
  new Set(
    relayers.flatMap(({ value }) => {
      const { network, network_type } = Object(value) as Record<string, unknown>
      return typeof network === "string" ? [`${String(network_type)}:${network}`] : []
    })
  )

/** `live`: the relayers of the running service. Absent: those of the file are imported. */
export const importConfiguration = (
  source: Fields,
  context: Imported.Context,
  options: Options & Pick<Input, "named">,
  live?: ReadonlyArray<unknown>
) => {
  const input: Input = { ...context, ...options, keystores: new Map() }
  const inFile = placed(source.list("relayers"))
  const relayers = live === undefined ? inFile : ofLive(live, inFile, input)
  const signers = importSigners(source.list("signers"), input)
  const notifications = importNotifications(source.list("notifications"), input)
  const networks = importNetworks(source.take("networks"), usedNetworks(relayers), input)
  importRelayers(relayers, { signers, notifications, networks }, input)
  dropPlugins(source.list("plugins"), input)
  source.end()
  if (options.dotEnv !== undefined) importDotEnv(options.dotEnv, input)
}

const placed = (values: ReadonlyArray<unknown>, prefix = "relayers"): ReadonlyArray<Placed> =>
  values.map((value, index) => ({ at: `${prefix}.${index}`, value }))

type Members = { readonly [name: string]: unknown }

const membersOf = (value: unknown): Members => (isMembers(value) ? value : {})

/** What a response says about a relayer beyond its configuration. */
const derived: ReadonlySet<string> = new Set(["address", "system_disabled", "disabled_reason"])

const compared = ["name", "network_type", "network", "signer_id", "notification_id", "paused", "policies"]

/** Equal for equal values; null counts as absent. The order of members does not matter. */
const stable = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(stable).join()}]`
  if (!isMembers(value)) return typeof value === "bigint" ? String(value) : JSON.stringify(value ?? null)
  const members = Object.entries(value).filter(([, child]) => child !== null && child !== undefined)
  return `{${members
    .map(([name, child]) => `${JSON.stringify(name)}:${stable(child)}`)
    .toSorted()
    .join()}}`
}

const urlOf = (value: unknown): unknown => (isMembers(value) ? value["url"] : value)

/** A response has the mask of a URL with a key. The URL itself is in the file, unless it was changed by the API. */
const unmasked = (urls: unknown, inFile: unknown, at: string, { report }: Input): unknown => {
  if (!Array.isArray(urls)) return urls
  const known = new Map(
    (Array.isArray(inFile) ? inFile : []).map((value: unknown) => [maskUrl(String(urlOf(value))), value] as const)
  )
  return urls.flatMap((value: unknown, index): ReadonlyArray<unknown> => {
    const url = String(urlOf(value))
    if (!isMasked(url)) return [value]
    const found = known.get(url)
    if (found !== undefined) return [found]
    const message = `${url} is masked, and the file has no URL with this mask: left out; add the URL to the written file`
    report.add(`${at}.custom_rpc_urls.${index}`, "needs", message)
    return []
  })
}

const noteDifferences = ({ at, value }: Placed, file: Members | undefined, { report }: Input) => {
  if (file === undefined) {
    report.add(
      at,
      "note",
      `${String(membersOf(value)["id"])} is not in the file: it was created in the running service`
    )
    return
  }
  const live = membersOf(value)
  for (const name of compared) {
    if (stable(live[name]) === stable(file[name])) continue
    report.add(`${at}.${name}`, "note", "differs from the file: the value of the running service is imported")
  }
}

/** The relayers of the running service, with what only the file has. */
const ofLive = (values: ReadonlyArray<unknown>, inFile: ReadonlyArray<Placed>, input: Input): ReadonlyArray<Placed> => {
  const files = new Map(inFile.map((relayer) => [membersOf(relayer.value)["id"], relayer]))
  const lives = placed(values, "live.relayers")
  const ids = new Set(lives.map(({ value }) => membersOf(value)["id"]))
  for (const [id, { at }] of files) {
    if (!ids.has(id)) input.report.add(at, "dropped", `${String(id)} is not in the running service: left out`)
  }
  return lives.map((live) => {
    const members = membersOf(live.value)
    const file = files.get(members["id"])
    const known = file === undefined ? undefined : membersOf(file.value)
    noteDifferences(live, known, input)
    const { address, id } = members
    if (typeof address === "string") {
      input.remarks.push({
        target: ["relayers", String(id), "signer_id"],
        text: `the account must be ${address}`
      })
    }
    const own = Object.entries(members).filter(([name]) => !derived.has(name))
    const urls = unmasked(members["custom_rpc_urls"], known?.["custom_rpc_urls"], live.at, input)
    return {
      at: live.at,
      value: { ...Object.fromEntries(own), ...(urls === undefined ? {} : { custom_rpc_urls: urls }) }
    }
  })
}
