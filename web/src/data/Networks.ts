// Networks, and the units of their native tokens.
import { Effect } from "effect"
import type { Network } from "../../../src/client/Client.ts"
import { NetworkId } from "../../../src/domain/network/NetworkId.ts"
import { UpdateNetwork } from "../../../src/domain/network/NetworkRequest.ts"
import { call, callById } from "./Client.ts"
import { bodyReader, versionOf } from "./Pages.ts"
import { queries, query } from "./Registry.ts"
import { smallestUnits } from "./Amounts.ts"
import type { Unit } from "./Amounts.ts"

export type { Network }

/** More networks than an installation has: the API counts up to this many on a page. */
const all = 1_000

export const networkList = query(
  call(({ networks }) => Effect.map(networks.list({ query: { page: 1, per_page: all } }), ({ data }) => data))
)

const params = (id: string) => ({ network_id: NetworkId.make(id) })

/** By id, with the version that a change names. */
export const networkById = queries((id) =>
  callById(({ networks }) => versionOf(networks.get({ params: params(id), responseMode: "decoded-and-response" })))
)

const readPatch = bodyReader(UpdateNetwork)

export const changeNetwork = (id: string, patch: unknown, etag: string | undefined) =>
  call(({ networks }) =>
    Effect.flatMap(readPatch(patch), (payload) =>
      networks.update({ params: params(id), headers: etag === undefined ? {} : { "if-match": etag }, payload })
    )
  )

/** Without the network, as for a key that may not read networks, an evm amount is shown in wei. */
export const unitOf = (
  networkType: string,
  name: string | undefined,
  networks: ReadonlyArray<Network> | undefined
): Unit => {
  if (networkType === "solana") return smallestUnits.solana
  if (networkType === "stellar") return smallestUnits.stellar
  const network = networks?.find((network) => network.network_type === "evm" && network.name === name)
  return network?.network_type === "evm"
    ? { ...smallestUnits.evm, symbol: network.symbol }
    : { symbol: "wei", decimals: 0, smallest: "wei" }
}

/** Explorers come from the network's configuration, so that only links of the web are links. */
export const explorerLink = (network: Network | undefined, hash: string): string | undefined => {
  const [explorer] = network?.explorer_urls ?? []
  const url = explorer === undefined ? null : URL.parse(explorer)
  if (url === null || network === undefined) return undefined
  if (url.protocol !== "https:" && !(url.protocol === "http:" && network.is_testnet)) return undefined
  return `${url.href.replace(/\/$/, "")}/tx/${encodeURIComponent(hash)}${url.search}`
}
