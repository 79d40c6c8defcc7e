// Lanes of one evm account whose relayer has one node in memory, for tests with a fake ledger. Each lane has one transaction.
import { Effect, Redacted } from "effect"
import { RelayerId } from "../../../../src/domain/relayer/Relayer.ts"
import { TransactionId } from "../../../../src/networks/core/TransactionValues.ts"
import * as EvmMarkets from "../../../../src/networks/evm/chain/EvmMarkets.ts"
import { makeEvmProviders, makeHeads, makePrivateProviders } from "../../../../src/networks/evm/chain/EvmNodes.ts"
import type { ChainIdentity } from "../../../../src/networks/evm/chain/EvmNodes.ts"
import * as EvmLane from "../../../../src/networks/evm/lane/EvmLane.ts"
import { laneOf } from "../../../../src/networks/evm/rules/Evm.ts"
import type { LaneId, StoredLane } from "../../../../src/server/ledger/LedgerEntries.ts"
import * as LocalKey from "../../../../src/server/signers/backends/LocalKey.ts"
import { pending } from "../../../networks/evm/rules/Fixtures.ts"
import { newLane } from "../../../networks/evm/rules/simulation/World.ts"
import * as Chain from "./Chain.ts"
import * as Node from "./Node.ts"
import * as World from "./World.ts"

const chain = "evm:31337"

export const storedAt = (id: LaneId): StoredLane => ({
  id,
  chain,
  lane: laneOf({ ...newLane(), address: World.address }),
  trustsCount: false,
  nextPollAt: 0,
  isHeld: true
})

export const waitingIn = (laneId: LaneId) => ({
  id: TransactionId.make(`00000000-0000-4000-8000-${String(laneId).padStart(12, "0")}`),
  version: 1,
  laneId,
  relayerId: RelayerId.make("r1"),
  chain,
  from: World.address,
  transaction: pending({ validUntil: 1e12 })
})

/** The transaction after it has ended. */
export const endedIn = (laneId: LaneId) => {
  const waiting = waitingIn(laneId)
  return { ...waiting, transaction: { ...waiting.transaction, state: "failed" as const } }
}

/** Network, relayers and signers of a lane. */
export const make = (over: World.Given["network"] = {}) => {
  const node = Node.make(Chain.make(), "http://node.example")
  const urls = [{ url: node.url, weight: 100 }]
  const target = { relayer: World.relayerOf(), version: "1", network: World.networkOf(over), urls }
  const backend = LocalKey.make(Redacted.make(World.key))
  const nodes = {
    providers: (urls: Parameters<typeof makeEvmProviders>[1], identity: ChainIdentity) =>
      makeEvmProviders(() => node.node, urls, identity),
    privateProviders: (urls: Parameters<typeof makePrivateProviders>[1], chainId: number) =>
      makePrivateProviders(() => node.node, urls, chainId),
    heads: makeHeads(),
    markets: EvmMarkets.make()
  }
  const network = EvmLane.networkOf(nodes, () => Effect.succeed(new Set()))
  const targets = { get: () => Effect.succeed(target), getRemembering: () => Effect.succeed(target), known: () => [] }
  return { network, target, targets, signers: { use: () => Effect.succeed(backend) } }
}
