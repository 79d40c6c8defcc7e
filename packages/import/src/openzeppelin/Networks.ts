// Networks of OpenZeppelin Relayer: in config.json, or in the files of a folder. Their URLs are texts, objects of URL and weight, or variables.
import * as fs from "node:fs"
import * as path from "node:path"
import { Result, Schema } from "effect"
import { builtin } from "../../../../src/server/networks/builtin.ts"
import { parse } from "../../../../src/cli/configuration/Parse.ts"
import { jsonProblem, problemText } from "../../../../src/cli/configuration/Tree.ts"
import { isMembers } from "../../../../src/domain/configuration/Document.ts"
import { looksLikeKey, variableName } from "../../../../src/domain/configuration/Reference.ts"
import { NetworkType, ownFieldsLacking } from "../../../../src/domain/network/Network.ts"
import * as Imported from "../Imported.ts"
import { fields, needOf, path as at, picked, plain } from "../Source.ts"
import { pathHere } from "./Input.ts"
import type { Input } from "./Input.ts"

interface Network {
  readonly at: string
  readonly id: string
  readonly type: string
  readonly from: string | undefined
  /** The fields that the network defines itself, as the document has them. */
  readonly own: Record<string, unknown>
  /** The place in the input of a field of the document. */
  readonly placeOf: ((field: string) => string) | undefined
}

export const isNetworkType = Schema.is(NetworkType)

export const expectedType = `expected ${NetworkType.literals.join(", ")}`

const carried = [
  "chain_id",
  "required_confirmations",
  "symbol",
  "average_blocktime_ms",
  "is_testnet",
  "features",
  "tags",
  "explorer_urls",
  "passphrase",
  "horizon_url"
]

const defaultFolder = "./config/networks"

/** The networks of the files in a folder, with a place that names the file. */
const ofFolder = (
  given: string,
  used: ReadonlySet<string>,
  input: Input
): ReadonlyArray<readonly [string, unknown]> => {
  const folder = pathHere(input.folder, given)
  const full = path.resolve(input.folder, folder)
  const names = fs.existsSync(full) ? fs.readdirSync(full).filter((name) => name.endsWith(".json")) : []
  const missing = `${given} is no folder with files *.json`
  if (names.length === 0 && [...used].every(isBuiltin)) {
    input.report.add("networks", "note", `${missing}; the built-in networks of the service are used instead`)
  } else if (names.length === 0) {
    const remedy = "run the command in the working directory of the old service, or name the folder with --networks"
    input.report.add("networks", "invalid", `${missing}: ${remedy}`)
  } else if (folder !== given) {
    input.report.add(
      "networks",
      "note",
      `the path ${given} is that of the container: the networks are read from ${folder}`
    )
  }
  return names.toSorted().flatMap((name) => {
    const file = path.join(folder, name)
    const text = fs.readFileSync(path.join(full, name), "utf8")
    const broken = jsonProblem(file, text)
    const parsed = broken === undefined ? parse(file, text) : Result.fail([broken])
    if (Result.isFailure(parsed)) {
      input.report.add(`networks/${name}`, "invalid", parsed.failure.map(problemText).join("; "))
      return []
    }
    const content = plain(parsed.success, Imported.escaped)
    const list = isMembers(content) && Array.isArray(content["networks"]) ? content["networks"] : []
    return list.map((value, index): readonly [string, unknown] => [`networks/${name}.networks.${index}`, value])
  })
}

const all = (value: unknown, used: ReadonlySet<string>, input: Input): ReadonlyArray<readonly [string, unknown]> => {
  if (input.networksFolder !== undefined) return ofFolder(input.networksFolder, used, input)
  if (Array.isArray(value)) return value.map((item, index): readonly [string, unknown] => [`networks.${index}`, item])
  return ofFolder(typeof value === "string" ? value : defaultFolder, used, input)
}

const read = (place: string, value: unknown, input: Input): Network => {
  const source = fields(value, place, input.report)
  const type = source.text("type") ?? ""
  const name = source.text("network") ?? ""
  const own = picked(source, carried)
  if (own["explorer_urls"] !== undefined) own["explorer_urls"] = texts(own["explorer_urls"])
  const urls = source.take("rpc_urls")
  if (urls !== undefined && !Array.isArray(urls)) {
    input.report.add(at(place, "rpc_urls"), "invalid", "expected a list of URLs")
  }
  const rpc = Array.isArray(urls) ? rpcUrls(urls, at(place, "rpc_urls"), [type, name], input) : undefined
  if (rpc !== undefined) own["rpc_urls"] = rpc.urls
  if (source.take("gas_price_cache") !== undefined) {
    const message = "prices are read once per block and shared by all relayers of a network"
    input.report.add(at(place, "gas_price_cache"), "dropped", message)
  }
  const from = source.text("from")
  source.end()
  return { at: place, id: `${type}:${name}`, type, from, own, placeOf: rpc?.placeOf }
}

const union = (parent: unknown, child: unknown): unknown =>
  Array.isArray(parent) && Array.isArray(child) ? [...new Set([...parent, ...child])] : (child ?? parent)

/** The own fields and those of the parents in the input. */
const flattened = (
  network: Network,
  networks: ReadonlyMap<string, Network>,
  seen: ReadonlySet<string>
): Record<string, unknown> => {
  const parent = network.from === undefined ? undefined : networks.get(`${network.type}:${network.from}`)
  if (parent === undefined || seen.has(parent.id)) return network.own
  const inherited = flattened(parent, networks, new Set([...seen, parent.id]))
  return {
    ...inherited,
    ...network.own,
    ...(inherited["tags"] === undefined ? {} : { tags: union(inherited["tags"], network.own["tags"]) }),
    ...(inherited["features"] === undefined ? {} : { features: union(inherited["features"], network.own["features"]) })
  }
}

const isEqual = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

const isBuiltin = (id: string): boolean => builtin.some((network) => network.id === id)

/** What is wrong with the parents of a network that is not built in: the old service refuses it, too. */
const violationOfParents = (network: Network, networks: ReadonlyMap<string, Network>): string | undefined => {
  const seen = new Set<string>()
  for (let current: Network | undefined = network; current?.from !== undefined && !isBuiltin(current.id);) {
    if (seen.has(current.id)) return `inherits from itself: ${[...seen, current.id].join(" → ")}`
    seen.add(current.id)
    const parent: string = `${current.type}:${current.from}`
    if (!networks.has(parent) && !isBuiltin(parent)) return `no ${current.type} network of this name: ${current.from}`
    current = networks.get(parent)
  }
  return undefined
}

const areAmong = (values: ReadonlyArray<unknown>, others: ReadonlyArray<unknown>): boolean =>
  values.every((value) => others.includes(value))

/** Whether a field says nothing else than the built-in network does. The order of a list means nothing. */
const isUsual = (name: string, value: unknown, usual: unknown): boolean => {
  if (!Array.isArray(value) || name === "rpc_urls") return isEqual(value, usual)
  const others = Array.isArray(usual) ? usual : []
  // Tags and features of overrides are added to the built-in ones. Other lists replace them.
  const isAdded = name === "tags" || name === "features"
  return areAmong(value, others) && (isAdded || areAmong(others, value))
}

/** What differs from the built-in network. */
const overrides = (whole: Record<string, unknown>, known: object): Record<string, unknown> => {
  const usual = new Map<string, unknown>(Object.entries(known))
  return Object.fromEntries(
    Object.entries(whole).filter(
      ([name, value]) => name !== "chain_id" && name !== "passphrase" && !isUsual(name, value, usual.get(name))
    )
  )
}

const add = (network: Network, networks: ReadonlyMap<string, Network>, given: Input) => {
  const known = builtin.find(({ id }) => id === network.id)
  if (known === undefined) {
    const violation = violationOfParents(network, networks)
    if (violation !== undefined) {
      given.report.add(at(network.at, "from"), "invalid", `${violation}: ${given.report.leftOut(network.id)}`)
    }
    const lacking = ownFieldsLacking({ ...network.own, network_type: network.type, from: network.from })
    for (const { field } of lacking) {
      given.report.add(at(network.at, field), "invalid", `is required: ${given.report.leftOut(network.id)}`)
    }
    const isValid = violation === undefined && lacking.length === 0
    const input = isValid ? given : Imported.onlyProblems(given)
    const body = { ...(network.from === undefined ? {} : { from: network.from }), ...network.own }
    Imported.add(input, "networks", network.id, body, network.at, network.placeOf)
    return
  }
  const whole = flattened(network, networks, new Set([network.id]))
  const key = known.network_type === "evm" ? "chain_id" : "passphrase"
  const usual =
    known.network_type === "evm" ? known.chain_id : known.network_type === "stellar" ? known.passphrase : undefined
  const isOther = whole[key] !== undefined && whole[key] !== usual
  if (isOther) {
    const message = `${network.id} is a built-in network with another ${key}: give this one another name`
    given.report.add(at(network.at, key), "invalid", message)
  }
  const input = isOther ? Imported.onlyProblems(given) : given
  const own = overrides(whole, known)
  if (Object.keys(own).length > 0) Imported.add(input, "networks", network.id, own, network.at, network.placeOf)
}

/** Removes networks whose parents were left out. */
const removeOrphans = (networks: ReadonlyMap<string, Network>, { document, report }: Input) => {
  const isPresent = (id: string) => isBuiltin(id) || document.networks.has(id)
  for (let isDone = false; !isDone;) {
    isDone = true
    for (const { at: place, from, id, type } of networks.values()) {
      if (from === undefined || !document.networks.has(id) || isBuiltin(id) || isPresent(`${type}:${from}`)) continue
      document.networks.delete(id)
      report.add(place, "dropped", `${id}: ${report.leftOut(`its parent ${from}`)}`)
      isDone = false
    }
  }
}

/** The networks of the input by their ids, with whether the service has them after an apply. */
export type ImportedNetworks = ReadonlyMap<string, boolean>

/** Imports the networks that relayers use, and their parents. */
export const importNetworks = (value: unknown, used: ReadonlySet<string>, input: Input): ImportedNetworks => {
  const networks = new Map<string, Network>()
  const items = all(value, used, input)
  const again: Array<Network> = []
  let unused = 0
  for (const [place, item] of items) {
    const { type, network, source } = named(item)
    if (!source) {
      input.report.add(place, "invalid", "expected type and network")
      continue
    }
    const id = `${type}:${network}`
    const isOwn = !input.taken.has(`networks.${id}`)
    input.taken.add(`networks.${id}`)
    if (!isOwn)
      input.report.add(at(place, "network"), "invalid", `${id} is here twice: ${input.report.leftOut("this one")}`)
    const isUsed = input.allNetworks || isNeeded(id, used, items)
    if (!isUsed && isOwn) unused++
    if (isUsed && !isNetworkType(type)) {
      input.report.add(at(place, "type"), "invalid", `${expectedType}: ${input.report.leftOut(id)}`)
    } else if (isUsed && isOwn) networks.set(id, read(place, item, input))
    else if (isUsed) again.push(read(place, item, Imported.onlyProblems(input)))
    // The old service reads all its networks.
    else if (isOwn && isInCircle(id, items)) {
      input.report.add(at(place, "from"), "invalid", `inherits from itself: ${input.report.leftOut(id)}`)
    }
  }
  if (unused > 0) {
    const message = `${unused} of ${items.length} networks are used by no relayer and left out; --all-networks imports them`
    input.report.add("networks", "note", message)
  }
  for (const network of networks.values()) add(network, networks, input)
  for (const network of again) add(network, networks, Imported.onlyProblems(input))
  removeOrphans(networks, input)
  return new Map([...networks.keys()].map((id) => [id, isBuiltin(id) || input.document.networks.has(id)] as const))
}

const named = (item: unknown) => {
  const members = isMembers(item) ? item : {}
  const { type, network, from } = members
  return {
    type: String(type),
    network: String(network),
    from: typeof from === "string" ? from : undefined,
    source: typeof type === "string" && typeof network === "string"
  }
}

type Items = ReadonlyArray<readonly [string, unknown]>

/** The network and those that it inherits from, until there is none or one comes twice, which is the last one then. */
const lineOf = (start: string, items: Items): ReadonlyArray<string> => {
  const parents = new Map<string, string | undefined>(
    // Of two networks with one name, the first one counts.
    items.toReversed().map(([, item]) => {
      const { type, network, from } = named(item)
      return [`${type}:${network}`, from === undefined ? undefined : `${type}:${from}`] as const
    })
  )
  const line: Array<string> = []
  let current: string | undefined = start
  while (current !== undefined) {
    const isAgain = line.includes(current)
    line.push(current)
    current = isAgain ? undefined : parents.get(current)
  }
  return line
}

const isInCircle = (id: string, items: Items): boolean => {
  const line = lineOf(id, items)
  return line.length > 1 && line.at(-1) === id
}

/** Whether a relayer uses the network, or a network that inherits from it is used. */
const isNeeded = (id: string, used: ReadonlySet<string>, items: Items): boolean =>
  [...used].some((start) => lineOf(start, items).includes(id))

/** The variable of `{type: env, value: NAME}`, which some versions take in the place of a URL. */
const variableOf = (value: unknown): string | undefined =>
  isMembers(value) && value["type"] === "env" && typeof value["value"] === "string" ? value["value"] : undefined

/** URLs that are no secrets, as texts. */
const texts = (values: unknown): unknown =>
  Array.isArray(values)
    ? values.map((value: unknown) => {
        const variable = variableOf(value)
        return variable === undefined ? value : `\${${variable}}`
      })
    : values

interface RpcUrls {
  readonly urls: ReadonlyArray<object>
  /** The place in the input of a field of the document: entries of the input may be left out, and may be texts. */
  readonly placeOf: (field: string) => string
}

const isHttp = /^https?:/i

/** User information that ends with a variable, which is the password. */
const passwordOfVariable = /\/\/[^/?#@]*\$\{\w+\}@/u

const variable = /\$\{\w+\}/gu

/** What is written in the URL itself: short words stand for its variables. */
const literalOf = (url: string): string => url.replace(passwordOfVariable, "//").replaceAll(variable, "x")

/** URLs as objects. One that looks as if it contains a key moves into the secrets file. */
export const rpcUrls = (
  values: ReadonlyArray<unknown>,
  place: string,
  nameParts: ReadonlyArray<string>,
  { report, secrets }: Imported.Context
): RpcUrls => {
  const kept: Array<number> = []
  const urls = values.flatMap((value, index): ReadonlyArray<object> => {
    const here = `${place}.${index}`
    if (typeof value !== "string" && !isMembers(value)) {
      report.add(here, "invalid", `expected a URL, or an object of url and weight: ${report.leftOut("it")}`)
      return []
    }
    const variable = variableOf(value)
    if (variable !== undefined && !variableName.test(variable)) {
      report.add(
        here,
        "invalid",
        `expected the name of a variable, of letters, digits and underscores: ${report.leftOut("it")}`
      )
      return []
    }
    if (variable !== undefined) {
      secrets.need(variable)
      kept.push(index)
      return [{ url: { env: variable }, weight: 100 }]
    }
    const source = typeof value === "string" ? undefined : fields(value, here, report)
    const url = typeof value === "string" ? value : source?.text("url")
    const weight = source?.take("weight") ?? 100
    source?.end()
    if (url === undefined) {
      report.add(here, "invalid", `has no url, and the old service ignores such an entry: ${report.leftOut("it")}`)
      return []
    }
    kept.push(index)
    const whole = Imported.wholeVariable(url)
    if (whole !== undefined) {
      secrets.need(whole)
      return [{ url: { env: whole }, weight }]
    }
    const need = needOf(url)
    if (need !== undefined) report.add(here, "needs", need)
    // A URL that is refused is not quoted, and not written.
    if (!looksLikeKey(literalOf(url)) || !isHttp.test(url)) return [{ url, weight }]
    if (Imported.variablesIn(url).length > 0) {
      report.add(
        here,
        "needs",
        "expected a URL whose key is a variable, and this one has another key beside a variable: it is left out; put that key into a variable, too, and import again"
      )
      kept.pop()
      return []
    }
    const moved = secrets.move([...nameParts, "rpc_url", index + 1], url)
    const exact = source === undefined ? here : at(here, "url")
    report.add(exact, "note", `looks like it contains a key: moved to ${moved} in the secrets file`)
    return [{ url: { env: moved }, weight }]
  })
  const placeOf = (field: string) =>
    field.replace(/^((?:custom_)?rpc_urls)\.(\d+)(\.url)?/, (_, name: string, at: string, url = "") => {
      const index = kept[Number(at)] ?? Number(at)
      return `${name}.${index}${typeof values[index] === "string" ? "" : url}`
    })
  return { urls, placeOf }
}
