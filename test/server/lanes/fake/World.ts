// The driver of one lane on the ledger of the test, with nodes in memory. A step of the driver runs when a test says so; between two
// steps the test clock moves by the time of a block.
import { assert } from "@effect/vitest"
import { Array, Effect, Random, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { randomUUID } from "node:crypto"
import { privateKeyToAccount } from "viem/accounts"
import { NetworkId, NetworkName } from "../../../../src/domain/network/Network.ts"
import type { EvmNetwork } from "../../../../src/domain/network/Network.ts"
import type { EvmPolicy } from "../../../../src/domain/relayer/Policy.ts"
import { EvmRelayer, RelayerId } from "../../../../src/domain/relayer/Relayer.ts"
import { SignerId } from "../../../../src/domain/signer/Signer.ts"
import { LaneLedger } from "../../../../src/server/ledger/LaneLedger.ts"
import { Ledger } from "../../../../src/server/ledger/Ledger.ts"
import { LedgerMemory } from "../../../../src/server/ledger/memory/LedgerMemory.ts"
import type { Tables } from "../../../../src/server/ledger/memory/LedgerMemory.ts"
import { TransactionId } from "../../../../src/networks/core/TransactionValues.ts"
import * as EvmMarkets from "../../../../src/networks/evm/chain/EvmMarkets.ts"
import { makeEvmProviders, makeHeads, makePrivateProviders } from "../../../../src/networks/evm/chain/EvmNodes.ts"
import type { ChainIdentity } from "../../../../src/networks/evm/chain/EvmNodes.ts"
import * as EvmLane from "../../../../src/networks/evm/lane/EvmLane.ts"
import { noncesOf } from "../../../../src/networks/evm/rules/Evm.ts"
import { makeLaneKeys } from "../../../../src/server/lanes/LaneNetwork.ts"
import type { KeyOptions } from "../../../../src/server/lanes/LaneNetwork.ts"
import * as LaneStep from "../../../../src/server/lanes/LaneStep.ts"
import { emptyMemory, makeBlockArrivals, makePulse } from "../../../../src/server/lanes/StepState.ts"
import type { LaneContext } from "../../../../src/server/lanes/StepState.ts"
import type { Account, Hold, LaneContents, NewTransaction } from "../../../../src/server/ledger/LedgerEntries.ts"
import * as LocalKey from "../../../../src/server/signers/backends/LocalKey.ts"
import type { SignerBackend } from "../../../../src/server/signers/backends/SignerBackend.ts"
import { withNonce } from "../../../../testkit/EvmRows.ts"
import { accept } from "../../../../testkit/LedgerRows.ts"
import { claimOne } from "../../ledger/Fixtures.ts"
import * as Chain from "./Chain.ts"
import * as Node from "./Node.ts"

export const key = `0x${"42".repeat(32)}` as const
const signer = privateKeyToAccount(key)

/** The address of the account, in lower case. */
export const address = signer.address.toLowerCase() as `0x${string}`

/** Transactions of tests pay 1 wei to it, if they do not say otherwise. */
export const receiver = `0x${"ab".repeat(20)}` as const

/** Milliseconds between two blocks. */
export const blockTime = 1000

export interface Given {
  readonly providers?: number
  readonly network?: Partial<typeof EvmNetwork.Type>
  readonly policies?: EvmPolicy
  /** Providers of a second relayer of the account, which has URLs of its own. */
  readonly own?: number
  /** Private providers of the network. */
  readonly privately?: number
}

/** The first that is given is asked first. */
const inOrder = { nextDoubleUnsafe: () => 0.5, nextIntUnsafe: () => 0 }

/** The providers of these nodes, of which the first one is asked first. */
export const providersInOrder = ([first, ...others]: ReadonlyArray<Node.Node>) => {
  if (first === undefined) return assert.fail("no node")
  const nodes = [first, ...others]
  const nodeAt = (url: string) => (nodes.find((node) => node.url === url) ?? first).node
  const urls = nodes.map(({ url }) => ({ url, weight: 100 }))
  return Effect.provideService(makeEvmProviders(nodeAt, urls, { chainId: 31_337 }), Random.Random, inOrder)
}

export const networkOf = (over: Given["network"] = {}): typeof EvmNetwork.Type => ({
  id: NetworkId.make("evm:local"),
  name: NetworkName.make("local"),
  source: "own",
  network_type: "evm",
  rpc_urls: [],
  average_blocktime_ms: blockTime,
  is_testnet: true,
  chain_id: 31_337,
  required_confirmations: 2,
  features: ["eip1559"],
  symbol: "ETH",
  ...over
})

export const relayerOf = (policies: EvmPolicy = {}) =>
  EvmRelayer.make({
    id: RelayerId.make("r1"),
    name: "R",
    network: NetworkName.make("local"),
    address,
    paused: false,
    system_disabled: false,
    signer_id: SignerId.make("s1"),
    network_type: "evm",
    policies
  })

/** The second relayer of the account. */
const ownId = RelayerId.make("r2")

export const make = Effect.fnUntraced(function* ({
  providers = 1,
  network,
  policies = {},
  own = 0,
  privately = 0
}: Given = {}) {
  const lanes = yield* LaneLedger
  const ledger = yield* Ledger
  const chain = Chain.make()
  const nodes = Array.makeBy(providers, (index) => Node.make(chain, `http://node-${index}.example`))
  const ownNodes = own === 0 ? [] : Array.makeBy(own, (index) => Node.make(chain, `http://own-${index}.example`))
  const privateNodes = Array.makeBy(privately, (index) => Node.make(chain, `http://private-${index}.example`))
  const urlsOf = (all: ReadonlyArray<Node.Node>) => all.map(({ url }) => ({ url, weight: 100 }))
  const urls = urlsOf(nodes)
  const account: Account = {
    relayerId: RelayerId.make("r1"),
    relayerNumber: 1,
    chain: "evm:31337",
    address,
    window: 64
  }
  const { publicKey, sign } = LocalKey.make(Redacted.make(key))
  let hold: Hold | undefined
  const contents = Effect.suspend(() => (hold === undefined ? Effect.die("no lane is held") : lanes.read(hold)))

  const world = {
    chain,
    key,
    nodes,
    ownNodes,
    privateNodes,
    account,
    /** Accounts of further relayers, in lower case. */
    relayers: new Set<string>(),
    relayer: relayerOf(policies),
    network: networkOf({ ...(privately === 0 ? {} : { private_rpc_urls: urlsOf(privateNodes) }), ...network }),
    /** What the signer does. */
    sign,
    context: undefined as LaneContext | undefined,
    /** When the database was started, by the test clock. */
    databaseStartedAt: 0,
    accept: (count = 1, over: Partial<NewTransaction> = {}) => accept(account, count, over),
    /** The same by the relayer with URLs of its own. */
    acceptOwn: (count = 1, over: Partial<NewTransaction> = {}) =>
      accept({ ...account, relayerId: ownId, relayerNumber: 2 }, count, over),
    transaction: (id: TransactionId) => Effect.map(ledger.get(1, id), withNonce),
    ownTransaction: (id: TransactionId) => Effect.map(ledger.get(2, id), withNonce),
    /** The lane and its open transactions. */
    contents,
    lane: Effect.map(contents, ({ stored }) => noncesOf(stored.lane))
  }

  const nodeOf = (url: string) =>
    [...nodes, ...ownNodes, ...privateNodes].find((node) => node.url === url)?.node ?? nodes[0]!.node

  const targetOf = (id: RelayerId) => {
    const target = { version: "1", network: world.network, privateUrls: urlsOf(privateNodes) }
    if (id !== ownId) return { ...target, relayer: world.relayer, urls }
    const ownUrls = urlsOf(ownNodes)
    return { ...target, relayer: { ...world.relayer, id: ownId, custom_rpc_urls: ownUrls }, urls: ownUrls }
  }

  const backend: SignerBackend = {
    curves: ["secp256k1"],
    publicKey,
    sign: (curve, message) => world.sign(curve, message)
  }

  const asStarted = (contents: LaneContents): LaneContents => ({
    ...contents,
    stored: { ...contents.stored, databaseStartedAt: world.databaseStartedAt }
  })

  let copy: Tables | undefined
  const copied = Effect.flatMap(LedgerMemory, (memory) => Effect.map(memory.copy, (tables) => void (copy = tables)))

  /** The database is put back from a copy: the tables of the ledger are as they were then. */
  const putBack = Effect.gen(function* () {
    yield* (yield* LedgerMemory).putBack(copy ?? assert.fail("nothing was copied"))
    hold = undefined
    world.context = undefined
  })

  /** A process that remembers nothing holds the lane from now on. */
  const claim = Effect.gen(function* () {
    if (hold !== undefined) yield* lanes.release(hold, "draining")
    const claimed = yield* claimOne
    hold = claimed.hold
    const { genesis } = claimed.stored
    const heads = makeHeads()
    const nodes: Parameters<typeof EvmLane.networkOf>[0] = {
      providers: (given: Parameters<typeof makeEvmProviders>[1], identity: ChainIdentity) =>
        Effect.provideService(makeEvmProviders(nodeOf, given, identity, heads.stalledLast), Random.Random, inOrder),
      privateProviders: (urls, chainId) =>
        Effect.provideService(makePrivateProviders(nodeOf, urls, chainId), Random.Random, inOrder),
      heads,
      markets: EvmMarkets.make()
    }
    const among = (addresses: ReadonlyArray<string>) =>
      Effect.succeed(new Set(addresses.filter((one) => world.relayers.has(one))))
    const network = EvmLane.networkOf(nodes, among)
    const keys = (options: KeyOptions) => makeLaneKeys({ use: () => Effect.succeed(backend) }, options)
    const context: LaneContext = {
      ledger: { ...lanes, read: (hold) => Effect.map(lanes.read(hold), asStarted) },
      rules: network.rules,
      chain: network.open({ chain: account.chain, address, genesis, keys }),
      targets: {
        get: (id: RelayerId) => Effect.succeed(targetOf(id)),
        known: () => []
      },
      fees: { budgetOf: () => Effect.succeed({ maximumOf: () => undefined, limitsOf: () => [] }) },
      newId: Effect.sync(() => TransactionId.make(randomUUID())),
      pulse: makePulse(),
      arrivals: makeBlockArrivals(),
      hold,
      memory: emptyMemory()
    }
    world.context = context
    return context
  })

  const step = Effect.gen(function* () {
    const context = world.context ?? (yield* claim)
    yield* TestClock.adjust(blockTime)
    return yield* LaneStep.run(context)
  })

  /** Runs steps of the driver, each the time of a block after the one before. Returns what the last one says to do next. */
  const poll = Effect.fnUntraced(function* (times = 1) {
    for (let done = 1; done < times; done++) yield* step
    return yield* step
  })

  /** What another program signs with the same key. */
  const foreign = (nonce: number, value = 999n, to: `0x${string}` = receiver) =>
    Effect.map(
      Effect.promise(() =>
        signer.signTransaction({
          type: "eip1559",
          chainId: 31_337,
          nonce,
          to,
          value,
          gas: 21_000n,
          maxFeePerGas: 100n * Chain.gwei,
          maxPriorityFeePerGas: 50n * Chain.gwei
        })
      ),
      Chain.parse
    )

  return Object.assign(world, { claim, poll, foreign, copied, putBack })
})
