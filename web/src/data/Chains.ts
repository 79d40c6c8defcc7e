// What a network says about its amounts and its explorer.
import type { Network, Relayer } from "../../../src/client/Client.ts"
import { isOfNetwork } from "../../../src/client/Networks.ts"
import { smallestUnits } from "./Amounts.ts"
import type { Unit } from "./Amounts.ts"

interface Named {
  readonly name: string
  readonly network_type: string
  readonly symbol?: string
}

type Explored = Pick<Network, "explorer_urls" | "is_testnet">

/** Without the network, as for a key that may not read networks, an evm amount is shown in wei. */
export const unitOf = (
  networkType: string,
  name: string | undefined,
  networks: ReadonlyArray<Named> | undefined
): Unit => {
  if (networkType === "solana") return smallestUnits.solana
  if (networkType === "stellar") return smallestUnits.stellar
  const network = networks?.find((network) => network.network_type === "evm" && network.name === name)
  return network?.symbol === undefined
    ? { symbol: "wei", decimals: 0, smallest: "wei" }
    : { ...smallestUnits.evm, symbol: network.symbol }
}

/** RPC URLs that get the private sends of a relayer. Undefined: the session does not see the network whose URLs they would be. */
export const privateUrlsOf = (
  relayer: Relayer,
  networks: ReadonlyArray<Network> | undefined
): ReadonlyArray<string> | undefined => {
  if (!isOfNetwork("evm", relayer)) return []
  const network = networks?.filter((one) => isOfNetwork("evm", one)).find(({ name }) => name === relayer.network)
  const urls = relayer.custom_private_rpc_urls ?? (network && (network.private_rpc_urls ?? []))
  return urls?.flatMap(({ url, weight }) => (weight > 0 ? [url] : []))
}

interface Routed {
  readonly route?: string
  readonly kind?: string
  readonly block_number?: number
}

/** Whether only private RPC providers know the hash. Whoever looks it up in an explorer tells the explorer. No-ops are no secret. */
export const isSecretHash = ({ route, kind, block_number }: Routed): boolean =>
  route === "private" && kind !== "noop" && block_number === undefined

/** Explorers come from the network's configuration, so that only links of the web are links. */
export const explorerLink = (network: Explored | undefined, hash: string): string | undefined => {
  const [explorer] = network?.explorer_urls ?? []
  const url = explorer === undefined ? null : URL.parse(explorer)
  if (url === null || network === undefined) return undefined
  if (url.protocol !== "https:" && !(url.protocol === "http:" && network.is_testnet)) return undefined
  return `${url.origin}${url.pathname.replace(/\/$/, "")}/tx/${encodeURIComponent(hash)}${url.search}`
}
