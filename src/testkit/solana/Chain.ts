// The laws of a solana cluster in memory: slots, blockhashes that die, leaders that keep nothing, and transfers of lamports.
import { sha256 } from "@noble/hashes/sha2.js"
import type { NodeAnswer } from "../../networks/solana/rules/Solana.ts"
import { encodeBase58 } from "../../networks/solana/rules/Wire.ts"
import { headOf } from "../chain/Blocks.ts"
import type { Block, Blocks, Mined } from "../chain/Blocks.ts"
import * as Common from "../chain/Chain.ts"
import type { Answer, FailingChain, Payment } from "../chain/Chain.ts"
import type { Bytes, Read } from "./Bytes.ts"

export type Provider = Common.Provider<Bytes>

/** Blocks on top of a block for which its blockhash is valid. */
export const life = 150

/** One slot in so many has no block, so that slots and heights differ. */
const skipped = 7

/** The slot of the block at a height. */
export const slotOf = (height: number): number => height + Math.floor(height / skipped)

/** The height of the first block from a slot on. */
export const heightAt = (slot: number): number => {
  let height = Math.max(Math.floor((slot * skipped) / (skipped + 1)) - 1, 0)
  while (slotOf(height) < slot) height += 1
  return height
}

interface Options {
  readonly providers: number
  readonly baseFee: bigint
  /** Lamports of an account that has sent and received nothing. */
  readonly funds: bigint
}

const { findIn, occupiedIn } = Common.makeReader<Bytes>()
export { findIn, occupiedIn }

export const nodeAnswerOf = (answer: Answer): NodeAnswer => {
  if (answer === undefined) return { _tag: "NoAnswer" }
  const { refusal } = answer
  return refusal === undefined ? { _tag: "Signature" } : { _tag: "RpcError", code: -32005, message: refusal }
}

const canonical = (address: string): string => address

export const make = ({ providers, baseFee, funds }: Options) => {
  /** What the next leader has, by signature. What it does not take is gone. */
  const queue = new Map<string, Bytes>()
  /** Blocks whose blockhash was asked for, by it. */
  const named = new Map<string, Block<Bytes>>()
  const names = new WeakMap<Block<Bytes>, string>()

  const blockhashOf = (block: Block<Bytes>): string => {
    const name = names.get(block) ?? encodeBase58(sha256(new TextEncoder().encode(block.hash)))
    names.set(block, name)
    named.set(name, block)
    return name
  }

  /** Whether these blocks have the block of a blockhash, below few enough others. */
  const isAlive = (blocks: Blocks<Bytes>, blockhash: string): boolean => {
    const block = named.get(blockhash)
    return block !== undefined && blocks[block.number] === block && headOf(blocks).number - block.number <= life
  }

  const hasLanded = (hash: string): boolean => findIn(chain.blocks(), (bytes) => bytes.hash === hash) !== undefined

  const touches = ({ wire }: Read, accounts: ReadonlySet<string>): boolean =>
    wire.message.keys.slice(1).some((key) => accounts.has(key))

  const spentBy = (address: string, { transfers }: Pick<Read, "transfers">): bigint =>
    transfers.reduce(
      (sum, { from, to, value }) => sum + (from === address ? value : 0n) - (to === address ? value : 0n),
      0n
    )

  const balanceOf = (address: string): bigint => {
    let balance = funds + chain.giftsTo(address)
    for (const { transactions } of occupiedIn(chain.blocks())) {
      for (const { bytes, isSuccess } of transactions) {
        if (bytes.from === address) balance -= bytes.fee
        if (isSuccess) balance -= spentBy(address, bytes)
      }
    }
    return balance
  }

  const canPay = (bytes: Read): boolean =>
    bytes.transfers.every(({ from }) => {
      const left = balanceOf(from) - (from === bytes.from ? bytes.fee : 0n)
      return left >= spentBy(from, bytes)
    })

  /** Whether it fails in a block. `seen`: receivers at which calls fail. */
  const fails = (bytes: Read, seen: ReadonlySet<string>): boolean => touches(bytes, seen) || !canPay(bytes)

  /** Whether a leader can put it into the next block. */
  const canLand = (bytes: Bytes): boolean =>
    bytes.isSigned &&
    isAlive(chain.blocks(), bytes.wire.message.blockhash) &&
    !hasLanded(bytes.hash) &&
    balanceOf(bytes.from) >= bytes.fee

  const chain: Common.Chain<Bytes> = Common.make<Bytes>({
    providers,
    price: baseFee,
    laws: {
      // Nodes forward what they are sent, and check nothing.
      offer: (bytes) => {
        queue.set(bytes.hash, bytes)
        return {}
      },
      taken: () => [...queue.values()].filter((bytes) => canLand(bytes) && bytes.price >= chain.price),
      executed: (bytes): Mined<Bytes> => ({ bytes, isSuccess: !fails(bytes, chain.reverting) }),
      isPayment: ({ transfers }, { to, value }) => transfers.some((one) => one.to === to && one.value === value),
      made: () => {},
      settle: () => queue.clear(),
      forget: () => queue.clear(),
      // Leaders keep no bytes: the relayer sends them again.
      dropped: () => {}
    }
  })

  return Object.assign(chain, {
    blockhashOf,
    isAlive,
    balanceOf,
    spentBy,
    fails,
    canonical,
    includeSent: (payment: Payment): boolean => {
      const newest = chain.sent(payment).findLast(canLand)
      if (newest !== undefined) chain.include([newest])
      return newest !== undefined
    },
    takeSequence: (): never => {
      throw new Error("accounts of solana have no nonce that somebody could take")
    }
  }) satisfies FailingChain
}
export type Chain = ReturnType<typeof make>
