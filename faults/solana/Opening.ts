// What cases about solana begin with: a cluster, a service, and relayers with funds.
import { Array, Effect } from "effect"
import type { Listening } from "../../testkit/process/Service.ts"
import type { Random } from "../Random.ts"
import * as Load from "../sending/Load.ts"
import * as Relayers from "../sending/Relayers.ts"
import type { Relayer } from "../sending/Relayers.ts"
import type * as Bank from "../../testkit/solana/Bank.ts"
import * as World from "../World.ts"
import * as Chain from "./Chain.ts"
import * as Effects from "./Effects.ts"

/** 100,000 SOL. */
const funds = 100_000_000_000_000n

/** Blocks after which the funds of the relayers are finalized. */
const settling = 40

/** Settings of the service. Checks are frequent, so that a disabled relayer is enabled soon after its providers answer. */
export const env = { ...Relayers.env, HEALTH_CHECK_INTERVAL_MS: "1000" }

interface Given {
  readonly count?: number
  readonly policies?: object
  /** Fields of the network that differ. */
  readonly network?: object
}

/** Creates the network and relayers on it, which have funds. */
export const relayersOn = Effect.fnUntraced(function* (
  service: Listening,
  { cluster, nodes }: Chain.Chain,
  { count = 4, network, policies }: Given = {}
) {
  yield* Relayers.create(service, "networks", {
    network_type: "solana",
    name: "cluster",
    rpc_urls: nodes.map(({ url }) => url),
    average_blocktime_ms: 400,
    is_testnet: true,
    ...network
  })
  const fields = {
    network: "cluster",
    network_type: "solana",
    policies: { fee_payment_strategy: "relayer", ...policies }
  }
  const relayers = yield* Effect.forEach(Array.range(1, count), () => Relayers.createOne(service, fields))
  for (const address of [...relayers.map((one) => one.address), Effects.userAddress, Effects.receiver]) {
    cluster.fund(address, funds)
  }
  cluster.produce(settling)
  return relayers
})

export const requestOn =
  ({ cluster }: Chain.Chain) =>
  (slot: number, { address }: Relayer) =>
    Effects.requestOf(cluster, slot, address)

interface Open extends Given {
  readonly providers?: number
  /** Executes transactions. Absent: the bank of the stand-in cluster. */
  readonly run?: Bank.Run
  /** Settings of the service that differ. */
  readonly env?: Readonly<Record<string, string>>
}

export const open = Effect.fnUntraced(function* ({ providers = 2, run, env: more, ...given }: Open = {}) {
  const world = yield* World.make
  const chain = yield* Chain.start(providers, run)
  const service = yield* world.listen({ ...env, ...more })
  const relayers = yield* relayersOn(service, chain, given)
  /** Sends through the relayers until `stop`. */
  const send = (random: Random) =>
    Load.start({ urls: () => [service.baseUrl], relayers, random, requestOf: requestOn(chain) })
  return { world, chain, service, relayers, send }
})
