// A chain in memory: the blocks that last, the pool, and the transactions of one account, in the form in which nodes show them.
import { keccak256, parseTransaction } from "viem"
import { codeOf, forNodes } from "../../../../src/networks/evm/rules/Authorizations.ts"
import type { SignedAuthorization } from "../../../../src/networks/evm/rules/Authorizations.ts"
import * as Wire from "../../../../src/testkit/evm/Wire.ts"
import { bytesOf } from "../../../../src/testkit/Keys.ts"
import * as Blocks from "../../../../src/testkit/chain/Blocks.ts"
import type { Blocks as ChainBlocks, Mined } from "../../../../src/testkit/chain/Blocks.ts"
import { after, executable } from "../../../../src/testkit/chain/Pool.ts"
import type { Pool, PoolBytes } from "../../../../src/testkit/chain/Pool.ts"
import { hex } from "./Hex.ts"
import type { Hex } from "./Hex.ts"

export const gwei = 10n ** 9n
const ether = 10n ** 18n

/** A signed transaction with what nodes and pools read of it. */
export interface Bytes extends PoolBytes {
  readonly to: string | undefined
  readonly value: bigint
  readonly authorizations: ReadonlyArray<SignedAuthorization>
  /** The fields of `eth_getTransactionByHash`, without the block. */
  readonly fields: Readonly<Record<string, unknown>>
}

export const parse = (raw: Hex): Bytes => {
  const { nonce = 0, to, value = 0n, data = "0x", gas = 0n, chainId = 0, ...rest } = parseTransaction(raw)
  const { maxFeePerGas: maxFee = 0n, maxPriorityFeePerGas: tip = 0n, r, s, yParity = 0 } = rest
  const hash = keccak256(raw)
  const { authorizations: list = [] } = Wire.opened(bytesOf(raw))
  const authorizations = list.map((entry) => ({ ...entry, authority: Wire.authorityOf(entry) }))
  return {
    hash,
    authorizations,
    nonce,
    to: to?.toLowerCase(),
    value,
    maxFee,
    tip,
    cost: value + gas * maxFee,
    fields: {
      hash,
      type: authorizations.length === 0 ? "0x2" : "0x4",
      ...(authorizations.length === 0 ? {} : { authorizationList: authorizations.map(forNodes) }),
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

/** An account that is none of the service: its transactions, those in pools besides, and its code. */
export interface Other {
  readonly count: number
  readonly pending: number
  readonly code: string
}

const nobody: Other = { count: 0, pending: 0, code: "0x" }

export const make = () => {
  const chain = {
    /** Block 5 is the head at first, so that a reorganisation has something to replace. */
    blocks: Blocks.upTo<Bytes>(5),
    pool: new Map() as Pool<Bytes>,
    /** All bytes that any node was sent, taken or not. */
    sent: new Map<string, Bytes>(),
    balance: 100n * ether,
    baseFee: gwei,
    /** Of each block. */
    gasLimit: 30_000_000,
    /** Seconds since 1970 at a height. Absent: blocks have no time. */
    timeOf: undefined as ((height: number) => number) | undefined,
    /** Whether each block has a transaction of somebody else as well. */
    isBusy: false,
    /** Code of the account itself. */
    code: "0x",
    /** Accounts besides the own one as they would be without any authorization of these blocks, in lower case. */
    others: new Map<string, Other>(),

    /** An account after these blocks: nodes skip an authorization with another nonce than the next one. */
    otherAt: (address: string, blocks: ChainBlocks<Bytes>): Other => {
      const { pending, ...first } = chain.others.get(address) ?? nobody
      let { code, count } = first
      for (const { bytes } of Blocks.minedIn(blocks)) {
        for (const entry of bytes.authorizations) {
          if (entry.authority !== address || entry.nonce !== count) continue
          count += 1
          code = codeOf(entry)
        }
      }
      return { count, pending, code }
    },

    /** The first of the new blocks has what the pool can execute. */
    mine: (blocks = 1, { isSuccess = true } = {}) => {
      const taken = executable(Blocks.countOf(chain.blocks), chain.pool)
      chain.include(taken.map((bytes) => ({ bytes, isSuccess })))
      for (let more = 1; more < blocks; more++) chain.blocks = Blocks.grow(chain.blocks)
    },
    /** A block with these transactions, whatever the pool has. */
    include: (transactions: ReadonlyArray<Mined<Bytes>>) => {
      chain.blocks = Blocks.grow(chain.blocks, transactions)
      chain.pool = after(Blocks.countOf(chain.blocks), chain.pool)
    },
    /** The pool forgets what it has, or only what it has for a nonce. */
    forget: (nonce?: number) => {
      chain.pool = new Map([...chain.pool].filter(([other]) => nonce !== undefined && other !== nonce))
    },
    /** The pool does not get the transactions of the replaced blocks back. */
    reorg: (depth: number) => {
      chain.blocks = Blocks.reorg(chain.blocks, depth)
    },
    /** How often a value was transferred to an address. */
    effects: (to: string, value = 1n) =>
      Blocks.minedIn(chain.blocks).filter(
        ({ bytes, isSuccess }) => isSuccess && bytes.to === to && bytes.value === value
      ).length
  }
  return chain
}
export type Chain = ReturnType<typeof make>
