// A chain in memory, as one node has it: blocks with their transactions.

/** What identifies signed bytes. */
export interface BlockBytes {
  readonly hash: string
}

export interface Mined<B extends BlockBytes> {
  readonly bytes: B
  readonly isSuccess: boolean
}

export interface Block<B extends BlockBytes> {
  readonly number: number
  readonly hash: string
  readonly transactions: ReadonlyArray<Mined<B>>
}

/** From the block at height 0 on. */
export type Blocks<B extends BlockBytes> = ReadonlyArray<Block<B>>

let made = 0

/** Two blocks are never the same, also at one height. */
const blockOn = <B extends BlockBytes>(number: number, transactions: ReadonlyArray<Mined<B>>): Block<B> => ({
  number,
  hash: `0x${(++made).toString(16).padStart(64, "0")}`,
  transactions
})

export const grow = <B extends BlockBytes>(
  blocks: Blocks<B>,
  transactions: ReadonlyArray<Mined<B>> = []
): Blocks<B> => [...blocks, blockOn(blocks.length, transactions)]

/** Empty blocks up to this height. */
export const upTo = <B extends BlockBytes>(height: number): Blocks<B> =>
  Array.from({ length: height + 1 }, (_, number) => blockOn(number, []))

export const headOf = <B extends BlockBytes>(blocks: Blocks<B>): Block<B> => blocks.at(-1) ?? blockOn(0, [])

/** As a back end has it that is `lag` blocks behind. */
export const behind = <B extends BlockBytes>(blocks: Blocks<B>, lag: number): Blocks<B> =>
  blocks.slice(0, Math.max(blocks.length - lag, 1))

/** Without the newest `depth` blocks, and with one more empty ones instead. */
export const reorg = <B extends BlockBytes>(blocks: Blocks<B>, depth: number): Blocks<B> => {
  let fork = behind(blocks, depth)
  while (fork.length <= blocks.length) fork = grow(fork)
  return fork
}

export const minedIn = <B extends BlockBytes>(blocks: Blocks<B>) =>
  blocks.flatMap((block) => block.transactions.map((transaction) => ({ ...transaction, block })))

/** The nonce of the account's next transaction. */
export const countOf = <B extends BlockBytes>(blocks: Blocks<B>): number =>
  blocks.reduce((count, { transactions }) => count + transactions.length, 0)
