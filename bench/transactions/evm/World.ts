// The chain of the benchmark on evm: anvil, and relayers with funds on two networks.
import { Effect, Schema } from "effect"
import * as Anvil from "../../../testkit/Anvil.ts"
import * as Fill from "../../harness/Fill.ts"
import * as Installation from "../../harness/Installation.ts"
import * as Http from "../Http.ts"
import * as World from "../World.ts"
import * as Heads from "./Heads.ts"

/** Seconds. */
export const blockTime = 1

/** The nonce of each relayer's first transaction of the run: its former transactions have the nonces below. */
export const firstNonce = 100_000

/** Gas of a block: room for 10,000 transfers, so that blocks are never what is waited for. */
const blockGas = 210_000_000

/** Hex wei: a million ether. */
const funds = "0xd3c21bcecceda1000000"

/** A network on the node, and what its transactions wait for. */
interface NetworkOptions {
  readonly name: string
  readonly confirmations: number
  /** Transactions of a lane that wait for a block. Absent: the default of the service, which is 64. */
  readonly window?: number
}

/** A wide window, so that lanes are limited by the service. */
const wide: NetworkOptions = { name: "bench", confirmations: 1, window: 1000 }

/** Transactions of a lane that wait for a block if the network does not say it. */
const usualWindow = 64

/** What most users have. */
const usual: NetworkOptions = { name: "bench-usual", confirmations: 6 }

const networkBody = (url: string, { confirmations, name, window }: NetworkOptions) => ({
  network_type: "evm",
  name,
  chain_id: 31_337,
  rpc_urls: [url],
  average_blocktime_ms: blockTime * 1000,
  required_confirmations: confirmations,
  features: ["eip1559"],
  symbol: "ETH",
  ...(window === undefined ? {} : { transaction_window: window })
})

/** Each transaction sends 1 wei there: the balance counts them. */
export const receiver = `0x${"cd".repeat(20)}` as const

const body = JSON.stringify({ to: receiver, value: 1, gas_limit: 21_000, speed: "fast" })

type Node = Effect.Success<ReturnType<typeof Anvil.start>>

const createRelayer = Effect.fnUntraced(function* (client: Http.Http, node: Node, network: string, index: number) {
  const relayer = yield* World.createRelayer(client, { network, network_type: "evm" }, index)
  yield* node.call("anvil_setBalance", [relayer.address, funds])
  yield* node.call("anvil_setNonce", [relayer.address, `0x${firstNonce.toString(16)}`])
  return relayer
})

const createGroup = Effect.fnUntraced(function* (
  client: Http.Http,
  node: Node,
  options: NetworkOptions,
  count: number
) {
  yield* World.create(client, "networks", networkBody(node.url, options))
  const relayers = yield* Effect.forEach(Array.from({ length: count }), (_, index) =>
    createRelayer(client, node, options.name, index)
  )
  const group: World.Group = { relayers, confirmations: options.confirmations }
  return group
})

export interface EvmWorld extends World.World {
  readonly node: Node
  /** On the network with a wide window, and on one with the default window and six confirmations. */
  readonly wide: World.Group
  readonly usual: World.Group
}

/**
 * The lanes of the relayers, as if the service had settled the nonces below `firstNonce`. Otherwise it would ask the chain which
 * transactions used them, and there are none.
 */
const settleLanes = Effect.fnUntraced(function* (
  { sql }: Installation.Installation,
  node: Node,
  { relayers }: World.Group,
  { window = usualWindow }: NetworkOptions
) {
  const genesis = yield* node.call("eth_getBlockByNumber", ["0x0", false])
  const { hash } = yield* Schema.decodeUnknownEffect(Schema.Struct({ hash: Schema.String }))(genesis)
  const chainId = Number(yield* node.call("eth_chainId", []))
  yield* sql`
    INSERT INTO lanes (chain, address, window_size, next_nonce, chain_nonce, settled_nonce, chain_block, chain_hash)
    SELECT ${`evm:${chainId}`}::text, lower(address), ${window}::int, ${firstNonce}::int, ${firstNonce}::int, ${firstNonce}::int, 0,
      ${hash}
    FROM unnest(${relayers.map(({ address }) => address)}::text[]) AS given (address)`
})

export const make = Effect.fnUntraced(function* (version: World.Version, checkout: string, lanes: number) {
  const node = yield* Anvil.start({ blockTime, more: ["--gas-limit", String(blockGas)] })
  const installation = yield* Installation.make({ size: 0, contender: version, checkout, env: World.environment })
  const client = yield* Http.make(installation.service.url, 1, Installation.key)
  const groups = {
    wide: yield* createGroup(client, node, wide, lanes),
    usual: yield* createGroup(client, node, usual, lanes)
  }
  yield* settleLanes(installation, node, groups.wide, wide)
  yield* settleLanes(installation, node, groups.usual, usual)
  const world: EvmWorld = {
    version,
    checkout,
    installation,
    heads: yield* Heads.follow(node.url),
    blockTime,
    body: () => body,
    effects: Effect.map(node.call("eth_getBalance", [receiver, "latest"]), Number),
    accepting: {
      ids: World.writeIds(installation, groups.wide),
      transaction: body,
      relayer: { network: wide.name, network_type: "evm", policies: Fill.policies }
    },
    node,
    ...groups
  }
  return world
})
