// A chain as one node has it: blocks with the transactions of one account.

export interface MinedTransaction {
  readonly nonce: number
  readonly hash: string
  readonly isSuccess: boolean
}

export interface Block {
  readonly number: number
  readonly hash: string
  readonly transactions: ReadonlyArray<MinedTransaction>
}

let blocks = 0

/** Two blocks are never the same, also at one height. */
const blockOn = (number: number, transactions: ReadonlyArray<MinedTransaction>): Block => ({
  number,
  hash: `block-${number}-${++blocks}`,
  transactions
})

/** From the block at height 0 on. */
export type Chain = ReadonlyArray<Block>

export const genesis = (): Chain => [blockOn(0, [])]

export const headOf = (chain: Chain): Block => chain.at(-1) ?? blockOn(0, [])

export const grow = (chain: Chain, transactions: ReadonlyArray<MinedTransaction> = []): Chain => [
  ...chain,
  blockOn(chain.length, transactions)
]

/** Without the newest `depth` blocks, and with one more empty ones instead. */
export const reorg = (chain: Chain, depth: number): Chain => {
  let fork: Chain = chain.slice(0, Math.max(chain.length - depth, 1))
  while (fork.length <= chain.length) fork = grow(fork)
  return fork
}

/** As a back end has it that is `lag` blocks behind. */
export const behind = (chain: Chain, lag: number): Chain => chain.slice(0, Math.max(chain.length - lag, 1))

export const minedIn = (chain: Chain) =>
  chain.flatMap((block) => block.transactions.map((transaction) => ({ ...transaction, block })))

export const countOf = (chain: Chain): number =>
  chain.reduce((count, { transactions }) => count + transactions.length, 0)
