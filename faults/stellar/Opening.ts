// What cases about stellar begin with: a ledger, a service, and relayers with funds.
import { Array, Effect, Schema } from "effect"
import { until } from "../../testkit/process/Folder.ts"
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
  /** Channels of the first relayer. */
  readonly channels?: number
  /** Fields of the network that differ. */
  readonly network?: object
}

const Channels = Schema.fromJsonString(
  Schema.Struct({
    data: Schema.Struct({ channels: Schema.Array(Schema.Struct({ address: Schema.String, stage: Schema.String })) })
  })
)

/** The channels of a relayer. */
export const channelsOf = (service: Listening, { id }: Relayers.Relayer) =>
  service.call(`/api/v1/relayers/${id}/nonce`).pipe(
    Effect.flatMap(({ text }) => Schema.decodeEffect(Channels)(text)),
    Effect.map(({ data }) => data.channels),
    Effect.orDie
  )

/** Waits until the relayer can send by all of its new channels. */
const makeChannels = Effect.fnUntraced(function* (service: Listening, relayer: Relayers.Relayer, count: number) {
  const body = { policies: { channels: { count } } }
  const { status, text } = yield* service.call(`/api/v1/relayers/${relayer.id}`, { method: "PATCH", body })
  if (status !== 200) return yield* Effect.die(new Error(text))
  yield* until(
    `${count} channels`,
    Effect.map(channelsOf(service, relayer), (channels) =>
      channels.filter(({ stage }) => stage === "ready").length === count ? true : undefined
    ),
    "2 minutes"
  )
})

/** Creates the network and relayers on it, which have funds. Envelopes live for 15 seconds, the shortest time. */
export const relayersOn = Effect.fnUntraced(function* (
  service: Listening,
  chain: Chain.Chain,
  { channels = 0, count = 4, network, policies }: Given = {}
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
  const [first] = relayers
  if (channels > 0 && first !== undefined) yield* makeChannels(service, first, channels)
  return relayers
})

/** Milliseconds between two requests of one sender: a relayer has a transaction in most ledgers, and no more. */
export const pause = 1000

export const open = Effect.fnUntraced(function* (given: Given = {}) {
  const world = yield* World.make
  const chain = yield* Chain.start(given.providers ?? 2)
  const service = yield* world.listen(env)
  const relayers = yield* relayersOn(service, chain, given)
  /** Sends through the relayers until `stop`. `given`: milliseconds between two requests of one sender. */
  const send = (random: Random, given = pause) =>
    Load.start({ urls: () => [service.baseUrl], relayers, random, pause: given, requestOf: Chain.requestOf })
  return { chain, service, relayers, send }
})
