// The networks that come with the service. Chain ids, symbols and block times follow the chains' own documents; RPC URLs
// are the public ones, good for a first look and too slow for production: teams override them, and relayers bring their own
// in `custom_rpc_urls`. No network is ever removed: relayers use it, and networks of teams inherit from it.
import { networkId, NetworkName } from "../../domain/network/Network.ts"
import type { EvmNetwork, Network, NetworkType, SolanaNetwork, StellarNetwork } from "../../domain/network/Network.ts"

/** Where a number was read, and when. */
interface Source {
  /** ISO 8601. */
  readonly date: string
  readonly text: string
}

/** A public RPC URL. */
interface Endpoint {
  readonly url: string
  /** Calls in the largest batch that it takes. `unknown`: the service begins with 50 and remembers what is refused. */
  readonly batch: number | "unknown"
  readonly source: Source
}

interface Common {
  readonly name: string
  readonly rpc: ReadonlyArray<Endpoint>
  /** The source of the block time, the features and the confirmations. */
  readonly read: Source
  readonly explorer?: string
  readonly blockMs: number
  readonly testnet?: true
  readonly tags?: ReadonlyArray<string>
}

/** A network, and where its numbers are from. */
interface Entry<N extends Network = Network> {
  readonly network: N
  readonly read: Source
  readonly rpc: ReadonlyArray<Endpoint>
}

const common = (type: NetworkType, { name, rpc, explorer, blockMs, testnet, tags }: Common) => ({
  id: networkId(type, NetworkName.make(name)),
  name: NetworkName.make(name),
  source: "builtin" as const,
  rpc_urls: rpc.map(({ url }) => ({ url, weight: 100 })),
  ...(explorer === undefined ? {} : { explorer_urls: [explorer] }),
  average_blocktime_ms: blockMs,
  is_testnet: testnet ?? false,
  ...(tags === undefined ? {} : { tags })
})

const evm = (
  network: Common & {
    readonly id: number
    readonly confirmations: number
    readonly symbol?: string
    readonly legacy?: true
  }
): Entry<typeof EvmNetwork.Type> => ({
  network: {
    ...common("evm", network),
    network_type: "evm",
    chain_id: network.id,
    required_confirmations: network.confirmations,
    ...(network.legacy === true ? {} : { features: ["eip1559"] }),
    symbol: network.symbol ?? "ETH"
  },
  read: network.read,
  rpc: network.rpc
})

const solana = (network: Common): Entry<typeof SolanaNetwork.Type> => ({
  network: { ...common("solana", network), network_type: "solana" },
  read: network.read,
  rpc: network.rpc
})

const stellar = (
  network: Common & { readonly passphrase: string; readonly horizon: string }
): Entry<typeof StellarNetwork.Type> => ({
  network: {
    ...common("stellar", network),
    network_type: "stellar",
    passphrase: network.passphrase,
    horizon_url: network.horizon
  },
  read: network.read,
  rpc: network.rpc
})

/** What was read where it says so; nothing of it was measured on the network. */
const documents: Source = {
  date: "2026-11-23",
  text: "the documents of the chain when the network was added; not read again since, not measured"
}

const fermi: Source = {
  date: "2026-11-27",
  text: "block time: docs.bnbchain.org/announce/fermi-bsc, BEP-619, 0.45 s on the testnet since 2025-11-10 and on the mainnet since 2026-01-14; not measured. The rest: the documents of the chain on 2026-11-23"
}

const nitro: Source = {
  date: "2026-11-27",
  text: "block time: dev.to/swiftnodes, who measured 18 blocks of Arbitrum One in 4 s; not measured here. The rest: the documents of the chain on 2026-11-23"
}

const coreth: Source = {
  date: "2026-11-27",
  text: "confirmations: avalanchego 1.14.0 on loopback shows a block when it is final, and makes none without a transaction; measured. The rest: the documents of the chain on 2026-11-23"
}

const unichain: Source = {
  date: "2026-11-27",
  text: "block time: goldrush.dev/chains/unichain-mainnet, 1 s; not measured. The rest: the documents of the chain on 2026-11-23"
}

const slots: Source = {
  date: "2026-11-27",
  text: "block time: SIMD-0525, slots of 300 ms since 2026-08-28, after 350 ms; 250 and 200 ms are to come; not measured. The rest: the documents of the chain on 2026-11-23"
}

const anvil: Source = { date: "2026-11-27", text: "anvil 1.7.1, as the tests of this repository start it; measured" }

const drpc = (chain: string): Endpoint => ({
  url: `https://${chain}.drpc.org`,
  batch: 3,
  source: {
    date: "2026-11-27",
    text: "github.com/hemilabs/ui-monorepo/pull/887 of 2025-02-20: batches of more than 3 calls get HTTP 500; not measured"
  }
})

const alchemy = (url: string): Endpoint => ({
  url,
  batch: 1000,
  source: {
    date: "2026-11-27",
    text: "alchemy.com/docs/reference/batch-requests: 1000 over HTTP for all methods and chains; not measured"
  }
})

const open = (url: string): Endpoint => ({
  url,
  batch: "unknown",
  source: { date: "2026-11-27", text: "no source for a limit found; not measured" }
})

const optimism = ["rollup", "optimism-based"]
const arbitrum = ["rollup", "arbitrum-based", "no-mempool"]
const rollup = ["rollup"]

// A row per network reads better.
// oxfmt-ignore
export const entries: ReadonlyArray<Entry> = [
  evm({ name: "mainnet", id: 1, confirmations: 12, blockMs: 12_000, explorer: "https://etherscan.io", read: documents, rpc: [open("https://ethereum-rpc.publicnode.com"), drpc("eth")] }),
  evm({ name: "sepolia", id: 11155111, confirmations: 6, blockMs: 12_000, testnet: true, explorer: "https://sepolia.etherscan.io", read: documents, rpc: [open("https://ethereum-sepolia-rpc.publicnode.com"), drpc("sepolia")] }),
  evm({ name: "holesky", id: 17000, confirmations: 6, blockMs: 12_000, testnet: true, explorer: "https://holesky.etherscan.io", read: documents, rpc: [open("https://ethereum-holesky-rpc.publicnode.com")] }),
  evm({ name: "hoodi", id: 560048, confirmations: 6, blockMs: 12_000, testnet: true, explorer: "https://hoodi.etherscan.io", read: documents, rpc: [open("https://rpc.hoodi.ethpandaops.io")] }),
  evm({ name: "polygon", id: 137, confirmations: 1, blockMs: 2_000, symbol: "POL", explorer: "https://polygonscan.com", read: documents, rpc: [open("https://polygon-bor-rpc.publicnode.com"), drpc("polygon")] }),
  evm({ name: "polygon-amoy", id: 80002, confirmations: 1, blockMs: 2_000, symbol: "POL", testnet: true, explorer: "https://amoy.polygonscan.com", read: documents, rpc: [open("https://rpc-amoy.polygon.technology"), drpc("polygon-amoy")] }),
  evm({ name: "arbitrum-one", id: 42161, confirmations: 1, blockMs: 250, tags: arbitrum, explorer: "https://arbiscan.io", read: nitro, rpc: [open("https://arb1.arbitrum.io/rpc")] }),
  evm({ name: "arbitrum-sepolia", id: 421614, confirmations: 1, blockMs: 250, tags: arbitrum, testnet: true, explorer: "https://sepolia.arbiscan.io", read: nitro, rpc: [open("https://sepolia-rollup.arbitrum.io/rpc")] }),
  evm({ name: "optimism", id: 10, confirmations: 1, blockMs: 2_000, tags: optimism, explorer: "https://optimistic.etherscan.io", read: documents, rpc: [open("https://mainnet.optimism.io")] }),
  evm({ name: "optimism-sepolia", id: 11155420, confirmations: 1, blockMs: 2_000, tags: optimism, testnet: true, explorer: "https://optimism-sepolia.blockscout.com", read: documents, rpc: [open("https://sepolia.optimism.io")] }),
  evm({ name: "base", id: 8453, confirmations: 1, blockMs: 2_000, tags: optimism, explorer: "https://basescan.org", read: documents, rpc: [open("https://mainnet.base.org")] }),
  evm({ name: "base-sepolia", id: 84532, confirmations: 1, blockMs: 2_000, tags: optimism, testnet: true, explorer: "https://sepolia.basescan.org", read: documents, rpc: [open("https://sepolia.base.org")] }),
  evm({ name: "unichain", id: 130, confirmations: 1, blockMs: 1_000, tags: optimism, explorer: "https://uniscan.xyz", read: unichain, rpc: [open("https://mainnet.unichain.org")] }),
  evm({ name: "unichain-sepolia", id: 1301, confirmations: 1, blockMs: 1_000, tags: optimism, testnet: true, explorer: "https://sepolia.uniscan.xyz", read: unichain, rpc: [open("https://sepolia.unichain.org")] }),
  evm({ name: "worldchain", id: 480, confirmations: 1, blockMs: 2_000, tags: optimism, explorer: "https://worldscan.org", read: documents, rpc: [alchemy("https://worldchain-mainnet.g.alchemy.com/public")] }),
  evm({ name: "linea", id: 59144, confirmations: 1, blockMs: 2_000, tags: rollup, explorer: "https://lineascan.build", read: documents, rpc: [open("https://rpc.linea.build")] }),
  evm({ name: "linea-sepolia", id: 59141, confirmations: 1, blockMs: 2_000, tags: rollup, testnet: true, explorer: "https://sepolia.lineascan.build", read: documents, rpc: [open("https://rpc.sepolia.linea.build")] }),
  evm({ name: "scroll", id: 534352, confirmations: 1, blockMs: 3_000, tags: rollup, explorer: "https://scrollscan.com", read: documents, rpc: [open("https://rpc.scroll.io")] }),
  evm({ name: "scroll-sepolia", id: 534351, confirmations: 1, blockMs: 3_000, tags: rollup, testnet: true, explorer: "https://sepolia.scrollscan.com", read: documents, rpc: [open("https://sepolia-rpc.scroll.io")] }),
  evm({ name: "zksync", id: 324, confirmations: 1, blockMs: 1_000, tags: rollup, explorer: "https://explorer.zksync.io", read: documents, rpc: [open("https://mainnet.era.zksync.io")] }),
  evm({ name: "zksync-sepolia", id: 300, confirmations: 1, blockMs: 1_000, tags: rollup, testnet: true, explorer: "https://sepolia.explorer.zksync.io", read: documents, rpc: [open("https://sepolia.era.zksync.dev")] }),
  evm({ name: "avalanche", id: 43114, confirmations: 0, blockMs: 1_700, symbol: "AVAX", explorer: "https://snowtrace.io", read: coreth, rpc: [open("https://api.avax.network/ext/bc/C/rpc")] }),
  evm({ name: "avalanche-fuji", id: 43113, confirmations: 0, blockMs: 1_700, symbol: "AVAX", testnet: true, explorer: "https://testnet.snowtrace.io", read: coreth, rpc: [open("https://api.avax-test.network/ext/bc/C/rpc")] }),
  evm({ name: "binance-smart-chain", id: 56, confirmations: 1, blockMs: 450, symbol: "BNB", legacy: true, explorer: "https://bscscan.com", read: fermi, rpc: [open("https://bsc-dataseed.bnbchain.org"), open("https://bsc-rpc.publicnode.com")] }),
  evm({ name: "binance-smart-chain-testnet", id: 97, confirmations: 1, blockMs: 450, symbol: "tBNB", legacy: true, testnet: true, explorer: "https://testnet.bscscan.com", read: fermi, rpc: [open("https://data-seed-prebsc-1-s1.bnbchain.org:8545")] }),
  evm({ name: "celo", id: 42220, confirmations: 1, blockMs: 1_000, symbol: "CELO", explorer: "https://celoscan.io", read: documents, rpc: [open("https://forno.celo.org")] }),
  evm({ name: "celo-sepolia", id: 11142220, confirmations: 1, blockMs: 1_000, symbol: "CELO", testnet: true, explorer: "https://celo-sepolia.blockscout.com", read: documents, rpc: [open("https://forno.celo-sepolia.celo-testnet.org")] }),
  evm({ name: "gnosis", id: 100, confirmations: 12, blockMs: 5_000, symbol: "XDAI", explorer: "https://gnosisscan.io", read: documents, rpc: [open("https://rpc.gnosischain.com")] }),
  evm({ name: "mantle", id: 5000, confirmations: 1, blockMs: 2_000, symbol: "MNT", tags: optimism, explorer: "https://mantlescan.xyz", read: documents, rpc: [open("https://rpc.mantle.xyz")] }),
  evm({ name: "sonic", id: 146, confirmations: 1, blockMs: 630, symbol: "S", explorer: "https://sonicscan.org", read: documents, rpc: [open("https://rpc.soniclabs.com")] }),
  evm({ name: "localhost-anvil", id: 31337, confirmations: 1, blockMs: 1_000, testnet: true, read: anvil, rpc: [open("http://127.0.0.1:8545")] }),

  solana({ name: "mainnet-beta", blockMs: 300, explorer: "https://explorer.solana.com", read: slots, rpc: [open("https://api.mainnet-beta.solana.com")] }),
  solana({ name: "testnet", blockMs: 400, testnet: true, explorer: "https://explorer.solana.com?cluster=testnet", read: documents, rpc: [open("https://api.testnet.solana.com")] }),
  solana({ name: "devnet", blockMs: 400, testnet: true, explorer: "https://explorer.solana.com?cluster=devnet", read: documents, rpc: [open("https://api.devnet.solana.com")] }),

  stellar({ name: "mainnet", blockMs: 5_000, passphrase: "Public Global Stellar Network ; September 2015", horizon: "https://horizon.stellar.org", explorer: "https://stellar.expert/explorer/public", read: documents, rpc: [open("https://mainnet.sorobanrpc.com")] }),
  stellar({ name: "testnet", blockMs: 5_000, testnet: true, passphrase: "Test SDF Network ; September 2015", horizon: "https://horizon-testnet.stellar.org", explorer: "https://stellar.expert/explorer/testnet", read: documents, rpc: [open("https://soroban-testnet.stellar.org")] }),
  stellar({ name: "futurenet", blockMs: 5_000, testnet: true, passphrase: "Test SDF Future Network ; October 2022", horizon: "https://horizon-futurenet.stellar.org", read: documents, rpc: [open("https://rpc-futurenet.stellar.org")] })
]

/** In the order of the list endpoint. */
export const builtin: ReadonlyArray<Network> = entries.map(({ network }) => network)

const batches = new Map(entries.flatMap(({ rpc }) => rpc.map(({ batch, url }) => [url, batch] as const)))

/** Calls in the largest batch that the provider of a built-in network takes. Undefined: unknown, or no URL of a built-in network. */
export const largestBatch = (url: string): number | undefined => {
  const known = batches.get(url)
  return known === "unknown" ? undefined : known
}
