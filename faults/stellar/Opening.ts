// What cases about stellar begin with: a ledger, a service, and relayers with funds.
import { Array, Effect } from "effect"
import type { Listening } from "../../testkit/process/Service.ts"
import type { Random } from "../Random.ts"
import * as Load from "../sending/Load.ts"
import * as Relayers from "../sending/Relayers.ts"
import * as World from "../World.ts"
import * as Chain from "./Chain.ts"

/** 100,000 XLM. */
const funds = 1_000_000_000_000n

/** Settings of the service. Checks are frequent, so that a disabled relayer is enabled soon after its providers answer. */
export const env = { ...Relayers.env, HEALTH_CHECK_INTERVAL_MS: "1000" }

interface Given {
  readonly count?: number
  /** Providers of the network. */
  readonly providers?: number
  readonly policies?: object
  /** Fields of the network that differ. */
  readonly network?: object
}

/** Creates the network and relayers on it, which have funds. Envelopes live for 15 seconds, the shortest time. */
export const relayersOn = Effect.fnUntraced(function* (
  service: Listening,
  chain: Chain.Chain,
  { count = 4, network, policies }: Given = {}
) {
  yield* Relayers.create(service, "networks", {
    network_type: "stellar",
    name: "stand-in",
    passphrase: chain.passphrase,
    rpc_urls: chain.urls,
    average_blocktime_ms: Chain.ledgerMillis,
    is_testnet: true,
    ...network
  })
  const fields = { network: "stand-in", network_type: "stellar", policies: { timeout_seconds: 15, ...policies } }
  const relayers = yield* Effect.forEach(Array.range(1, count), () => Relayers.createOne(service, fields))
  for (const { address } of relayers) chain.network.grant(address, funds)
  return relayers
})

/** Milliseconds between two requests of one sender: a relayer has a transaction in most ledgers, and no more. */
export const pause = 1000

export const open = Effect.fnUntraced(function* (given: Given = {}) {
  const world = yield* World.make
  const chain = yield* Chain.start(given.providers ?? 2)
  const service = yield* world.listen(env)
  const relayers = yield* relayersOn(service, chain, given)
  /** Sends through the relayers until `stop`. */
  const send = (random: Random) =>
    Load.start({ urls: () => [service.baseUrl], relayers, random, pause, requestOf: Chain.requestOf })
  return { chain, service, relayers, send }
})
