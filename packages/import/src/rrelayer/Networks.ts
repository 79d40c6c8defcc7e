// Networks and webhooks of rrelayer.
import { builtin } from "../../../../src/server/networks/builtin.ts"
import { looksLikeKey } from "../../../../src/domain/configuration/Reference.ts"
import * as Imported from "../Imported.ts"
import { fields, needOf, path as at } from "../Source.ts"
import type { Fields } from "../Source.ts"
import type { Input } from "./Input.ts"
import { knownValue, referenceOf, wholeVariable } from "./Signers.ts"

export interface Network {
  readonly at: string
  readonly name: string
  readonly chainId: number
  readonly source: Fields
  /** Whether the network is in the document. */
  readonly isImported: boolean
}

/** Confirmations of the old service if the network has none. */
const defaultConfirmations = 12

const variable = /\$\{([^}]+)\}/g

const urlOf = (value: unknown, place: string, name: string, index: number, input: Input): object | undefined => {
  if (typeof value !== "string") {
    input.report.add(place, "invalid", `expected a URL: ${input.report.leftOut("it")}`)
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
  const need = needOf(value)
  if (need !== undefined) input.report.add(place, "needs", need)
  return { url: value, weight: 100 }
}

/** Why settings of gas prices are left out. */
export const ownPrices = "prices come from the nodes of the network"

const droppedFields: Readonly<Record<string, string>> = {
  max_gas_price_multiplier: "the service raises prices by itself, up to gas_price_cap",
  gas_bump_blocks_every: "the service decides when to raise prices; transactions have a speed",
  gas_provider: ownPrices,
  enable_sending_blobs: "the service sends no blobs",
  allowed_random_relayers: "a request names its relayer",
  automatic_top_up: "a relayer names who tops it up: set top_up in its policies, and see docs/top-up.md"
}

/** A positive number, also of a variable that this machine has: numbers of the document have no variables. */
const integerOf = (source: Fields, name: string, { report, variables }: Input): number | undefined => {
  const given = source.take(name)
  if (given === undefined) return undefined
  const variable = wholeVariable.exec(String(given))?.[1]
  const value = Number(variable === undefined ? given : variables[variable])
  if (Number.isSafeInteger(value) && value > 0) return value
  const where = variable === undefined ? "" : ` in the variable ${variable}, when this command runs`
  report.add(at(source.at, name), "invalid", `expected a positive number${where}`)
  return undefined
}

const isUsual = (urls: ReadonlyArray<string>, usual: ReadonlyArray<string> = []): boolean =>
  usual.length === urls.length && urls.every((url) => usual.includes(url))

const importNetwork = (source: Fields, input: Input): Network | undefined => {
  const name = source.required("name")
  const isOwn = name === "" || !input.taken.has(`networks.${name}`)
  input.taken.add(`networks.${name}`)
  if (!isOwn)
    input.report.add(
      at(source.at, "name"),
      "invalid",
      `the name ${name} is here twice: ${input.report.leftOut("this one")}`
    )
  const chainId = integerOf(source, "chain_id", input)
  if (chainId === undefined) {
    if (source.take("chain_id") === undefined) input.report.add(at(source.at, "chain_id"), "invalid", "is required")
    // What else is wrong with it is checked as if it had a chain.
    importChain(source, { name, chainId: someChainId, isOwn }, Imported.onlyProblems(input))
    return undefined
  }
  return importChain(source, { name, chainId, isOwn }, input)
}

/** A chain id in the place of one that is none. No built-in network has it. */
const someChainId = Number.MAX_SAFE_INTEGER

interface Chain {
  readonly name: string
  readonly chainId: number
  /** Whether no network before has the name. */
  readonly isOwn: boolean
}

/** What a network has beside its name and its chain id. */
const importChain = (source: Fields, { name, chainId, isOwn }: Chain, input: Input): Network | undefined => {
  const sameName = builtin.find((network) => network.id === `evm:${name}`)
  const isOther = sameName?.network_type === "evm" && sameName.chain_id !== chainId
  if (isOther) {
    const message = `evm:${name} is a built-in network with another chain_id: give this one another name`
    input.report.add(at(source.at, "chain_id"), "invalid", message)
  }
  const known = builtin.find((network) => network.network_type === "evm" && network.chain_id === chainId)
  if (known === undefined && !isOther) {
    const message = `the chain ${chainId} is not built in: add average_blocktime_ms and symbol to evm:${name}`
    input.report.add(source.at, "needs", message)
  }
  const confirmations = integerOf(source, "confirmations", input)
  if (source.take("confirmations") === undefined) {
    const message = `the default of the old service, ${defaultConfirmations}, is written out`
    input.report.add(at(source.at, "confirmations"), "note", message)
  }
  if (source.take("provider_urls") === undefined) {
    input.report.add(at(source.at, "provider_urls"), "invalid", "is required")
  }
  const explorer = source.text("block_explorer_url")
  const urls = source
    .list("provider_urls")
    .map((value, index) => urlOf(value, `${source.at}.provider_urls.${index}`, name, index, input))
    .filter((url) => url !== undefined)
  const topUp = source.take("automatic_top_up")
  if (topUp !== undefined && !Array.isArray(topUp)) {
    input.report.add(at(source.at, "automatic_top_up"), "invalid", "expected a list")
  }
  for (const [field, reason] of Object.entries(droppedFields)) {
    if (source.take(field) !== undefined) input.report.add(at(source.at, field), "dropped", reason)
  }
  const body = {
    // A built-in network of the same name only has what differs.
    ...(sameName !== undefined ? {} : known === undefined ? { chain_id: chainId } : { from: known.name }),
    required_confirmations: confirmations ?? defaultConfirmations,
    // An explorer that the built-in network has is no change of it.
    ...(explorer === undefined || isUsual([explorer], sameName?.explorer_urls) ? {} : { explorer_urls: [explorer] }),
    rpc_urls: urls
  }
  const isImported = Imported.add(input, "networks", `evm:${name}`, body, source.at, (field) =>
    field === ""
      ? "name"
      : field
          .replace(/^rpc_urls\.(\d+)\.url$/, "provider_urls.$1")
          .replace(/^rpc_urls$/, "provider_urls")
          .replace(/^required_confirmations$/, "confirmations")
  )
  if (isOther && isOwn) input.document.networks.delete(`evm:${name}`)
  return { at: source.at, name, chainId, source, isImported: isImported && !isOther && isOwn }
}

export const importNetworks = (values: ReadonlyArray<unknown>, input: Input): ReadonlyArray<Network> =>
  values
    .map((value, index) => importNetwork(fields(value, `networks.${index}`, input.report), input))
    .filter((network) => network !== undefined)

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
    for (const name of names.filter((name) => !networks.some((network) => network.name === name))) {
      report.add(at(source.at, "networks"), "invalid", `no network of this configuration is called ${name}`)
    }
    const secret = source.text("shared_secret")
    const place = at(source.at, "shared_secret")
    const hasKey = Imported.checkSigningKey(knownValue(secret, input), place, id, input)
    const endpoint = source.required("endpoint")
    const need = endpoint === "" ? undefined : needOf(endpoint, true)
    if (need !== undefined) report.add(at(source.at, "endpoint"), "needs", need)
    const body = { type: "webhook", url: endpoint }
    if (source.take("max_retries") !== undefined) {
      report.add(at(source.at, "max_retries"), "dropped", "deliveries are tried for 24 hours")
    }
    if (source.take("alert_on_low_balances") !== undefined) {
      const message = "low balances are an alert rule here, and relayer.disabled below min_balance"
      report.add(at(source.at, "alert_on_low_balances"), "note", message)
    }
    source.end()
    // The secret of a webhook that is left out must not reach the secrets file.
    const isAdded = Imported.add(input, "notifications", id, body, source.at, (field) =>
      field === "url" ? "endpoint" : field
    )
    if (!isAdded || !hasKey) {
      input.document.notifications.delete(id)
      continue
    }
    if (secret !== undefined) {
      const signing_key = referenceOf(secret, place, [id, "signing_key"], input)
      input.document.notifications.set(id, { ...body, signing_key })
    }
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
