// Imports the configuration of OpenZeppelin Relayer: config.json, its networks, and its environment file.
import { isMembers } from "../../../domain/configuration/Document.ts"
import { needOf } from "../Hosts.ts"
import * as Imported from "../Imported.ts"
import { fields, path as at, picked } from "../Source.ts"
import type { Fields } from "../Source.ts"
import { importDotEnv } from "./DotEnv.ts"
import type { Input, Options } from "./Input.ts"
import * as Live from "./Live.ts"
import { importNetworks } from "./Networks.ts"
import { importRelayers } from "./Relayers.ts"
import { importSigners, knownSecret, secretOf } from "./Signers.ts"

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

const usedNetworks = (relayers: ReadonlyArray<Live.Placed>): ReadonlySet<string> =>
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
  const inFile = Live.placed(source.list("relayers"))
  const relayers = live === undefined ? inFile : Live.ofLive(live, inFile, input)
  const signers = importSigners(source.list("signers"), input)
  const notifications = importNotifications(source.list("notifications"), input)
  const networks = importNetworks(source.take("networks"), usedNetworks(relayers), input)
  importRelayers(relayers, { signers, notifications, networks }, input)
  dropPlugins(source.list("plugins"), input)
  source.end()
  if (options.dotEnv !== undefined) importDotEnv(options.dotEnv, input)
}
