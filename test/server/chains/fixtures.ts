// Relayers, their networks, and the services that call their chains, all on this machine.
import { Context, Effect, Layer, Schema } from "effect"
import { RpcConfig } from "../../../src/domain/chain/Rpc.ts"
import { Network } from "../../../src/domain/network/Network.ts"
import { Relayer } from "../../../src/domain/relayer/Relayer.ts"
import { makeAllowList, Outbound } from "../../../src/outbound/Outbound.ts"
import { Breakers } from "../../../src/server/chains/Breakers.ts"
import type { BreakersOptions as BreakerOptions } from "../../../src/server/chains/Breakers.ts"
import { Chains } from "../../../src/server/chains/Chains.ts"
import { makeProviders } from "../../../src/server/chains/Providers.ts"
import type { PoolOptions } from "../../../src/server/chains/Providers.ts"
import type { RetryOptions, RpcNode } from "../../../src/server/chains/RpcNode.ts"
import { ChainAccess, RpcNodes } from "../../../src/server/chains/RpcNodes.ts"
import { evmDialect } from "../../../src/networks/evm/chain/EvmNodes.ts"
import { networks } from "../../../src/process/Networks.ts"
import * as StellarRpc from "../../../testkit/StellarRpc.ts"

const toRelayer = Schema.decodeUnknownSync(Relayer)
const toNetwork = Schema.decodeUnknownSync(Network)
const toUrls = Schema.decodeUnknownSync(Schema.Array(RpcConfig))

/** RPC configurations with the given weights, or with the default weight. */
export const urls = (...given: ReadonlyArray<string | { readonly url: string; readonly weight: number }>) =>
  toUrls(given.map((each) => (typeof each === "string" ? { url: each } : each)))

const relayer = (fields: object) =>
  toRelayer({ id: "r", name: "R", paused: false, system_disabled: false, signer_id: "s", ...fields })

const network = (network_type: string, name: string, fields: object = {}) =>
  toNetwork({
    id: `${network_type}:${name}`,
    name,
    network_type,
    source: "builtin",
    rpc_urls: [{ url: "http://unused.example/***", weight: 100 }],
    average_blocktime_ms: 1000,
    is_testnet: true,
    ...fields
  })

interface Given {
  readonly address?: string
  readonly policies?: object
  readonly chain_id?: number
}

export const evm = ({ address = `0x${"ab".repeat(20)}`, chain_id = 11155111, policies = {} }: Given = {}) => ({
  relayer: relayer({ network_type: "evm", network: "sepolia", address, policies }),
  network: network("evm", "sepolia", { chain_id, required_confirmations: 1, symbol: "ETH" })
})

export const solana = ({ policies = {} }: Given = {}) => ({
  relayer: relayer({
    network_type: "solana",
    network: "devnet",
    address: "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU",
    policies
  }),
  network: network("solana", "devnet")
})

export const stellar = ({ policies = {} }: Given = {}) => ({
  relayer: relayer({
    network_type: "stellar",
    network: "testnet",
    address: StellarRpc.address,
    policies: { fee_payment_strategy: "relayer", ...policies }
  }),
  network: network("stellar", "testnet", { passphrase: "Test SDF Network ; September 2015" })
})

const chainId = { method: "eth_chainId", params: [], result: Schema.String }

/** Asks a node for its chain id. */
export const ask = (node: RpcNode) => node.call(chainId)

/** What `EvmRpc` answers to it. */
export const answer = "0xaa36a7"

interface Options extends Partial<RetryOptions> {
  readonly allow?: string
  readonly breaker?: BreakerOptions
  readonly budgetMs?: number
  readonly prove?: PoolOptions["prove"]
}

const inspections = Chains.layerNoDeps(
  Effect.map(
    Effect.forEach(networks, ({ open, rules }) =>
      Effect.map(open, ({ inspection }) => [rules.type, inspection] as const)
    ),
    (kinds) => new Map(kinds)
  )
)

/** Chains and providers that share their nodes. By default, there are no waits between tries and no short time limits. */
export const make = ({
  allow = "127.0.0.0/8",
  breaker,
  budgetMs = 1e9,
  prove = () => Effect.void,
  ...retry
}: Options = {}) => {
  const layer = inspections.pipe(
    Layer.provideMerge(RpcNodes.layerNoDeps({ backOffMs: 0, timeoutMs: 1e8, ...retry })),
    Layer.provideMerge(Breakers.layer(breaker)),
    Layer.provide(ChainAccess.layer),
    Layer.provide(Outbound.layer({ allow: makeAllowList([allow]), timeout: "1 days" }))
  )
  return Effect.map(Layer.build(layer), (context) => {
    const nodes = Context.get(context, RpcNodes)
    const providers = (given: ReadonlyArray<RpcConfig>) =>
      makeProviders({ nodeOf: (url) => nodes.of(evmDialect, url), prove, budgetMs }, given)
    return {
      chains: Context.get(context, Chains),
      breaker: (url: string) => Context.get(context, Breakers).of(url),
      providers,
      /** Asks providers in a new order for the chain id. */
      call: (given: ReadonlyArray<RpcConfig>) => Effect.flatMap(providers(given), ({ first }) => first(ask))
    }
  })
}

/** Lets the event loop run until `holds` returns true. */
export const until = (holds: () => boolean, each: Effect.Effect<void> = Effect.void): Effect.Effect<void> =>
  Effect.gen(function* () {
    while (!holds()) {
      yield* each
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    }
  })
