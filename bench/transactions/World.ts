// What the benchmark of transactions runs on: a node, a service that only accepts, with the database, and relayers with funds.
// A second service on the same database sends.
import { Effect, Schema } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Anvil from "../../testkit/Anvil.ts"
import * as Folder from "../harness/Folder.ts"
import * as Installation from "../harness/Installation.ts"
import * as Confirmations from "./Confirmations.ts"
import * as Heads from "./Heads.ts"
import * as Http from "./Http.ts"

/** Seconds. */
export const blockTime = 1

/** The nonce of each relayer's first transaction of the run: its former transactions have the nonces below. */
export const firstNonce = 100_000

/** Gas of a block: room for 10,000 transfers, so that blocks are never what is waited for. */
const blockGas = 210_000_000

/** Hex wei: a million ether. */
const funds = "0xd3c21bcecceda1000000"

/** Connections of a client that sends a burst. */
const connections = 64

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

export const { name: network } = wide

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

/** Neither service may call anything but the node. Relayers are checked once: calls that follow are about transactions. */
const environment = { OUTBOUND_ALLOW: "127.0.0.1", HEALTH_CHECK_INTERVAL_MS: "86400000" }

const Created = Schema.fromJsonString(
  Schema.Struct({ data: Schema.Struct({ id: Schema.String, address: Schema.optionalKey(Schema.String) }) })
)

const create = Effect.fnUntraced(function* (client: Http.Http, resource: string, body: object) {
  const text = yield* client.post(`/api/v1/${resource}`, JSON.stringify(body))
  return (yield* Schema.decodeEffect(Created)(text)).data
})

export interface Relayer {
  readonly id: string
  readonly address: string
}

/** The id of its signer differs from those that the creation of relayers uses. */
const createRelayer = Effect.fnUntraced(function* (client: Http.Http, node: Node, network: string, index: number) {
  const signer = yield* create(client, "signers", { id: `${network}-${index}`, type: "plain" })
  const body = { name: "R", network, network_type: "evm", paused: false, signer_id: signer.id }
  const { id, address = "" } = yield* create(client, "relayers", body)
  yield* node.call("anvil_setBalance", [address, funds])
  yield* node.call("anvil_setNonce", [address, `0x${firstNonce.toString(16)}`])
  const relayer: Relayer = { id, address }
  return relayer
})

type Version = "now" | "before"

type Node = Effect.Success<ReturnType<typeof Anvil.start>>

/** Relayers of one network. */
export interface Group {
  readonly relayers: ReadonlyArray<Relayer>
  /** Blocks from that of a transaction to the one that confirms it. */
  readonly confirmations: number
}

const createGroup = Effect.fnUntraced(function* (
  client: Http.Http,
  node: Node,
  options: NetworkOptions,
  count: number
) {
  yield* create(client, "networks", networkBody(node.url, options))
  const relayers = yield* Effect.forEach(Array.from({ length: count }), (_, index) =>
    createRelayer(client, node, options.name, index)
  )
  const group: Group = { relayers, confirmations: options.confirmations }
  return group
})

export interface World {
  /** `now`, or `before` for an earlier checkout. */
  readonly version: Version
  /** The folder of a built checkout of the service. */
  readonly checkout: string
  readonly node: Node
  readonly heads: Heads.Heads
  /** Accepts, and sends nothing. */
  readonly installation: Installation.Installation
  /** On the network with a wide window, and on one with the default window and six confirmations. */
  readonly wide: Group
  readonly usual: Group
  /** A file with the ids of the first ones, one per line. */
  readonly ids: string
}

/**
 * The lanes of the relayers, as if the service had settled the nonces below `firstNonce`. Otherwise it would ask the chain which
 * transactions used them, and there are none.
 */
const settleLanes = Effect.fnUntraced(function* (
  { sql }: Installation.Installation,
  node: Node,
  { relayers }: Group,
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

const makeEvm = Effect.fnUntraced(function* (version: Version, checkout: string, lanes: number) {
  const node = yield* Anvil.start({ blockTime, more: ["--gas-limit", String(blockGas)] })
  const installation = yield* Installation.make({ size: 0, contender: version, checkout, env: environment })
  const client = yield* Http.make(installation.service.url, 1, Installation.key)
  const groups = {
    wide: yield* createGroup(client, node, wide, lanes),
    usual: yield* createGroup(client, node, usual, lanes)
  }
  yield* settleLanes(installation, node, groups.wide, wide)
  yield* settleLanes(installation, node, groups.usual, usual)
  const ids = path.join(installation.folder, "relayers")
  fs.writeFileSync(ids, groups.wide.relayers.map(({ id }) => id).join("\n"))
  const heads = yield* Heads.follow(node.url)
  const world: World = { version, checkout, node, heads, installation, ids, ...groups }
  return world
})

/** The networks that the benchmark has, with the world of each. */
export const makers = { evm: makeEvm } as const

/** A running service that sends, and what is seen of it. */
export interface Sender extends World {
  readonly pid: number
  readonly url: string
  readonly client: Http.Http
  readonly confirmations: Confirmations.Confirmations
}

/** Starts the service that sends. It ends with the scope. */
export const startSender = Effect.fnUntraced(function* (world: World) {
  const { pid, url } = yield* Installation.startService({
    contender: `sender ${world.version}`,
    checkout: world.checkout,
    dataDir: yield* Folder.temporary,
    env: { ...Installation.databaseOf(world.installation), ...environment, WATCH: "on" }
  })
  const client = yield* Http.make(url, connections, Installation.key)
  const sender: Sender = { ...world, pid, url, client, confirmations: yield* Confirmations.follow(url) }
  return sender
})
