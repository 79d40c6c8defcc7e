// What a transaction of evm has offered in each block, next to the base fee of the block: why it was not mined before.
import type { DateTime } from "effect"
import type { TransactionFees } from "../../../src/client/Client.ts"

interface Offer {
  readonly max_fee_per_gas?: bigint
  readonly gas_price?: bigint
  /** Height of the chain when it was first sent. Rows of older versions of the service do not have it. */
  readonly first_sent_block?: number
  readonly sent_at?: DateTime.Utc
}

interface Offered {
  readonly attempts?: ReadonlyArray<Offer>
  readonly block_number?: number
  readonly effective_gas_price?: bigint
}

/** Wei per gas, for each block. */
export interface FeePlot {
  readonly blocks: ReadonlyArray<number>
  readonly baseFees: ReadonlyArray<bigint>
  readonly offers: ReadonlyArray<bigint | undefined>
  readonly cap?: ReadonlyArray<bigint>
  /** What was paid, in the block that has the transaction. */
  readonly paid?: ReadonlyArray<bigint | undefined>
}

/** Fewer blocks are said in a sentence. */
const fewest = 3

type Block = TransactionFees["blocks"][number]

const wasSent = ({ first_sent_block, sent_at }: Offer, { number, at }: Block): boolean =>
  first_sent_block === undefined
    ? sent_at !== undefined && sent_at.epochMilliseconds <= at.epochMilliseconds
    : first_sent_block <= number

const priceOf = ({ max_fee_per_gas, gas_price }: Offer): bigint | undefined => max_fee_per_gas ?? gas_price

/** The price of the newest attempt that nodes could have had before the block. */
const offerIn = (block: Block, attempts: ReadonlyArray<Offer>): bigint | undefined => {
  const offer = attempts.findLast((attempt) => priceOf(attempt) !== undefined && wasSent(attempt, block))
  return offer === undefined ? undefined : priceOf(offer)
}

/** A response may stand for several blocks by one. The block that has the transaction is shown at the nearest one. */
const nearest = (blocks: ReadonlyArray<Block>, height: number): Block | undefined =>
  blocks.findLast(({ number }) => number <= height) ?? blocks[0]

/** `undefined`: there are too few blocks for a plot. */
export const feePlotOf = (
  { attempts = [], block_number, effective_gas_price }: Offered,
  { blocks, cap }: TransactionFees
): FeePlot | undefined => {
  if (blocks.length < fewest) return undefined
  const mined = block_number === undefined ? undefined : nearest(blocks, block_number)
  return {
    blocks: blocks.map(({ number }) => number),
    baseFees: blocks.map(({ base_fee }) => base_fee),
    offers: blocks.map((block) =>
      mined !== undefined && block.number > mined.number ? undefined : offerIn(block, attempts)
    ),
    ...(cap === undefined ? {} : { cap: blocks.map(() => cap) }),
    ...(mined === undefined ? {} : { paid: blocks.map((block) => (block === mined ? effective_gas_price : undefined)) })
  }
}
