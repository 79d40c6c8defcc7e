// The networks that come with the service. Chain ids, symbols and block times follow the chains' own documents; RPC URLs
// are the public ones, good for a first look and too slow for production: teams override them, and relayers bring their own
// in `custom_rpc_urls`. No network is ever removed: relayers use it, and networks of teams inherit from it.
import { NetworkName, networkId } from "../../domain/network/NetworkId.ts"
import type { EvmNetwork, Network, SolanaNetwork, StellarNetwork } from "../../domain/network/Network.ts"
import type { NetworkType } from "../../domain/network/NetworkId.ts"

interface Common {
  readonly name: string
  readonly rpc: ReadonlyArray<string>
  readonly explorer?: string
  readonly blockMs: number
  readonly testnet?: true
  readonly tags?: ReadonlyArray<string>
}

const common = (type: NetworkType, { name, rpc, explorer, blockMs, testnet, tags }: Common) => ({
  id: networkId(type, NetworkName.make(name)),
  name: NetworkName.make(name),
  source: "builtin" as const,
  rpc_urls: rpc.map((url) => ({ url, weight: 100 })),
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
): typeof EvmNetwork.Type => ({
  ...common("evm", network),
  network_type: "evm",
  chain_id: network.id,
  required_confirmations: network.confirmations,
  ...(network.legacy === true ? {} : { features: ["eip1559"] }),
  symbol: network.symbol ?? "ETH"
})

const solana = (network: Common): typeof SolanaNetwork.Type => ({
  ...common("solana", network),
  network_type: "solana"
})

const stellar = (
  network: Common & { readonly passphrase: string; readonly horizon: string }
): typeof StellarNetwork.Type => ({
  ...common("stellar", network),
  network_type: "stellar",
  passphrase: network.passphrase,
  horizon_url: network.horizon
})

const optimism = ["rollup", "optimism-based"]
const arbitrum = ["rollup", "arbitrum-based", "no-mempool"]
const rollup = ["rollup"]

/** In the order of the list endpoint. */
// A row per network reads better.
// oxfmt-ignore
export const builtin: ReadonlyArray<Network> = [
  evm({ name: "mainnet", id: 1, confirmations: 12, blockMs: 12_000, explorer: "https://etherscan.io", rpc: ["https://ethereum-rpc.publicnode.com", "https://eth.drpc.org"] }),
  evm({ name: "sepolia", id: 11155111, confirmations: 6, blockMs: 12_000, testnet: true, explorer: "https://sepolia.etherscan.io", rpc: ["https://ethereum-sepolia-rpc.publicnode.com", "https://sepolia.drpc.org"] }),
  evm({ name: "holesky", id: 17000, confirmations: 6, blockMs: 12_000, testnet: true, explorer: "https://holesky.etherscan.io", rpc: ["https://ethereum-holesky-rpc.publicnode.com"] }),
  evm({ name: "hoodi", id: 560048, confirmations: 6, blockMs: 12_000, testnet: true, explorer: "https://hoodi.etherscan.io", rpc: ["https://rpc.hoodi.ethpandaops.io"] }),
  evm({ name: "polygon", id: 137, confirmations: 1, blockMs: 2_000, symbol: "POL", explorer: "https://polygonscan.com", rpc: ["https://polygon-bor-rpc.publicnode.com", "https://polygon.drpc.org"] }),
  evm({ name: "polygon-amoy", id: 80002, confirmations: 1, blockMs: 2_000, symbol: "POL", testnet: true, explorer: "https://amoy.polygonscan.com", rpc: ["https://rpc-amoy.polygon.technology", "https://polygon-amoy.drpc.org"] }),
  evm({ name: "arbitrum-one", id: 42161, confirmations: 1, blockMs: 250, tags: arbitrum, explorer: "https://arbiscan.io", rpc: ["https://arb1.arbitrum.io/rpc"] }),
  evm({ name: "arbitrum-sepolia", id: 421614, confirmations: 1, blockMs: 250, tags: arbitrum, testnet: true, explorer: "https://sepolia.arbiscan.io", rpc: ["https://sepolia-rollup.arbitrum.io/rpc"] }),
  evm({ name: "optimism", id: 10, confirmations: 1, blockMs: 2_000, tags: optimism, explorer: "https://optimistic.etherscan.io", rpc: ["https://mainnet.optimism.io"] }),
  evm({ name: "optimism-sepolia", id: 11155420, confirmations: 1, blockMs: 2_000, tags: optimism, testnet: true, explorer: "https://optimism-sepolia.blockscout.com", rpc: ["https://sepolia.optimism.io"] }),
  evm({ name: "base", id: 8453, confirmations: 1, blockMs: 2_000, tags: optimism, explorer: "https://basescan.org", rpc: ["https://mainnet.base.org"] }),
  evm({ name: "base-sepolia", id: 84532, confirmations: 1, blockMs: 2_000, tags: optimism, testnet: true, explorer: "https://sepolia.basescan.org", rpc: ["https://sepolia.base.org"] }),
  evm({ name: "unichain", id: 130, confirmations: 1, blockMs: 1_000, tags: optimism, explorer: "https://uniscan.xyz", rpc: ["https://mainnet.unichain.org"] }),
  evm({ name: "unichain-sepolia", id: 1301, confirmations: 1, blockMs: 1_000, tags: optimism, testnet: true, explorer: "https://sepolia.uniscan.xyz", rpc: ["https://sepolia.unichain.org"] }),
  evm({ name: "worldchain", id: 480, confirmations: 1, blockMs: 2_000, tags: optimism, explorer: "https://worldscan.org", rpc: ["https://worldchain-mainnet.g.alchemy.com/public"] }),
  evm({ name: "linea", id: 59144, confirmations: 1, blockMs: 2_000, tags: rollup, explorer: "https://lineascan.build", rpc: ["https://rpc.linea.build"] }),
  evm({ name: "linea-sepolia", id: 59141, confirmations: 1, blockMs: 2_000, tags: rollup, testnet: true, explorer: "https://sepolia.lineascan.build", rpc: ["https://rpc.sepolia.linea.build"] }),
  evm({ name: "scroll", id: 534352, confirmations: 1, blockMs: 3_000, tags: rollup, explorer: "https://scrollscan.com", rpc: ["https://rpc.scroll.io"] }),
  evm({ name: "scroll-sepolia", id: 534351, confirmations: 1, blockMs: 3_000, tags: rollup, testnet: true, explorer: "https://sepolia.scrollscan.com", rpc: ["https://sepolia-rpc.scroll.io"] }),
  evm({ name: "zksync", id: 324, confirmations: 1, blockMs: 1_000, tags: rollup, explorer: "https://explorer.zksync.io", rpc: ["https://mainnet.era.zksync.io"] }),
  evm({ name: "zksync-sepolia", id: 300, confirmations: 1, blockMs: 1_000, tags: rollup, testnet: true, explorer: "https://sepolia.explorer.zksync.io", rpc: ["https://sepolia.era.zksync.dev"] }),
  evm({ name: "avalanche", id: 43114, confirmations: 1, blockMs: 1_700, symbol: "AVAX", explorer: "https://snowtrace.io", rpc: ["https://api.avax.network/ext/bc/C/rpc"] }),
  evm({ name: "avalanche-fuji", id: 43113, confirmations: 1, blockMs: 1_700, symbol: "AVAX", testnet: true, explorer: "https://testnet.snowtrace.io", rpc: ["https://api.avax-test.network/ext/bc/C/rpc"] }),
  evm({ name: "binance-smart-chain", id: 56, confirmations: 1, blockMs: 750, symbol: "BNB", legacy: true, explorer: "https://bscscan.com", rpc: ["https://bsc-dataseed.bnbchain.org", "https://bsc-rpc.publicnode.com"] }),
  evm({ name: "binance-smart-chain-testnet", id: 97, confirmations: 1, blockMs: 750, symbol: "tBNB", legacy: true, testnet: true, explorer: "https://testnet.bscscan.com", rpc: ["https://data-seed-prebsc-1-s1.bnbchain.org:8545"] }),
  evm({ name: "celo", id: 42220, confirmations: 1, blockMs: 1_000, symbol: "CELO", explorer: "https://celoscan.io", rpc: ["https://forno.celo.org"] }),
  evm({ name: "celo-sepolia", id: 11142220, confirmations: 1, blockMs: 1_000, symbol: "CELO", testnet: true, explorer: "https://celo-sepolia.blockscout.com", rpc: ["https://forno.celo-sepolia.celo-testnet.org"] }),
  evm({ name: "gnosis", id: 100, confirmations: 12, blockMs: 5_000, symbol: "XDAI", explorer: "https://gnosisscan.io", rpc: ["https://rpc.gnosischain.com"] }),
  evm({ name: "mantle", id: 5000, confirmations: 1, blockMs: 2_000, symbol: "MNT", tags: optimism, explorer: "https://mantlescan.xyz", rpc: ["https://rpc.mantle.xyz"] }),
  evm({ name: "sonic", id: 146, confirmations: 1, blockMs: 630, symbol: "S", explorer: "https://sonicscan.org", rpc: ["https://rpc.soniclabs.com"] }),
  evm({ name: "localhost-anvil", id: 31337, confirmations: 1, blockMs: 1_000, testnet: true, rpc: ["http://127.0.0.1:8545"] }),

  solana({ name: "mainnet-beta", blockMs: 400, explorer: "https://explorer.solana.com", rpc: ["https://api.mainnet-beta.solana.com"] }),
  solana({ name: "testnet", blockMs: 400, testnet: true, explorer: "https://explorer.solana.com?cluster=testnet", rpc: ["https://api.testnet.solana.com"] }),
  solana({ name: "devnet", blockMs: 400, testnet: true, explorer: "https://explorer.solana.com?cluster=devnet", rpc: ["https://api.devnet.solana.com"] }),

  stellar({ name: "mainnet", blockMs: 5_000, passphrase: "Public Global Stellar Network ; September 2015", horizon: "https://horizon.stellar.org", explorer: "https://stellar.expert/explorer/public", rpc: ["https://mainnet.sorobanrpc.com"] }),
  stellar({ name: "testnet", blockMs: 5_000, testnet: true, passphrase: "Test SDF Network ; September 2015", horizon: "https://horizon-testnet.stellar.org", explorer: "https://stellar.expert/explorer/testnet", rpc: ["https://soroban-testnet.stellar.org"] }),
  stellar({ name: "futurenet", blockMs: 5_000, testnet: true, passphrase: "Test SDF Future Network ; October 2022", horizon: "https://horizon-futurenet.stellar.org", rpc: ["https://rpc-futurenet.stellar.org"] })
]
