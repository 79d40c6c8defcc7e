// The chain of the benchmark on stellar: the stand-in ledger, and relayers with funds, of which some get channels.
import { DateTime, Effect, Schedule, Schema } from "effect"
import type { Keypair } from "@stellar/stellar-sdk/base"
import { keyNamed } from "../../../testkit/stellar/Building.ts"
import * as Installation from "../../harness/Installation.ts"
import * as Http from "../Http.ts"
import * as World from "../World.ts"
import { plainOf } from "./Scale.ts"
import type { StellarScale } from "./Scale.ts"
import * as StandIn from "./StandIn.ts"

/** Milliseconds between two ledgers. Close times are whole seconds and rise, so that they cannot be closer. */
const ledgerMs = 1000

const network = "bench"

/** Stroops of a relayer: a million XLM. */
const funds = "10000000000000"

/** Stroops of a user. */
const userFunds = "1000000000"

/** Each transaction pays one stroop to it: its balance counts them. */
export const receiver = keyNamed("receiver of the benchmark").publicKey()

/** Requests stay valid for as long as a case can take. */
const validity = 3_600_000

const requestOf = (operation: object, now: number): string =>
  JSON.stringify({
    network,
    valid_until: DateTime.formatIso(DateTime.makeUnsafe(now + validity)),
    operations: [operation]
  })

const operation = { type: "payment", destination: receiver, amount: "1", asset: { type: "native" } }

export const bodyOf = (operation: object): string => requestOf(operation, performance.timeOrigin + performance.now())

export interface StellarWorld extends World.World {
  readonly standIn: StandIn.StandIn
  /** Without channels. */
  readonly plain: World.Group
  /** One relayer with few channels, and two with many, as soon as they are made. */
  readonly few: World.Group
  readonly many: World.Group
  /** New accounts with funds, and the next sequence of each. */
  readonly users: (count: number) => Effect.Effect<{ readonly keys: ReadonlyArray<Keypair>; readonly sequence: bigint }>
}

const createGroup = Effect.fnUntraced(function* (
  client: Http.Http,
  standIn: StandIn.StandIn,
  { count, from }: { readonly count: number; readonly from: number }
) {
  const relayers = yield* Effect.forEach(Array.from({ length: count }), (_, index) =>
    World.createRelayer(client, { network, network_type: "stellar" }, from + index)
  )
  yield* standIn.control({ grantAll: { addresses: relayers.map(({ address }) => address), stroops: funds } })
  // The ledger that contains a transaction confirms it.
  const group: World.Group = { relayers, confirmations: 0 }
  return group
})

export const make = Effect.fnUntraced(function* (version: World.Version, checkout: string, scale: StellarScale) {
  const standIn = yield* StandIn.start(ledgerMs)
  const installation = yield* Installation.make({ size: 0, contender: version, checkout, env: World.environment })
  const client = yield* Http.make(installation.service.url, 1, Installation.key)
  yield* World.create(client, "networks", {
    network_type: "stellar",
    name: network,
    passphrase: standIn.passphrase,
    rpc_urls: [standIn.url],
    average_blocktime_ms: ledgerMs,
    is_testnet: true
  })
  yield* standIn.control({ grant: { address: receiver, stroops: userFunds } })
  const count = plainOf(scale)
  const plain = yield* createGroup(client, standIn, { count, from: 0 })
  const few = yield* createGroup(client, standIn, { count: 1, from: count })
  const many = yield* createGroup(client, standIn, { count: 2, from: count + 1 })
  let made = 0
  const users = Effect.fnUntraced(function* (count: number) {
    const keys = Array.from({ length: count }, () => keyNamed(`user ${made++} of the benchmark`))
    const { ledger } = yield* standIn.control({
      grantAll: { addresses: keys.map((key) => key.publicKey()), stroops: userFunds }
    })
    // The sequence of a new account begins with the number of its ledger.
    return { keys, sequence: (BigInt(ledger) << 32n) + 1n }
  })
  const world: StellarWorld = {
    version,
    checkout,
    installation,
    heads: standIn.heads,
    blockTime: ledgerMs / 1000,
    body: () => bodyOf(operation),
    effects: Effect.map(standIn.control({ read: receiver }), ({ balance }) => Number(balance)),
    accepting: {
      ids: World.writeIds(installation, plain),
      transaction: bodyOf(operation),
      relayer: { network, network_type: "stellar" }
    },
    standIn,
    plain,
    few,
    many,
    users
  }
  return world
})

const Nonces = Schema.fromJsonString(
  Schema.Struct({ data: Schema.Struct({ channels: Schema.Array(Schema.Struct({ stage: Schema.String })) }) })
)

/** Gives the relayers of a group channels, and waits until they can be used. A part of the run that follows finds them. */
export const makeChannels = Effect.fnUntraced(function* (
  { client }: World.Sender,
  { relayers }: World.Group,
  count: number
) {
  for (const { id } of relayers) {
    yield* client.patch(`/api/v1/relayers/${id}`, JSON.stringify({ policies: { channels: { count } } }))
  }
  const ready = Effect.fnUntraced(function* (id: string) {
    const text = yield* client.get(`/api/v1/relayers/${id}/nonce`)
    return (yield* Schema.decodeEffect(Nonces)(text)).data.channels.filter(({ stage }) => stage === "ready").length
  })
  for (const { id } of relayers) {
    yield* Effect.repeat(ready(id), { until: (found) => found === count, schedule: Schedule.spaced("200 millis") })
  }
})
