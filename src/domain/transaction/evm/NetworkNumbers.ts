// The numbers that a network decides about its transactions: its own fields and its features.
import { finalityByOneOf } from "../../network/Network.ts"
import type { EvmNetwork } from "../../network/Network.ts"
import { eip7825GasCap, window, windowOfDelegated, windowWithoutMempool } from "./EvmNumbers.ts"
import { poll } from "../TransactionValues.ts"
import type { Moment } from "../TransactionValues.ts"

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
}

/** Chains on which nodes refuse lower tips, by chain id: Polygon and Amoy. Wei per gas. */
const minimumTips: ReadonlyMap<number, bigint> = new Map([
  [137, 30_000_000_000n],
  [80_002, 25_000_000_000n]
])

type Evm = typeof EvmNetwork.Type

/** A mark of the network, whether it stands among its features or its tags. */
const isMarked = ({ features = [], tags = [] }: Evm, mark: string): boolean =>
  features.includes(mark) || tags.includes(mark)

export const networkNumbers = (network: Evm): NetworkNumbers => {
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
    hasDataFeeOracle: isMarked(network, "optimism-based")
  }
}

/** Milliseconds between two polls of a lane with open transactions. */
export const pollInterval = ({ blockTime }: Pick<NetworkNumbers, "blockTime">): number =>
  Math.min(Math.max(blockTime, poll.minimum), poll.maximum)

/** When the next block is expected to have come. */
export const nextBlock = (numbers: Pick<NetworkNumbers, "blockTime">, now: Moment): Moment =>
  now + pollInterval(numbers)

/** Code of an account with an EIP-7702 delegation begins with this. */
const delegation = "0xef0100"

/** Transactions in flight at most. `code`: of the account itself, `0x` if it has none. */
export const windowLimitOf = ({ window }: Pick<NetworkNumbers, "window">, code: string): number =>
  code.toLowerCase().startsWith(delegation) ? windowOfDelegated : window
