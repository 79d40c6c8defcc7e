// Everything outside of the process that decides, and the ledger: what survives when the process dies.
import type { Transaction } from "../../../../../src/networks/core/Transaction.ts"
import type { Moment } from "../../../../../src/networks/core/TransactionValues.ts"
import type { DelegationRecord } from "../../../../../src/networks/evm/rules/Delegates.ts"
import type { Absence, Evm, ForeignCall, Nonces, Request } from "../../../../../src/networks/evm/rules/Evm.ts"
import type { SignedAuthorization } from "../../../../../src/networks/evm/rules/Authorizations.ts"
import type { NetworkNumbers } from "../../../../../src/networks/evm/rules/EvmNumbers.ts"
import type { CountClaim, FloorStep } from "../../../../../src/networks/evm/rules/LaneNonces.ts"
import { upTo } from "../../../../../src/testkit/chain/Blocks.ts"
import type { Blocks } from "../../../../../src/testkit/chain/Blocks.ts"
import type { Pool, PoolBytes } from "../../../../../src/testkit/chain/Pool.ts"

export const address = "0x00000000000000000000000000000000000000aa"
export const receiver = "0x00000000000000000000000000000000000000bb"
export const executor = "0x00000000000000000000000000000000000000ee"
/** What a foreign transaction of the account does. */
export const foreignEffect = { to: receiver, value: 1n, data: "0x" }

export const gwei = 1_000_000_000n
export const ether = 10n ** 18n

/** Signed bytes, as anybody who has seen them can read them. */
export interface Bytes extends PoolBytes {
  /** Of its fees. */
  readonly maxFees: bigint
  /** Undefined: a no-op. */
  readonly effect: ForeignCall | undefined
  /** Number of the request. Undefined: a no-op, or a foreign transaction. */
  readonly request: number | undefined
  /** What the account delegates to by an authorization in them, at the next nonce. Absent: they carry none. */
  readonly delegate?: string
  /** They are no transaction: an authorization of the account used the nonce, with this delegate. */
  readonly authorizes?: string
  /** They make many calls, which takes the executor. */
  readonly isBatch?: true
  /** The authorization of a user. Absent: none. */
  readonly entry?: SignedAuthorization
}

export type Chain = Blocks<Bytes>

interface Ledger {
  readonly lane: Nonces
  /** What the lane remembers of its delegation. */
  readonly delegation?: DelegationRecord
  readonly transactions: ReadonlyArray<Transaction<Evm>>
}

/** What the holder of the lane remembers from poll to poll, and loses when it dies. */
export interface Memory {
  readonly claim?: CountClaim
  /** Polls in a row in which bytes were absent, by hash. */
  readonly absences: ReadonlyMap<string, Absence>
  /** The highest final count that a poll has shown. */
  readonly finalCount?: number
  readonly quietSince?: Moment
  readonly lastSignedAt?: Moment
}

export const noMemory: Memory = { absences: new Map() }

/**
 * `takes`: they include it, and mine no no-op. `swallows`: they take a no-op as a cancel, and forget the other bytes at its nonce. `next`: they
 * refuse a nonce beyond the next that they know. `leaks`: strangers see the bytes. `refuses`: in lying words. `dead`: they do not answer.
 */
export const privateNodes = ["takes", "swallows", "next", "leaks", "refuses", "dead"] as const
export type PrivateNode = (typeof privateNodes)[number]

/**
 * Milliseconds for which private providers may include bytes: 25 blocks of 12 seconds, as Flashbots Protect says (docs.flashbots.net,
 * November 2026).
 */
export const privateLife = 25 * 12_000

export interface World {
  now: Moment
  /** The chain that lasts. */
  chain: Chain
  /** The fork of the lying provider. Undefined: it has the true one. */
  fork: Chain | undefined
  pool: Pool<Bytes>
  balance: bigint
  baseFee: bigint
  /** All bytes that were ever signed, and the hashes of those that have left. */
  readonly bytes: Map<string, Bytes>
  readonly left: Set<string>
  /** What private providers have, by hash: until when they may include it. They show nothing of it. */
  readonly privately: Map<string, Moment>
  /** What private providers do with bytes. */
  privateNode: PrivateNode
  foreign: number
  /** Heights of blocks in which somebody uses a nonce of the user whose authorizations requests carry. */
  uses: ReadonlyArray<number>
  /** Whether a provider ever had another chain than the one that lasts. */
  hasForked: boolean
  /** The number of the newest transaction. It is never used again, even if the ledger has forgotten the transaction. */
  lastNumber: number
  ledger: Ledger
  backup: Ledger | undefined
  memory: Memory
  /** What the relayers' policy says now. */
  isAllowed: boolean
  /** Wei per gas. Undefined: no cap. */
  cap: bigint | undefined
  /** Of relayer 1. */
  isPaused: boolean
  isSignerAway: boolean
  /** Wei that the fees of a transaction may cost at most, or nodes refuse it for ever. Undefined: no limit. */
  nodeCap: bigint | undefined
  /** What an estimation of any call says. */
  estimate: "gas" | "reverts" | "differs" | "unknown" | "refused"
  /** Why the lane assigns no nonces. */
  stop: FloorStep["code"]
  /** An operator said that the count of the chain is right. */
  trustsCount: boolean
  /** Sees every change of a transaction. */
  readonly observe: (before: Transaction<Evm>, after: Transaction<Evm>) => void
  readonly network: NetworkNumbers
  /** Whether no provider has states of blocks that are older than the final height any more. */
  isPruned: boolean
  /** Whether a second provider is configured. */
  readonly hasSecond: boolean
}

export const network: NetworkNumbers = {
  chainId: 31_337,
  blockTime: 2000,
  finality: 2,
  finalityByOne: 3_600_000,
  window: 16,
  minimumTip: 0n,
  hasMempool: true,
  isEip1559: true,
  isTestnet: true,
  hasDataFeeOracle: false,
  hasAuthorizations: true
}

export const newLane = (): Nonces => ({
  address,
  generation: 0,
  nextNonce: 0,
  chainNonce: 0,
  settledNonce: 0,
  windowSize: 16
})

export const newWorld = (over: Partial<World> = {}): World => ({
  now: 1_800_000_000_000,
  chain: upTo(0),
  fork: undefined,
  pool: new Map(),
  balance: ether,
  baseFee: gwei,
  bytes: new Map(),
  left: new Set(),
  privately: new Map(),
  privateNode: "takes",
  foreign: 0,
  uses: [],
  hasForked: false,
  lastNumber: 0,
  ledger: { lane: newLane(), transactions: [] },
  backup: undefined,
  memory: noMemory,
  isAllowed: true,
  cap: undefined,
  isPaused: false,
  isSignerAway: false,
  nodeCap: undefined,
  estimate: "gas",
  stop: undefined,
  trustsCount: false,
  observe: () => undefined,
  network,
  isPruned: false,
  hasSecond: true,
  ...over
})

/** Blocks on top of a block that make it final. */
export const required = ({ network }: World): number => (typeof network.finality === "number" ? network.finality : 0)

export const transactionOf = (world: World, number: number): Transaction<Evm> => {
  const found = world.ledger.transactions.find((transaction) => transaction.number === number)
  if (found === undefined) throw new Error(`no transaction ${number}`)
  return found
}

export const store = (world: World, transaction: Transaction<Evm>): void => {
  const before = world.ledger.transactions.find(({ number }) => number === transaction.number)
  if (before !== undefined) world.observe(before, transaction)
  const others = world.ledger.transactions.filter(({ number }) => number !== transaction.number)
  const transactions = [...others, transaction].toSorted((one, other) => one.number - other.number)
  world.ledger = { ...world.ledger, transactions }
}

/** Each request has a value of its own, which identifies its effects. */
export const accept = (world: World, over: Partial<Transaction<Evm>> = {}, request: Partial<Request> = {}): number => {
  const number = ++world.lastNumber
  store(world, {
    number,
    relayerNumber: 1,
    origin: "request",
    generation: 0,
    versions: [{ to: receiver, value: BigInt(number) * 1000n, gas_limit: 21_000n, ...request }],
    intent: "execute",
    state: "pending",
    causeSince: world.now,
    priority: 0,
    restored: false,
    validUntil: world.now + 8 * 3_600_000,
    requeues: 0,
    createdAt: world.now,
    attempts: [],
    facts: {},
    ...over
  })
  return number
}
