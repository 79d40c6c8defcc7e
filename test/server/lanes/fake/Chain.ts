// A chain in memory: the blocks that last, the pool, and the transactions of one account, in the form in which nodes show them.
import { keccak256, parseTransaction } from "viem"
import { hex } from "./Hex.ts"
import type { Hex } from "./Hex.ts"

export const gwei = 10n ** 9n
const ether = 10n ** 18n

/** A signed transaction with what nodes and pools read of it. */
export interface Bytes {
  readonly hash: string
  readonly nonce: number
  readonly to: string | undefined
  readonly value: bigint
  readonly maxFee: bigint
  readonly tip: bigint
  readonly cost: bigint
  /** The fields of `eth_getTransactionByHash`, without the block. */
  readonly fields: Readonly<Record<string, unknown>>
}

export interface Block {
  readonly number: number
  readonly hash: string
  readonly transactions: ReadonlyArray<{ readonly bytes: Bytes; readonly isSuccess: boolean }>
}

/** From the block at height 0 on. */
export type Blocks = ReadonlyArray<Block>

export const parse = (raw: Hex): Bytes => {
  const { nonce = 0, to, value = 0n, data = "0x", gas = 0n, chainId = 0, ...rest } = parseTransaction(raw)
  const { maxFeePerGas: maxFee = 0n, maxPriorityFeePerGas: tip = 0n, r, s, yParity = 0 } = rest
  const hash = keccak256(raw)
  return {
    hash,
    nonce,
    to: to?.toLowerCase(),
    value,
    maxFee,
    tip,
    cost: value + gas * maxFee,
    fields: {
      hash,
      type: "0x2",
      nonce: hex(nonce),
      to: to ?? null,
      value: hex(value),
      input: data,
      gas: hex(gas),
      maxFeePerGas: hex(maxFee),
      maxPriorityFeePerGas: hex(tip),
      chainId: hex(chainId),
      accessList: [],
      r,
      s,
      yParity: hex(yParity)
    }
  }
}

let made = 0

/** Two blocks are never the same, also at one height. */
const blockOn = (number: number, transactions: Block["transactions"] = []): Block => ({
  number,
  hash: `0x${(++made).toString(16).padStart(64, "0")}`,
  transactions
})

export const countOf = (blocks: Blocks): number =>
  blocks.reduce((count, { transactions }) => count + transactions.length, 0)

export const grow = (blocks: Blocks, transactions: Block["transactions"] = []): Blocks => [
  ...blocks,
  blockOn(blocks.length, transactions)
]

/** Transactions of the pool that can be mined now, by nonce. */
const executable = (count: number, pool: ReadonlyMap<number, Bytes>): ReadonlyArray<Bytes> => {
  const found = pool.get(count)
  return found === undefined ? [] : [found, ...executable(count + 1, pool)]
}

export const make = () => {
  const chain = {
    /** Block 5 is the head at first, so that a reorganisation has something to replace. */
    blocks: [0, 1, 2, 3, 4, 5].map((number) => blockOn(number)) as Blocks,
    pool: new Map<number, Bytes>(),
    /** All bytes that any node was sent, taken or not. */
    sent: new Map<string, Bytes>(),
    balance: 100n * ether,
    baseFee: gwei,
    /** Code of the account itself. */
    code: "0x",

    /** The first of the new blocks has what the pool can execute. */
    mine: (blocks = 1, { isSuccess = true } = {}) => {
      const transactions = executable(countOf(chain.blocks), chain.pool).map((bytes) => ({ bytes, isSuccess }))
      chain.include(transactions)
      for (let more = 1; more < blocks; more++) chain.blocks = grow(chain.blocks)
    },
    /** A block with these transactions, whatever the pool has. */
    include: (transactions: Block["transactions"]) => {
      chain.blocks = grow(chain.blocks, transactions)
      for (const { bytes } of transactions) chain.pool.delete(bytes.nonce)
    },
    /** Replaces the newest blocks by empty ones, and one more. The pool does not get their transactions back. */
    reorg: (depth: number) => {
      const length = chain.blocks.length
      chain.blocks = chain.blocks.slice(0, length - depth)
      while (chain.blocks.length <= length) chain.blocks = grow(chain.blocks)
    },
    /** How often a value was transferred to an address. */
    effects: (to: string, value = 1n) =>
      chain.blocks
        .flatMap(({ transactions }) => transactions)
        .filter(({ bytes, isSuccess }) => isSuccess && bytes.to === to && bytes.value === value).length
  }
  return chain
}
export type Chain = ReturnType<typeof make>
