// Imports the configuration of rrelayer: rrelayer.yaml, and the list of relayers of its API.
import * as Imported from "../Imported.ts"
import { fields, path as at, picked } from "../Source.ts"
import type { Fields } from "../Source.ts"
import { readList } from "./Input.ts"
import type { Input, Listed, Options } from "./Input.ts"
import { importNetworks, importWebhooks, ownPrices } from "./Networks.ts"
import type { Network } from "./Networks.ts"
import { importPermissions } from "./Permissions.ts"
import { readProvider, wholeVariable } from "./Signers.ts"
import type { SignerOf } from "./Signers.ts"

const importApi = (source: Fields | undefined, { report }: Input) => {
  if (source === undefined) return
  const note = (name: string, setting: string) => {
    const value = source.take(name)
    if (value !== undefined) {
      report.add(at(source.at, name), "note", `is ${setting} of the service: ${[value].flat().join(",")}`)
    }
  }
  note("host", "HOST")
  const port = source.take("port")
  if (port !== undefined && typeof port !== "number" && wholeVariable.exec(String(port)) === null) {
    report.add(at(source.at, "port"), "invalid", "expected a number without quotes")
  } else note("port", "PORT")
  note("allowed_origins", "CORS_ORIGINS")
  for (const name of ["authentication_username", "authentication_password"]) {
    if (source.required(name) !== "") {
      report.add(at(source.at, name), "dropped", "there is no basic authentication; use API keys")
    }
  }
  if (source.take("trust_forwarded_for") !== undefined) {
    report.add(
      at(source.at, "trust_forwarded_for"),
      "note",
      "is TRUSTED_PROXIES of the service, which names the proxies"
    )
  }
  source.end()
}

const limitFields = ["user_limits", "relayer_limits", "fallback_to_relayer"]

const dropLimits = (source: Fields | undefined, { report }: Input) => {
  if (source === undefined) return
  picked(source, limitFields)
  source.end()
  report.add(source.at, "dropped", "the service limits requests of callers, not transactions of relayers")
}

const jobFields = ["enabled", "network", "relayers", "schedule", "transaction", "contract"]

const dropJobs = (values: ReadonlyArray<unknown>, { report }: Input) => {
  for (const [index, value] of values.entries()) {
    const source = fields(value, `cron_jobs.${index}`, report)
    const name = source.text("name") ?? "a job"
    picked(source, jobFields)
    source.end()
    report.add(source.at, "dropped", `${name}: there are no scheduled transactions; call the API from a scheduler`)
  }
}

const importRelayer = (
  relayer: Listed,
  network: Network,
  signerId: string,
  extras: { readonly receivers: ReadonlyArray<string> | undefined; readonly notification: string | undefined },
  input: Input
) => {
  const paused = input.keepPausedState ? relayer.isPaused : true
  if (paused && !relayer.isPaused) {
    input.paused.push(relayer.id)
    input.remarks.push({
      target: ["relayers", relayer.id, "paused"],
      text: "resume it after the old service has stopped"
    })
  }
  const policies = {
    ...(relayer.maxGasPrice === undefined ? {} : { gas_price_cap: relayer.maxGasPrice }),
    ...(relayer.usesEip1559 ? {} : { eip1559_pricing: false }),
    ...(extras.receivers === undefined ? {} : { whitelist_receivers: extras.receivers })
  }
  const body = {
    name: relayer.name,
    network_type: "evm",
    network: network.name,
    paused,
    signer_id: signerId,
    ...(extras.notification === undefined ? {} : { notification_id: extras.notification }),
    ...(Object.keys(policies).length === 0 ? {} : { policies })
  }
  const target = ["relayers", relayer.id, "signer_id"]
  input.remarks.push({ target, text: `the account must be ${relayer.address}` })
  Imported.add(input, "relayers", relayer.id, body, relayer.at, (field) =>
    field === "policies.gas_price_cap" ? "maxGasPrice" : field
  )
}

interface Reading {
  readonly network: Network
  readonly relayers: ReadonlyArray<Listed>
  readonly signerOf: SignerOf | undefined
}

/** Without a provider of keys, no account of the network can be imported, and the old service does not start. */
const checkProviders = (readings: ReadonlyArray<Reading>, { report }: Input) => {
  for (const { network, relayers, signerOf } of readings) {
    if (signerOf !== undefined || relayers.length === 0) continue
    report.add(at(network.at, "signing_provider"), "invalid", "is required here, or at the top of the file")
  }
}

const importRelayers = (readings: ReadonlyArray<Reading>, notifications: ReadonlyMap<string, string>, input: Input) => {
  for (const { network, relayers, signerOf } of readings) {
    const imported = relayers.filter((relayer) => {
      const lost = !network.isImported
        ? input.report.leftOut(`its network ${network.name}`)
        : signerOf?.(relayer) === undefined
          ? `the key of its account ${relayer.address} cannot be imported: another line says why; create a signer, and the relayer with it`
          : undefined
      if (lost !== undefined) input.report.add(relayer.at, "dropped", `${relayer.id}: ${lost}`)
      return lost === undefined
    })
    const { emptied, importKeys, receivers } = importPermissions(network, relayers, imported, input)
    for (const relayer of imported) {
      const signerId = signerOf?.(relayer)
      if (signerId === undefined) continue
      if (emptied.has(relayer.id)) {
        const message = `${relayer.id}: ${Imported.noReceivers}; correct the allow lists in ${at(network.at, "permissions")}`
        input.report.add(relayer.at, "dropped", message)
        continue
      }
      const extras = { receivers: receivers.get(relayer.id), notification: notifications.get(network.name) }
      importRelayer(relayer, network, signerId, extras, input)
    }
    importKeys()
    network.source.end()
  }
}

export const importConfiguration = (source: Fields, list: unknown, context: Imported.Context, options: Options) => {
  const input: Input = { ...context, ...options, names: new Map() }
  importApi(source.object("api_config"), input)
  source.take("name")
  source.take("description")
  const listed = readList(list, input)
  const shared = readProvider(source.object("signing_provider"), input)
  const networks = importNetworks(source.list("networks"), input)
  const readings = networks.map((network) => ({
    network,
    relayers: listed.filter(({ chainId }) => chainId === network.chainId),
    signerOf: readProvider(network.source.object("signing_provider"), input) ?? shared
  }))
  for (const { at: place, id, chainId } of listed) {
    Imported.isOwnId(input, "relayers", id, place)
    if (!networks.some((network) => network.chainId === chainId)) {
      input.report.add(
        at(place, "chainId"),
        "invalid",
        `no network has the chain id ${chainId}: ${input.report.leftOut(id)}`
      )
    }
  }
  const notifications = importWebhooks(source.list("webhooks"), networks, input)
  checkProviders(readings, input)
  importRelayers(readings, notifications, input)
  Imported.notePaused(input, "")
  if (source.take("gas_providers") !== undefined) input.report.add("gas_providers", "dropped", ownPrices)
  dropLimits(source.object("rate_limits"), input)
  dropJobs(source.list("cron_jobs"), input)
  source.end()
}
