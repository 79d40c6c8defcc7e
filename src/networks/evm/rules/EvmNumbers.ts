// Every number that decides something about evm transactions, with its unit and its source, or with the network that sets it.
// `core/TransactionValues.ts` has those of all networks.
import { finalityByOneOf } from "../../../domain/network/Network.ts"
import type { EvmNetwork } from "../../../domain/network/Network.ts"
import { poll } from "../../core/TransactionValues.ts"
import type { Moment, Ratio } from "../../core/TransactionValues.ts"
import { delegateOf } from "./Authorizations.ts"

/** Milliseconds. */
const second = 1000

/** Polls in a row in which a node does not have the bytes before they are sent again: one poll may hit another back end. */
export const absencesBeforeRebroadcast = 2

/** Accepted sends of the same bytes that a node has dropped, before a transaction shows that nodes do not keep it. */
export const dropsBeforeShown = 2

/** Transactions of a lane in flight. geth guarantees 16 executable slots per account and queues 64. */
const window = 64

/** Transactions in flight on a chain that keeps no queue of future nonces (Arbitrum holds them for about 1 s). */
const windowWithoutMempool = 4

/** Transactions in flight of an account with an EIP-7702 delegation: geth and op-geth refuse a second one. */
const windowOfDelegated = 1

/** The highest nonce that the service assigns: JSON numbers are exact up to here, and no account gets that far. */
export const maxNonce = Number.MAX_SAFE_INTEGER - 1

/**
 * Milliseconds for which providers may not show what their blocks have, before an operator is asked about it. Indexes of gateways
 * were seen to lag by up to ten blocks, so this only ends the wait for a provider that never shows it.
 */
export const indexPatience = 600 * second

/**
 * Milliseconds for which no provider shows the state of a block, before an operator is asked what happened there. Nothing ends by that time, so
 * it only has to be longer than a provider that starts again is away.
 */
export const statePatience = 120 * second

/** Milliseconds that a transaction with a required nonce waits for predecessors that a script may still send. */
export const predecessorGrace = 15 * second

/**
 * Milliseconds for which a call without an answer to its estimate, or with two different ones, holds the later transactions of its
 * relayer: an outage or a node that lags ends sooner, and transactions that follow on each other keep their order.
 */
export const estimateGrace = 15 * second

/** Blocks that `eth_feeHistory` is asked for. */
export const feeHistoryBlocks = 10

/** Wei per gas of a tip without a `gas_price_cap`, unless ten times the base fee is more. */
export const tipBound = { least: 100_000_000_000n, baseFees: 10n } as const

/** Share of its gas limit from which a block counts as full: of 30 million gas, the rest has no room for a call of 300,000. */
export const fullBlock = 0.99

/** Wei per gas of a tip at least. geth's pool refuses 0 (`txpool.pricelimit`). */
export const leastTip = 1n

/**
 * Wei per gas that makers of blocks usually take as a tip if there is room: the default of geth and op-geth (`miner.gasprice`), and what
 * op-geth suggests then. Seen in geth 1.16.9 and op-geth 1.101702.3.
 */
export const usualLeastTip = 1_000_000n

/** Blocks with tips below which the node is asked for the tip that it suggests: one or two senders may have paid all of them. */
export const quietBlocks = 3

/**
 * What a speed offers at most above the lowest tip of a full block. The lowest tip of the next block is about the same, and a
 * transaction that misses a block is not lost: its price rises after its patience.
 */
export const aboveLowest = {
  safeLow: { numerator: 9n, denominator: 8n },
  average: { numerator: 6n, denominator: 5n },
  fast: { numerator: 5n, denominator: 4n },
  fastest: { numerator: 13n, denominator: 10n }
} as const satisfies Record<string, Ratio>

/** Milliseconds for which a tip that blocks with room passed over is not offered again. */
export const passedOverFor = 3600 * second

/** Readings of `eth_gasPrice` that are remembered, and times the highest of them that the next one may be. */
export const gasPriceBound = { readings: 20, factor: 4n } as const

/**
 * Milliseconds without another block, after which the newest block is taken as it is: some chains make blocks for transactions alone,
 * and a service that waits for the next one would wait for ever.
 */
export const stillAfter = 10 * second

/** Blocks that the head of a lane waits before its price is raised. */
export const patienceBlocks = { fastest: 2, fast: 4, average: 6, safeLow: 10 } as const

/** Milliseconds that the head of a lane waits at least: blocks of 250 ms would raise the price four times a second. */
export const minimumPatience = 6 * second

/** Times the patience after which the price is raised although the market is not above it. */
export const patienceAboveMarket = 3

/** Times the patience after which a transaction that no block takes yields to those behind it, and how often it does. */
export const yielding = { patience: 3, atMost: 3 } as const

/** Accepted sends without a block, after which a transaction shows which providers have accepted it. */
export const sendsBeforePassedOver = 2

/**
 * Blocks after which private providers get the same bytes again, after which a transaction shows that they do not include it, and after which
 * they are asked again whether its call would revert. Flashbots Protect keeps bytes for 25 blocks (docs.flashbots.net, November 2026).
 */
export const privateBlocks = { betweenSends: 5, beforeShown: 3, betweenQuestions: 10 } as const

/** Milliseconds after which a private transaction without a deadline ends. */
export const privateValidity = 3600 * second

/** Milliseconds for which a list waits until the nonce of each entry is the next one of its authority: others may use the entries meanwhile. */
export const authorizationWait = 600 * second

/** Milliseconds for which an acceptance asks the chain about a list. What is not answered is asked again before the signature. */
export const authorizationPatience = 2 * second

/** Milliseconds for which a private call waits for an estimate: no other provider is asked, so that a longer wait brings none. */
export const privateEstimateWait = 120 * second

/**
 * Milliseconds after a restore was noticed, in which no operator may send a private transaction again: bytes that were sent after the copy
 * are seen nowhere, and private providers keep them for up to 25 blocks of 12 seconds, and once more if they were sent again.
 */
export const privateRestoreWait = 900 * second

/** Broadcasts in a row that every provider refuses in unknown words, before a person has to look: a node may have been restarted. */
export const unknownRefusalsBeforeHold = 3

/** Factor of both fees from one attempt to the next. geth wants 10 %, and reth refuses exactly 10 %. */
export const bump: Ratio = { numerator: 9n, denominator: 8n }

/** A replacement with given fees has to be above the former ones by more than this: the rule of the nodes' pools. */
export const minimumBump: Ratio = { numerator: 11n, denominator: 10n }

/** Bumps that follow at once after a node has refused bytes as underpriced. */
export const immediateBumps = 3

/** Base fees that a new attempt can pay: 1.125^6 ≈ 2.03, so `double` survives five full blocks. */
export const baseFeeFactor = {
  double: { numerator: 2n, denominator: 1n },
  oneAndAHalf: { numerator: 3n, denominator: 2n }
} as const satisfies Record<string, Ratio>

/** Factors of `eth_gasPrice` for legacy transactions, as the field does it. */
export const legacyFactor = {
  safeLow: { numerator: 1n, denominator: 1n },
  average: { numerator: 5n, denominator: 4n },
  fast: { numerator: 3n, denominator: 2n },
  fastest: { numerator: 2n, denominator: 1n }
} as const satisfies Record<string, Ratio>

/**
 * Factor by which the data fee that is reserved exceeds the present one. Its price follows the fees of the chain below, which
 * grow by at most 12.5 % per block: a factor of two covers five blocks.
 */
export const dataFeeFactor: Ratio = { numerator: 2n, denominator: 1n }

/** Times the given price that a bump may reach if the relayer has no cap. */
export const explicitCeiling = 3n

/** Times the first attempt's price that a bump may reach above the market, and that a no-op may cost, without a cap. */
export const ceilingWithoutCap = 10n

/** Times the present fast price that a no-op may cost without a cap: the same as the reserve for it. */
export const noopMarketFactor = 2n

/** Times the cap that the price of a no-op may reach: its gas is a fraction of what its transaction was allowed to cost. */
export const noopCapFactor = 10n

/** A balance is read less often than at each poll if it is at least this many times the cost of what is in flight. */
export const ampleBalance = 100n

/** No-ops at the current fast price that the balance of an account keeps back. */
export const noopsInReserve = 2n

/** Gas of every transaction (Yellow Paper, G_transaction). */
export const transactionGas = 21_000n

/** Additional gas of a creation (EIP-2). */
export const creationGas = 32_000n

/** Gas of calldata per byte (EIP-2028). */
export const calldataGas = { zero: 4n, nonZero: 16n } as const

/** Floor of gas per token of calldata (EIP-7623): a zero byte is one token, another byte four. */
export const floor = { gasPerToken: 10n, tokensPerNonZero: 4n } as const

/** Init code of a creation (EIP-3860): gas per 32-byte word, and bytes at most. */
export const initCode = { gasPerWord: 2n, maxBytes: 49_152 } as const

/** Gas of one transaction at most where EIP-7825 is active: 2^24. */
const eip7825GasCap = 2n ** 24n

/** Factor of an estimate: state moves between the estimate and the block. */
export const estimateMargin: Ratio = { numerator: 6n, denominator: 5n }

/** Bytes of a signed transaction that geth's pool accepts (txMaxSize). */
const maxTransactionBytes = 131_072

/** Bytes of `data`: what the limit of a transaction leaves after its other fields, which are below 512 bytes. */
export const maxDataBytes = maxTransactionBytes - 512

// The numbers that a network decides about its transactions: its own fields and its features.

/** What makes a block final: this many blocks on top of it, or the chain's own tag. */
export type Finality = number | "safe" | "finalized"

export interface NetworkNumbers {
  readonly chainId: number
  /** Milliseconds. */
  readonly blockTime: number
  readonly finality: Finality
  /** Milliseconds without another opinion, after which one provider decides alone what is final. */
  readonly finalityByOne: number | "never"
  /** Transactions in flight per lane at most. */
  readonly window: number
  /** Wei per gas that the network's nodes demand as a tip. */
  readonly minimumTip: bigint
  /** Wei per gas of a tip at most. Absent: a multiple of the base fee limits it. */
  readonly tipCap?: bigint
  /** Gas of one transaction at most (EIP-7825). Absent: not active. */
  readonly transactionGasCap?: bigint
  /** Whether nodes keep transactions whose predecessors they do not have. */
  readonly hasMempool: boolean
  /** Whether transactions are priced by EIP-1559. */
  readonly isEip1559: boolean
  readonly isTestnet: boolean
  /** Whether a contract of the chain calculates what data costs besides gas (OP stack). */
  readonly hasDataFeeOracle: boolean
  /** Whether transactions may carry authorizations (EIP-7702). */
  readonly hasAuthorizations: boolean
}

/** Chains on which nodes refuse lower tips, by chain id: Polygon and Amoy. Wei per gas. */
const minimumTips: ReadonlyMap<number, bigint> = new Map([
  [137, 30_000_000_000n],
  [80_002, 25_000_000_000n]
])

type NetworkOfEvm = typeof EvmNetwork.Type

/** A mark of the network, whether it stands among its features or its tags. */
const isMarked = ({ features = [], tags = [] }: NetworkOfEvm, mark: string): boolean =>
  features.includes(mark) || tags.includes(mark)

export const networkNumbers = (network: NetworkOfEvm): NetworkNumbers => {
  const hasMempool = !isMarked(network, "no-mempool")
  const minimumTip = network.minimum_priority_fee ?? minimumTips.get(network.chain_id)
  return {
    chainId: network.chain_id,
    blockTime: network.average_blocktime_ms,
    finality: network.finality_tag ?? network.required_confirmations,
    finalityByOne: finalityByOneOf(network),
    window: network.transaction_window ?? (hasMempool ? window : windowWithoutMempool),
    minimumTip: BigInt(minimumTip ?? 0n),
    ...(network.tip_cap === undefined ? {} : { tipCap: BigInt(network.tip_cap) }),
    ...(isMarked(network, "eip7825") ? { transactionGasCap: eip7825GasCap } : {}),
    hasMempool,
    isEip1559: isMarked(network, "eip1559"),
    isTestnet: network.is_testnet,
    hasDataFeeOracle: isMarked(network, "optimism-based"),
    hasAuthorizations: isMarked(network, "eip7702")
  }
}

/** Milliseconds between two polls of a lane with open transactions. */
export const pollInterval = ({ blockTime }: Pick<NetworkNumbers, "blockTime">): number =>
  Math.min(Math.max(blockTime, poll.minimum), poll.maximum)

/** When the next block is expected to have come. */
export const nextBlock = (numbers: Pick<NetworkNumbers, "blockTime">, now: Moment): Moment =>
  now + pollInterval(numbers)

/**
 * Gas for the call of a delegation to its own account, which runs the delegate without data: an empty `receive` takes 55. What it does not
 * use is not paid.
 */
export const delegationCallGas = 30_000n

/** Transactions in flight at most. `code`: of the account itself, `0x` if it has none. */
export const windowLimitOf = ({ window }: Pick<NetworkNumbers, "window">, code: string): number =>
  delegateOf(code) === undefined ? window : windowOfDelegated
