// The chain of the benchmark on solana, and relayers with funds on three networks.
import { Effect } from "effect"
import { windowSize } from "../../../src/networks/solana/rules/SolanaNumbers.ts"
import * as Installation from "../../harness/Installation.ts"
import * as Http from "../Http.ts"
import * as World from "../World.ts"
import * as Control from "./Control.ts"
import * as Memos from "./Memos.ts"
import type { SolanaScale } from "./Scale.ts"

/** Each relayer has former transactions with the places below. */
export const firstPlace = 100_000

/** Lamports of each relayer: 100,000 SOL. */
const lamports = 100_000_000_000_000

interface NetworkOptions {
  readonly name: string
  /** Transactions of a relayer in flight. Absent: the default of the service. */
  readonly window?: number
  readonly providers: number
}

/** A wide window, so that one relayer is limited by the service. */
export const wide = { name: "bench", window: 1000, providers: 2 } as const satisfies NetworkOptions

/** What most users have. */
const usual = { name: "bench-usual", providers: 2 } as const satisfies NetworkOptions

const alone = { name: "bench-one", providers: 1 } as const satisfies NetworkOptions

const policies = { fee_payment_strategy: "relayer" } as const

const fieldsOn = (network: string): World.RelayerFields => ({ network, network_type: "solana", policies })

const createGroup = Effect.fnUntraced(function* (
  client: Http.Http,
  { fund, urls }: Control.Control,
  { name, providers, window }: NetworkOptions,
  count: number
) {
  yield* World.create(client, "networks", {
    network_type: "solana",
    name,
    rpc_urls: urls.slice(0, providers),
    average_blocktime_ms: 400,
    is_testnet: true,
    ...(window === undefined ? {} : { transaction_window: window })
  })
  const relayers = yield* Effect.forEach(Array.from({ length: count }), (_, index) =>
    World.createRelayer(client, fieldsOn(name), index)
  )
  yield* fund({ addresses: relayers.map(({ address }) => address), lamports })
  const group: World.Group = { relayers, confirmations: Control.finality }
  return group
})

/** The lanes of the relayers, as if the service had given away the places below `firstPlace`. */
const settleLanes = Effect.fnUntraced(function* (
  { sql }: Installation.Installation,
  { relayers }: World.Group,
  { name, window = windowSize }: NetworkOptions
) {
  yield* sql`
    INSERT INTO lanes (chain, address, window_size, next_nonce, chain_nonce, settled_nonce)
    SELECT ${`solana:${name}`}::text, address, ${window}::int, ${firstPlace}::int, ${firstPlace}::int, ${firstPlace}::int
    FROM unnest(${relayers.map(({ address }) => address)}::text[]) AS given (address)`
})

export interface SolanaWorld extends World.World {
  readonly control: Control.Control
  /** Two providers and a wide window, two with the default window, and one provider. */
  readonly wide: World.Group
  readonly usual: World.Group
  readonly alone: World.Group
}

export const make = Effect.fnUntraced(function* (version: World.Version, checkout: string, scale: SolanaScale) {
  const control = yield* Control.start(scale.blockMillis)
  const installation = yield* Installation.make({ size: 0, contender: version, checkout, env: World.environment })
  const client = yield* Http.make(installation.service.url, 1, Installation.key)
  const groups = {
    wide: yield* createGroup(client, control, wide, scale.lanes),
    usual: yield* createGroup(client, control, usual, scale.lanes),
    alone: yield* createGroup(client, control, alone, 1)
  }
  yield* settleLanes(installation, groups.wide, wide)
  yield* settleLanes(installation, groups.usual, usual)
  yield* settleLanes(installation, groups.alone, alone)
  const world: SolanaWorld = {
    version,
    checkout,
    installation,
    control,
    heads: control.heads,
    blockTime: scale.blockMillis / 1000,
    body: Memos.nextRequest,
    effects: control.effects,
    accepting: {
      ids: World.writeIds(installation, groups.wide),
      transaction: Memos.request,
      relayer: fieldsOn(wide.name)
    },
    ...groups
  }
  return world
})
