// The base fees of the blocks that could have contained a transaction. Compared with its offers, they show why it waited.
import { DateTime, Schema } from "effect"
import { field, shown } from "../../request/Field.ts"
import * as Shown from "../../request/Shown.ts"
import { Instant } from "../../request/Text.ts"
import { isFinal } from "../Transaction.ts"
import type { Transaction } from "../Transaction.ts"
import type { Moment, Point } from "../TransactionValues.ts"
import type { Evm } from "./Evm.ts"

/** The most points of a response. A plot has no room for more. */
export const maxPoints = 512

/** The most blocks of one `eth_feeHistory` call: geth, Nethermind, Erigon, Besu and reth allow 1024. */
export const blocksPerCall = 1024

/** The most blocks that are read: a day of 12-second blocks, or four and a half hours of 2-second blocks. */
export const maxBlocks = 8 * blocksPerCall

/** Blocks after the one that contains the transaction, so that the transaction is not at the edge of a plot. */
const blocksAfter = 2

const BlockFee = Schema.Struct({
  number: field(Schema.Natural, "Height of the block.", 19_000_000),
  at: field(
    Instant,
    "When it was made. Between the first and the last block, computed as if all took the same time.",
    "2026-11-22T12:00:00.000Z"
  ),
  base_fee: field(Shown.Digits, "Base fee in wei per gas.", "42000000000")
}).annotate({ identifier: "BlockFee", description: "The base fee of a block." })

export const TransactionFees = Schema.Struct({
  cap: shown(
    Shown.Digits,
    "`gas_price_cap` of the relayer's policy now, in wei per gas. Absent if there is none.",
    "60000000000"
  ),
  blocks: field(
    Schema.Array(BlockFee),
    `Blocks from its acceptance until it was mined, or until now, in order. At most ${maxPoints}: if there are more, each stands for as many, and is the one with the lowest base fee among them. Empty on a network without base fees.`,
    []
  )
}).annotate({
  identifier: "TransactionFees",
  description: "Base fees of the blocks in which the transaction could be mined."
})
export type TransactionFees = typeof TransactionFees.Type

/** The newest block of the chain. `blockTime`: milliseconds. */
export interface ChainNow extends Point {
  readonly blockTime: number
}

/** Heights, both inclusive. */
export interface Heights {
  readonly first: number
  readonly last: number
}

/** The earliest moment with a known height: the first send, or else the newest block. */
const anchorOf = ({ attempts }: Transaction<Evm>, now: ChainNow): Point =>
  attempts.find(({ firstSent }) => firstSent !== undefined)?.firstSent ?? now

/**
 * The blocks from the acceptance of the transaction until it was mined, or else ended, or else until now. If only the moment
 * of a height is known, the height is estimated with the network's block time.
 */
export const heightsOf = (transaction: Transaction<Evm>, now: ChainNow): Heights => {
  const anchor = anchorOf(transaction, now)
  const heightAt = (at: Moment): number => anchor.height + Math.round((at - anchor.at) / now.blockTime)
  const { mined, createdAt, causeSince } = transaction
  const end =
    mined === undefined
      ? isFinal(transaction)
        ? heightAt(causeSince)
        : now.height
      : mined.receipt.height + blocksAfter
  const last = Math.max(0, Math.min(end, now.height))
  return { first: Math.min(last, Math.max(0, heightAt(createdAt), last - maxBlocks + 1)), last }
}

/** Splits the heights into the parts that one call can answer. */
export const callsFor = ({ first, last }: Heights): ReadonlyArray<Heights> =>
  Array.from({ length: Math.ceil((last - first + 1) / blocksPerCall) }, (_, index) => {
    const from = first + index * blocksPerCall
    return { first: from, last: Math.min(last, from + blocksPerCall - 1) }
  })

export interface BaseFee {
  readonly number: number
  readonly baseFee: bigint
}

/** At most `maxPoints` points. Each is the lowest base fee of a group of blocks: a lower offer fitted into no block of the group. */
const thinned = (fees: ReadonlyArray<BaseFee>): ReadonlyArray<BaseFee> => {
  const size = Math.ceil(fees.length / maxPoints)
  if (size <= 1) return fees
  return Array.from({ length: Math.ceil(fees.length / size) }, (_, index) =>
    fees.slice(index * size, (index + 1) * size).reduce((lowest, fee) => (fee.baseFee < lowest.baseFee ? fee : lowest))
  )
}

/** The moments of the first and the last block, in milliseconds. */
export interface Times {
  readonly first: Moment
  readonly last: Moment
}

export const pointsOf = (fees: ReadonlyArray<BaseFee>, { first, last }: Heights, times: Times) =>
  thinned(fees).map(({ number, baseFee }) => ({
    number,
    at: DateTime.makeUnsafe(
      Math.round(times.first + ((number - first) * (times.last - times.first)) / Math.max(1, last - first))
    ),
    base_fee: baseFee
  }))
