// Networks and webhooks of rrelayer.
import { builtin } from "../../../server/networks/builtin.ts"
import { looksLikeKey } from "../../../domain/configuration/UrlKey.ts"
import { privateHostOf } from "../Hosts.ts"
import * as Imported from "../Imported.ts"
import { fields, path as at } from "../Source.ts"
import type { Fields } from "../Source.ts"
import type { Input } from "./Input.ts"
import { referenceOf } from "./SignerOf.ts"

export interface Network {
  readonly at: string
  readonly name: string
  readonly chainId: number
  readonly source: Fields
}

/** Confirmations of the old service if the network has none. */
const defaultConfirmations = 12

const variable = /\$\{([^}]+)\}/g

const urlOf = (value: unknown, place: string, name: string, index: number, input: Input): object | undefined => {
  if (typeof value !== "string") {
    input.report.add(place, "invalid", "expected a URL: left out")
    return undefined
  }
  const isVariable = /^\$\{[^}]+\}$/.test(value)
  if (isVariable || looksLikeKey(value)) {
    const url = isVariable
      ? referenceOf(value, place, [], input)
      : { env: input.secrets.move(["evm", name, "rpc_url", index + 1], value) }
    if (!isVariable)
      input.report.add(place, "note", `looks like it contains a key: moved to ${url.env} in the secrets file`)
    return { url, weight: 100 }
  }
  for (const [, found = ""] of value.matchAll(variable)) input.secrets.need(found)
  const host = privateHostOf(value)
  if (host !== undefined) {
    input.report.add(place, "needs", `${value} is not public: start the service with OUTBOUND_ALLOW=${host}`)
  }
  return { url: value, weight: 100 }
}

const droppedFields: Readonly<Record<string, string>> = {
  max_gas_price_multiplier: "the service raises prices by itself, up to gas_price_cap",
  gas_bump_blocks_every: "the service decides when to raise prices; transactions have a speed",
  gas_provider: "prices come from the nodes of the network",
  enable_sending_blobs: "the service sends no blobs",
  allowed_random_relayers: "a request names its relayer",
  automatic_top_up: "the service does not move funds"
}

const importNetwork = (source: Fields, input: Input): Network => {
  const name = source.text("name") ?? ""
  const chainId = Number(source.take("chain_id"))
  const known = builtin.find((network) => network.network_type === "evm" && network.chain_id === chainId)
  if (known === undefined) {
    const message = `the chain ${chainId} is not built in: add average_blocktime_ms and symbol to evm:${name}`
    input.report.add(source.at, "needs", message)
  }
  const confirmations = source.take("confirmations")
  if (confirmations === undefined) {
    const message = `the default of the old service, ${defaultConfirmations}, is written out`
    input.report.add(at(source.at, "confirmations"), "note", message)
  }
  const explorer = source.text("block_explorer_url")
  const urls = source
    .list("provider_urls")
    .map((value, index) => urlOf(value, `${source.at}.provider_urls.${index}`, name, index, input))
    .filter((url) => url !== undefined)
  for (const [field, reason] of Object.entries(droppedFields)) {
    if (source.take(field) !== undefined) input.report.add(at(source.at, field), "dropped", reason)
  }
  const body = {
    ...(known === undefined ? { chain_id: chainId } : { from: known.name }),
    required_confirmations: confirmations ?? defaultConfirmations,
    ...(explorer === undefined ? {} : { explorer_urls: [explorer] }),
    rpc_urls: urls
  }
  Imported.add(input, "networks", `evm:${name}`, body, source.at, (field) =>
    field.replace(/^rpc_urls\.(\d+)\.url$/, "provider_urls.$1").replace(/^required_confirmations$/, "confirmations")
  )
  return { at: source.at, name, chainId, source }
}

export const importNetworks = (values: ReadonlyArray<unknown>, input: Input): ReadonlyArray<Network> =>
  values.map((value, index) => importNetwork(fields(value, `networks.${index}`, input.report), input))

/** The notification of each network name. The first webhook that fits a network is that of its relayers. */
export const importWebhooks = (
  values: ReadonlyArray<unknown>,
  networks: ReadonlyArray<Network>,
  input: Input
): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  const { report } = input
  for (const [index, value] of values.entries()) {
    const source = fields(value, `webhooks.${index}`, report)
    const id = `webhook-${index + 1}`
    const given = source.take("networks")
    const names = given === undefined || given === "*" ? networks.map(({ name }) => name) : [given].flat().map(String)
    const secret = source.text("shared_secret")
    const body = {
      type: "webhook",
      url: source.text("endpoint"),
      ...(secret === undefined
        ? {}
        : { signing_key: referenceOf(secret, at(source.at, "shared_secret"), [id, "signing_key"], input) })
    }
    if (source.take("max_retries") !== undefined) {
      report.add(at(source.at, "max_retries"), "dropped", "deliveries are tried for 24 hours")
    }
    if (source.take("alert_on_low_balances") !== undefined) {
      const message = "low balances are an alert rule here, and relayer.disabled below min_balance"
      report.add(at(source.at, "alert_on_low_balances"), "note", message)
    }
    source.end()
    const isAdded = Imported.add(input, "notifications", id, body, source.at, (field) =>
      field === "url" ? "endpoint" : field === "signing_key" ? "shared_secret" : field
    )
    if (!isAdded) continue
    const taken = names.filter((name) => found.has(name))
    const free = names.filter((name) => !found.has(name))
    for (const name of free) found.set(name, id)
    if (free.length > 0) {
      const message =
        "the old service sends the secret itself in x-rrelayer-shared-secret; this one signs with it: change the receiver"
      report.add(source.at, "note", message)
    }
    if (taken.length > 0) {
      const kept = [...new Set(taken.map((name) => found.get(name)))].join(", ")
      const message = `a relayer has one notification: ${id} is created, but the relayers of ${taken.join(", ")} keep ${kept}`
      report.add(source.at, "dropped", message)
    }
  }
  return found
}
