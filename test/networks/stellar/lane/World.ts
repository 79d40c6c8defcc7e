// The driver of one lane of stellar on the ledger of the test, with a stand-in of the network in memory. A step of the driver runs when a test
// says so; between two steps the test clock moves by five seconds, and the stand-in closes a ledger.
import { Array, Effect, Option, Random, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { TestClock } from "effect/testing"
import { assert } from "@effect/vitest"
import * as lib from "@stellar/stellar-sdk/base"
import { randomUUID } from "node:crypto"
import { NetworkId, NetworkName } from "../../../../src/domain/network/Network.ts"
import type { StellarNetwork } from "../../../../src/domain/network/Network.ts"
import type { StellarPolicy } from "../../../../src/domain/relayer/Policy.ts"
import { RelayerId, StellarRelayer } from "../../../../src/domain/relayer/Relayer.ts"
import { SignerId } from "../../../../src/domain/signer/Signer.ts"
import { TransactionId } from "../../../../src/networks/core/TransactionValues.ts"
import { hashIn } from "../../../../src/networks/stellar/chain/StellarEncoding.ts"
import { accountsIn } from "../../../../src/networks/stellar/chain/StellarLibrary.ts"
import * as StellarNodes from "../../../../src/networks/stellar/chain/StellarNodes.ts"
import * as StellarLane from "../../../../src/networks/stellar/lane/StellarLane.ts"
import { makeChannelUpkeep } from "../../../../src/networks/stellar/lane/StellarUpkeep.ts"
import type { Stellar, StellarFacts, StellarRequest } from "../../../../src/networks/stellar/rules/Stellar.ts"
import { stellarRules } from "../../../../src/networks/stellar/rules/StellarRules.ts"
import { channelsOf } from "../../../../src/networks/stellar/rules/StellarTerms.ts"
import { accountAddress } from "../../../../src/domain/chain/StrKey.ts"
import { makeLaneKeys } from "../../../../src/server/lanes/LaneNetwork.ts"
import type { KeyOptions } from "../../../../src/server/lanes/LaneNetwork.ts"
import * as LaneStep from "../../../../src/server/lanes/LaneStep.ts"
import { emptyMemory, makeBlockArrivals, makePulse } from "../../../../src/server/lanes/StepState.ts"
import type { LaneContext } from "../../../../src/server/lanes/StepState.ts"
import { LaneLedger } from "../../../../src/server/ledger/LaneLedger.ts"
import { Ledger } from "../../../../src/server/ledger/Ledger.ts"
import { isLaneOf, isTransactionOf } from "../../../../src/server/ledger/LedgerEntries.ts"
import type { Account, Hold, NewTransaction } from "../../../../src/server/ledger/LedgerEntries.ts"
import * as LocalKey from "../../../../src/server/signers/backends/LocalKey.ts"
import { accept } from "../../../../testkit/LedgerRows.ts"
import {
  altered,
  envelope,
  keyNamed,
  passphrase,
  payment as paid,
  transaction
} from "../../../../testkit/stellar/Building.ts"
import { signedBy } from "../../../../testkit/stellar/Credits.ts"
import { accountIn } from "../../../../testkit/stellar/Entries.ts"
import { Network } from "../../../../testkit/stellar/Network.ts"
import { node as nodeOf } from "../../../../testkit/stellar/Node.ts"
import { Provider } from "../../../../testkit/stellar/Provider.ts"

const key = Redacted.make("42".repeat(32))

/** Stroops. */
export const xlm = 10_000_000n

export const receiver = keyNamed("receiver")

/** Milliseconds between two steps. */
const ledgerTime = 5000

/** The relayer with URLs of its own. */
const ownId = RelayerId.make("r2")

export interface Given {
  readonly providers?: number
  readonly policies?: StellarPolicy
  readonly funds?: bigint
  /** Providers of a second relayer of the account, which has URLs of its own. They follow those of the network. */
  readonly own?: number
}

const networkOf = (): typeof StellarNetwork.Type => ({
  id: NetworkId.make("stellar:local"),
  name: NetworkName.make("local"),
  source: "own",
  network_type: "stellar",
  rpc_urls: [],
  average_blocktime_ms: ledgerTime,
  is_testnet: true,
  passphrase
})

/** A payment of XLM. */
export const payment = (stroops: bigint, destination = receiver.publicKey()): StellarRequest => ({
  operations: [{ type: "payment", destination, amount: stroops, asset: { type: "native" } }]
})

/** The first that is given is asked first. */
const inOrder = { nextDoubleUnsafe: () => 0.5, nextIntUnsafe: () => 0 }

/** The service finds accounts by letters of their addresses. */
const isNamed = (address: string, { from, length, texts }: ReturnType<typeof accountsIn>): boolean =>
  texts.includes(address.slice(from, from + length))

const claimOne = Effect.flatMap(LaneLedger, (lanes) =>
  Effect.map(lanes.claim(["stellar"], 1), ([held]) => held ?? assert.fail("no lane is free"))
)

export const make = Effect.fnUntraced(function* ({
  providers = 1,
  policies = {},
  funds = 1000n * xlm,
  own = 0
}: Given = {}) {
  const lanes = yield* LaneLedger
  const ledger = yield* Ledger
  const clock = yield* TestClock.testClockWith(Effect.succeed)
  const random = yield* Effect.provide(SecureRandom.SecureRandom, SecureRandom.layerWebCrypto)
  const network = new Network({ passphrase, now: () => clock.currentTimeMillisUnsafe(), nodes: providers + own })
  const nodes = Array.makeBy(providers + own, (index) => new Provider(network, index))
  const away = new Set<number>()
  const urls = nodes.map((_, index) => ({ url: `http://node-${index}.example`, weight: 100 }))
  const backend = LocalKey.make(key)
  const address = accountAddress(yield* Effect.orDie(backend.publicKey("ed25519")))
  if (funds > 0n) network.grant(address, funds)
  network.grant(receiver.publicKey(), 10n * xlm)
  const relayerOf = (given: StellarPolicy) =>
    StellarRelayer.make({
      id: RelayerId.make("r1"),
      name: "R",
      network: NetworkName.make("local"),
      address,
      paused: false,
      system_disabled: false,
      signer_id: SignerId.make("s1"),
      network_type: "stellar",
      policies: given
    })
  const target = { relayer: relayerOf(policies), network: networkOf() }
  const account: Account = { relayerId: RelayerId.make("r1"), relayerNumber: 1, ...stellarRules.laneOf(target) }
  let hold: Hold | undefined

  const world = {
    network,
    nodes,
    away,
    account,
    address,
    target,
    relayer: target.relayer,
    /** Accounts of other relayers of the service. */
    siblings: new Set<string>(),
    relayerOf,
    /** Other relayers of the account. */
    others: [] as (typeof target.relayer)[],
    /** Decrypts the key of a channel, with the master key of this process. */
    channelSeed: lanes.channelSeed,
    context: undefined as LaneContext | undefined,
    rate: Effect.succeed({ units: 1n, native: 1n, at: 0 }),
    accept: (
      request: StellarRequest = payment(xlm),
      count = 1,
      over: Partial<NewTransaction> & { readonly facts?: StellarFacts } = {}
    ) => accept(account, count, { request, facts: {}, ...over }),
    transaction: (id: TransactionId) =>
      Effect.map(ledger.get(1, id), (stored) =>
        isTransactionOf<Stellar>(stellarRules, stored)
          ? stored.transaction
          : assert.fail("is no transaction of stellar")
      ),
    /** A payment of the relayer with URLs of its own. */
    acceptOwn: (request: StellarRequest = payment(xlm), count = 1, over: Partial<NewTransaction> = {}) =>
      accept({ ...account, relayerId: ownId, relayerNumber: 2 }, count, { request, facts: {}, ...over }),
    ownTransaction: (id: TransactionId) => Effect.map(ledger.get(2, id), ({ transaction }) => transaction),
    cancel: (id: TransactionId) => ledger.cancel(1, id),
    contents: Effect.suspend(() => (hold === undefined ? Effect.die("no lane is held") : lanes.read(hold))),
    balanceOf: (of: string) => accountIn(network.reads, of)?.balance ?? 0n,
    hashOf: (text: string) => hashIn(lib, text, network.networkId),
    /** Something else uses the next sequence of the relayer's key, in the next ledger. */
    useSequence: () => network.useSequence(address),
    sequence: () => accountIn(network.reads, address)?.sequence ?? 0n,
    /** Calls that the nodes lose from now on, before or after they take effect. */
    lose: (lost: Provider["faults"]["lost"]) => {
      for (const { faults } of nodes) faults.lost = lost
    }
  }

  const targets = {
    known: () => [],
    get: (id: RelayerId) => {
      const target = { version: "1.1", network: networkOf() }
      if (own > 0 && id === ownId) {
        const custom_rpc_urls = urls.slice(providers)
        const relayer = { ...world.relayer, id: ownId, custom_rpc_urls }
        return Effect.succeed({ ...target, relayer, urls: custom_rpc_urls })
      }
      const relayer = world.others.find((other) => other.id === id) ?? world.relayer
      return Effect.succeed({ ...target, relayer, urls: urls.slice(0, providers) })
    },
    withChannels: () =>
      Effect.sync(() =>
        [world.relayer, ...world.others].map(({ id, policies = {} }, index) => ({
          id,
          address,
          channels: policies.channels?.count ?? 0,
          version: `${index + 1}.1`
        }))
      )
  }

  /** The service compares the channels with the policy once, and starts to make or end channels if they differ. */
  const upkeep = makeChannelUpkeep({ ledger: lanes, targets, random })

  /** A process that remembers nothing holds the lane from now on. */
  const claim = Effect.gen(function* () {
    if (hold !== undefined) yield* lanes.release(hold, "draining")
    const claimed = yield* claimOne
    hold = claimed.hold
    const { genesis } = claimed.stored
    const rpc = new Map(
      nodes.map((node, index) => [urls[index]?.url, nodeOf(node, urls[index]?.url ?? "", () => away.has(index))])
    )
    const made = yield* StellarNodes.make((url) => rpc.get(url) ?? assert.fail(`no node has ${url}`))
    const sending = StellarLane.networkOf({
      nodes: {
        providers: (given, known) => Effect.provideService(made.providers(given, known), Random.Random, inOrder)
      },
      prices: { rate: () => world.rate },
      ownAccounts: ({ text = "", addresses = [] }) => {
        const named = accountsIn(Buffer.from(text, "base64"), addresses)
        const siblings = [...world.siblings].filter((one) => isNamed(one, named))
        return Effect.map(lanes.addresses("stellar", named), (own) => new Set([address, ...siblings, ...own]))
      },
      ledger: { channelSeed: (channel) => world.channelSeed(channel) }
    })
    const keys = (options: KeyOptions) => makeLaneKeys({ use: () => Effect.succeed(backend) }, options)
    const context: LaneContext = {
      ledger: lanes,
      rules: sending.rules,
      chain: sending.open({ chain: account.chain, address, genesis, keys }),
      targets,
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

  const run = Effect.suspend(() =>
    Effect.flatMap(world.context === undefined ? claim : Effect.succeed(world.context), LaneStep.run)
  )

  /** `ledgers`: that the stand-in closes before the step. */
  const step = Effect.fnUntraced(function* (ledgers = 1) {
    yield* TestClock.adjust(ledgerTime)
    for (let closed = 0; closed < ledgers; closed++) network.close()
    return yield* run
  })

  const poll = Effect.fnUntraced(function* (times = 1, ledgers = 1) {
    for (let done = 0; done < times; done++) yield* step(ledgers)
  })

  /** Steps until nothing is open, or as many as an envelope needs to die four times. */
  const finish = Effect.gen(function* () {
    for (let round = 0; round < 80; round++) {
      yield* step()
      const { inFlight, pendingCount } = yield* world.contents
      if (inFlight.length + pendingCount === 0) return
    }
  })

  /** Until no channel is to be made or ended. */
  const settle = Effect.gen(function* () {
    for (let round = 0; round < 40; round++) {
      yield* upkeep
      const { isWorking } = yield* lanes.channelsOf(account)
      if (!isWorking) return
      yield* finish
    }
  })

  const channels = Effect.map(lanes.channelsOf(account), ({ lane }) => {
    const stored = Option.getOrUndefined(lane)
    return stored !== undefined && isLaneOf<Stellar>(stellarRules, stored) ? channelsOf(stored.lane) : []
  })

  return Object.assign(world, { claim, run, poll, finish, upkeep, settle, channels })
})

/** A world whose nodes lose each send. It has one payment, signed at the sequence `first`. After `heal`, nodes accept sends. */
export const losing = Effect.gen(function* () {
  const world = yield* make()
  const [id] = yield* world.accept()
  world.lose({ sendTransaction: "before" })
  yield* world.poll()
  const first = (yield* world.transaction(id)).place?.sequence ?? assert.fail("it was not signed")
  return { world, id, first, heal: () => world.lose({}) }
})

type Made = Effect.Success<ReturnType<typeof make>>

/** An envelope of a user with XLM, and what the service stores of it. `lowered`: a fee that the library's builder refuses. */
export const guestOf = (
  world: Made,
  name: string,
  operations: Parameters<typeof envelope>[1] = [paid(receiver, xlm)],
  { lowered, ...more }: Pick<Parameters<typeof envelope>[2], "resourceFee"> & { readonly lowered?: number } = {}
) => {
  const user = keyNamed(name)
  world.network.grant(user.publicKey(), 10n * xlm)
  const sequence = (accountIn(world.network.reads, user.publicKey())?.sequence ?? 0n) + 1n
  const maxTime = world.network.latest.closeTime + 200
  const given = { sequence, maxTime, ...more }
  const text =
    lowered === undefined
      ? envelope(user, operations, given)
      : signedBy(user, altered(transaction(user, operations, given).toXDR(), { fee: lowered }), passphrase)
  const innerHash = world.hashOf(text)
  const facts = { guest: { account: user.publicKey(), sequence, innerHash, maxTime } }
  return { text, innerHash, accept: Effect.map(world.accept({ transaction_xdr: text }, 1, { facts }), ([id]) => id) }
}
