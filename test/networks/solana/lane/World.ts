// The driver of one lane of solana on the ledger of the test, with a cluster in memory. A step of the driver runs when a test says so;
// between two steps the test clock moves by two seconds, and the cluster makes five blocks.
import { Array, Effect, Exit, Random, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { assert } from "@effect/vitest"
import { randomUUID } from "node:crypto"
import { NetworkId, NetworkName } from "../../../../src/domain/network/Network.ts"
import type { SolanaNetwork } from "../../../../src/domain/network/Network.ts"
import type { PriceUnavailable, Rate } from "../../../../src/domain/price/Price.ts"
import type { SolanaPolicy } from "../../../../src/domain/relayer/Policy.ts"
import { RelayerId, SolanaRelayer } from "../../../../src/domain/relayer/Relayer.ts"
import * as ExactJson from "../../../../src/domain/request/ExactJson.ts"
import { SignerId } from "../../../../src/domain/signer/Signer.ts"
import type { Answer } from "../../../../src/networks/core/Rules.ts"
import { TransactionId } from "../../../../src/networks/core/TransactionValues.ts"
import { makeSolanaProviders } from "../../../../src/networks/solana/chain/SolanaCalls.ts"
import * as SolanaLane from "../../../../src/networks/solana/lane/SolanaLane.ts"
import { memoProgram, systemProgram } from "../../../../src/networks/solana/rules/Programs.ts"
import type { Solana, SolanaRequest } from "../../../../src/networks/solana/rules/Solana.ts"
import { base64Of } from "../../../../src/networks/solana/rules/SolanaExchanges.ts"
import { windowSize } from "../../../../src/networks/solana/rules/SolanaNumbers.ts"
import { solanaRules } from "../../../../src/networks/solana/rules/SolanaRules.ts"
import { encodeBase58 } from "../../../../src/networks/solana/rules/Wire.ts"
import type { RpcAnswer, RpcCall } from "../../../../src/server/chains/RpcBatch.ts"
import { rpcFailure } from "../../../../src/server/chains/RpcFailure.ts"
import type { RpcFailure } from "../../../../src/server/chains/RpcFailure.ts"
import type { RpcNode } from "../../../../src/server/chains/RpcNode.ts"
import { makeLaneKeys } from "../../../../src/server/lanes/LaneNetwork.ts"
import type { KeyOptions } from "../../../../src/server/lanes/LaneNetwork.ts"
import { CrashPoints } from "../../../../src/server/lanes/LaneSending.ts"
import type { CrashPoint } from "../../../../src/server/lanes/LaneSending.ts"
import * as LaneStep from "../../../../src/server/lanes/LaneStep.ts"
import { emptyMemory, makeBlockArrivals, makePulse } from "../../../../src/server/lanes/StepState.ts"
import type { LaneContext } from "../../../../src/server/lanes/StepState.ts"
import { LaneLedger } from "../../../../src/server/ledger/LaneLedger.ts"
import { Ledger } from "../../../../src/server/ledger/Ledger.ts"
import { isTransactionOf } from "../../../../src/server/ledger/LedgerEntries.ts"
import type { Account, Hold, NewTransaction } from "../../../../src/server/ledger/LedgerEntries.ts"
import { LedgerMemory } from "../../../../src/server/ledger/memory/LedgerMemory.ts"
import * as LocalKey from "../../../../src/server/signers/backends/LocalKey.ts"
import type { SignerBackend } from "../../../../src/server/signers/backends/SignerBackend.ts"
import { accept } from "../../../../testkit/LedgerRows.ts"
import { nodeWith } from "../../../../testkit/RpcNodes.ts"
import * as Cluster from "../../../../testkit/solana/Cluster.ts"
import * as Node from "../../../../testkit/solana/Node.ts"

const key = Redacted.make("42".repeat(32))

/** Transfers of tests go to it. */
export const receiver = encodeBase58(new Uint8Array(32).fill(7))

export const sol = 1_000_000_000n

/** Blocks between two steps. */
const blocksPerStep = 5

/** Milliseconds between two steps. */
const stepTime = 2000

/** The relayer with URLs of its own. */
const ownId = RelayerId.make("r2")

export interface Given {
  readonly providers?: number
  readonly policies?: SolanaPolicy
  readonly funds?: bigint
  /** `finality_by_one` of the network. */
  readonly finalityByOne?: string
  /** Providers of a second relayer of the account, which has URLs of its own. They follow those of the network. */
  readonly own?: number
  /** `transaction_window` of the network. */
  readonly window?: number
}

const networkOf = ({ finalityByOne, window }: Given): typeof SolanaNetwork.Type => ({
  ...(finalityByOne === undefined ? {} : { finality_by_one: finalityByOne }),
  ...(window === undefined ? {} : { transaction_window: window }),
  id: NetworkId.make("solana:local"),
  name: NetworkName.make("local"),
  source: "own",
  network_type: "solana",
  rpc_urls: [],
  average_blocktime_ms: 400,
  is_testnet: true
})

const u32 = (value: number) => [...new Uint8Array(Uint32Array.of(value).buffer)]
const u64 = (value: bigint) => [...new Uint8Array(BigUint64Array.of(value).buffer)]

/** Instructions that transfer lamports from an account. */
export const transfer = (from: string, lamports: bigint, to = receiver): SolanaRequest => ({
  instructions: [
    {
      program_id: systemProgram,
      accounts: [
        { pubkey: from, is_signer: true, is_writable: true },
        { pubkey: to, is_signer: false, is_writable: true }
      ],
      data: base64Of(Uint8Array.from([...u32(2), ...u64(lamports)]))
    }
  ]
})

export const memo = (text: string): SolanaRequest => ({
  instructions: [{ program_id: memoProgram, accounts: [], data: base64Of(Buffer.from(text)) }]
})

/** The first that is given is asked first. */
const inOrder = { nextDoubleUnsafe: () => 0.5, nextIntUnsafe: () => 0 }

/** Questions that wait for an answer now, and at most so far, by method. */
class Waiting {
  readonly #now = new Map<string, number>()
  readonly most = new Map<string, number>()

  add(method: string, count: number): void {
    const now = (this.#now.get(method) ?? 0) + count
    this.#now.set(method, now)
    this.most.set(method, Math.max(this.most.get(method) ?? 0, now))
  }
}

const rpcNode = (node: Node.Node, waiting: Waiting): RpcNode => {
  const answerTo = ({ method, params }: RpcCall): Effect.Effect<RpcAnswer, RpcFailure> => {
    const list = globalThis.Array.isArray(params) ? params : []
    const answer = node.answer(method, JSON.parse(JSON.stringify(list)))
    if (answer === undefined) return Effect.fail(rpcFailure("unreachable"))
    return Effect.succeed(
      "result" in answer
        ? { _tag: "Result", value: ExactJson.parse(JSON.stringify(answer.result)) }
        : { _tag: "RpcError", ...answer.error }
    )
  }
  // Others go on meanwhile, as over a network.
  const ask = (call: RpcCall) =>
    Effect.suspend(() => {
      waiting.add(call.method, 1)
      return Effect.andThen(
        Effect.yieldNow,
        Effect.suspend(() => answerTo(call))
      )
    }).pipe(Effect.ensuring(Effect.sync(() => waiting.add(call.method, -1))))
  return nodeWith(node.url, ask)
}

const claimOne = Effect.flatMap(LaneLedger, (lanes) =>
  Effect.map(lanes.claim(["solana"], 1), ([held]) => held ?? assert.fail("no lane is free"))
)

export const make = Effect.fnUntraced(function* (given: Given = {}) {
  const { providers = 1, policies = {}, funds = 10n * sol, own = 0, window = windowSize } = given
  const lanes = yield* LaneLedger
  const ledger = yield* Ledger
  const cluster = Cluster.make()
  const nodes = Array.makeBy(providers + own, (index) => Node.make(cluster, `http://node-${index}.example`))
  const urls = nodes.map(({ url }) => ({ url, weight: 100 }))
  const local = LocalKey.make(key)
  let signatures = 0
  const backend: SignerBackend = {
    ...local,
    sign: (curve, message) => Effect.suspend(() => (signatures++, local.sign(curve, message)))
  }
  const address = encodeBase58(yield* Effect.orDie(backend.publicKey("ed25519")))
  cluster.fund(address, funds)
  cluster.produce(40)
  const account: Account = {
    relayerId: RelayerId.make("r1"),
    relayerNumber: 1,
    chain: "solana:local",
    address,
    window
  }
  const relayerOf = (given: SolanaPolicy) =>
    SolanaRelayer.make({
      id: account.relayerId,
      name: "R",
      network: NetworkName.make("local"),
      address,
      paused: false,
      system_disabled: false,
      signer_id: SignerId.make("s1"),
      network_type: "solana",
      policies: { fee_payment_strategy: "relayer", min_balance: 0n, ...given }
    })
  let hold: Hold | undefined
  const waiting = new Waiting()

  const world = {
    cluster,
    waiting,
    nodes,
    account,
    address,
    relayer: relayerOf(policies),
    relayerOf,
    context: undefined as LaneContext | undefined,
    /** Signatures that processes of the service have made with the relayer's key so far. */
    signatures: () => signatures,
    /** What the price source answers. */
    rate: Effect.succeed({ units: 1n, native: 1n, at: 0 }) as Effect.Effect<Rate, PriceUnavailable>,
    accept: (request: SolanaRequest = transfer(address, sol), count = 1, over: Partial<NewTransaction> = {}) =>
      accept(account, count, { request, facts: { isPrebuilt: false, isRefreshable: true }, ...over }),
    transaction: (id: TransactionId) =>
      Effect.map(ledger.get(1, id), (stored) =>
        isTransactionOf<Solana>(solanaRules, stored) ? stored.transaction : assert.fail("is no transaction of solana")
      ),
    /** A transfer of the relayer with URLs of its own. */
    acceptOwn: (request: SolanaRequest = transfer(address, sol)) =>
      accept({ ...account, relayerId: ownId, relayerNumber: 2 }, 1, {
        request,
        facts: { isPrebuilt: false, isRefreshable: true }
      }),
    ownTransaction: (id: TransactionId) => Effect.map(ledger.get(2, id), ({ transaction }) => transaction),
    cancel: (id: TransactionId) => ledger.cancel(1, id),
    answer: (answer: Answer, id?: TransactionId) =>
      ledger.resync(account, { answer, ...(id === undefined ? {} : { id }) }),
    /** The ledger notices that its database was put back from a copy: no process holds a lane. */
    restore: Effect.flatMap(LedgerMemory, ({ restored }) => restored),
    /** The ledger forgets the attempts of a transaction, as if it had been put back from a copy of before they were signed. */
    forget: (id: TransactionId) =>
      Effect.map(LedgerMemory, ({ rows }) => {
        const row = rows.tables().transactions.get(id) ?? assert.fail("is no transaction")
        const { place: _, mined: _mined, ...transaction } = row.stored.transaction
        const stored = { ...row.stored, transaction: { ...transaction, state: "pending" as const, attempts: [] } }
        rows.setTransaction({ ...row, stored, finalAt: undefined, bytes: new Map() })
      }),
    contents: Effect.suspend(() => (hold === undefined ? Effect.die("no lane is held") : lanes.read(hold)))
  }

  const nodeOf = (url: string) => {
    const found = nodes.find((node) => node.url === url) ?? nodes[0]
    return found === undefined ? assert.fail("there is no node") : rpcNode(found, waiting)
  }

  /** A process that remembers nothing holds the lane from now on. */
  const claim = Effect.gen(function* () {
    if (hold !== undefined) yield* lanes.release(hold, "draining").pipe(Effect.ignore)
    const claimed = yield* claimOne
    hold = claimed.hold
    const { genesis } = claimed.stored
    const cached = new Map(urls.map(({ url }) => [url, nodeOf(url)]))
    const network = SolanaLane.networkOf({
      nodes: {
        providers: (given, known) =>
          Effect.provideService(
            makeSolanaProviders((url) => cached.get(url) ?? nodeOf(url), given, known),
            Random.Random,
            inOrder
          )
      },
      prices: { rate: () => world.rate }
    })
    const keys = (options: KeyOptions) => makeLaneKeys({ use: () => Effect.succeed(backend) }, options)
    const context: LaneContext = {
      ledger: lanes,
      rules: network.rules,
      chain: network.open({ chain: account.chain, address, genesis, keys }),
      targets: {
        get: (id: RelayerId) => {
          const target = { version: "1", network: networkOf(given) }
          if (own === 0 || id !== ownId) {
            return Effect.succeed({ ...target, relayer: world.relayer, urls: urls.slice(0, providers) })
          }
          const custom_rpc_urls = urls.slice(providers)
          const relayer = { ...world.relayer, id: ownId, custom_rpc_urls }
          return Effect.succeed({ ...target, relayer, urls: custom_rpc_urls })
        },
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

  /** `blocks`: that the cluster makes before the step. */
  const step = Effect.fnUntraced(function* (blocks = blocksPerStep) {
    const context = world.context ?? (yield* claim)
    // As the job of lanes does: steps of a busy machine may take longer than the lease.
    if (hold !== undefined) yield* lanes.renew([hold])
    cluster.produce(blocks)
    yield* TestClock.adjust(stepTime)
    // A commit that was refused is tried again in the next step.
    yield* Effect.catchTag(LaneStep.run(context), "LaneChanged", () => Effect.void)
  })

  /** A step of a process that dies at this point. Another process, which remembers nothing, holds the lane afterwards. */
  const dieAt = Effect.fnUntraced(function* (point: CrashPoint, blocks = blocksPerStep) {
    const dying = Effect.provideService(step(blocks), CrashPoints, (at) =>
      at === point ? Effect.die(new Error("the process died")) : Effect.void
    )
    const isDead = Exit.isFailure(yield* Effect.exit(dying))
    if (isDead) yield* claim
    return isDead
  })

  /** Makes a step, and runs `happens` at this point of it, as another process or a caller could. */
  const stepWith = (point: CrashPoint, happens: Effect.Effect<unknown>) =>
    Effect.provideService(step(), CrashPoints, (at) => (at === point ? Effect.asVoid(happens) : Effect.void))

  const poll = Effect.fnUntraced(function* (times = 1, blocks = blocksPerStep) {
    for (let done = 0; done < times; done++) yield* step(blocks)
  })

  /** Steps until nothing is open, or as many as a blockhash needs to die twice. */
  const finish = Effect.gen(function* () {
    for (let round = 0; round < 100; round++) {
      yield* step()
      const { inFlight, pendingCount } = yield* world.contents
      if (inFlight.length + pendingCount === 0) return
    }
  })

  return Object.assign(world, { claim, dieAt, stepWith, poll, finish })
})
