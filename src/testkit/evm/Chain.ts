// An evm chain in memory with its providers, and everything that can go wrong with both. It knows no clock: `TestChain.ts` makes its blocks.
import type { NodeAnswer } from "../../networks/evm/rules/Refusal.ts"
import { behind, grow, headOf, reorg, upTo } from "../chain/Blocks.ts"
import type { Block, Blocks, Mined } from "../chain/Blocks.ts"
import * as Pool from "../chain/Pool.ts"
import { opened } from "./Wire.ts"
import type { Bytes } from "./Wire.ts"

export const gwei = 1_000_000_000n

/** Height of the first head: a reorganisation has something to replace. */
const firstHeight = 5

/** Gas that a transfer uses, and a call besides its data: more than the least, so that an estimate differs from it. */
const gasOfTransfer = 21_000n
const gasOfCall = 30_000n
/** Gas of a byte of data that is not zero (EIP-2028). */
const gasOfByte = 16n
/** Gas that a reverted transaction uses: less than its limit, as a `REVERT` of a contract leaves gas. */
const gasOfRevert = 20_500n

/** One RPC URL, and how it misbehaves. */
export interface Provider {
  readonly url: string
  /** It answers nothing. */
  isAway: boolean
  /** It takes bytes, and its answers to broadcasts do not arrive. */
  losesAnswers: boolean
  /** It answers broadcasts with a hash, and keeps nothing. */
  swallows: boolean
  /** The text with which it refuses all bytes. Undefined: it follows the rules of geth's pool. */
  refusal: string | undefined
  /** Blocks that it is behind. */
  lag: number
  /** The chain that it shows instead of the one that lasts. */
  fork: Blocks<Bytes> | undefined
}

/** What identifies a payment on the chain. */
export interface Payment {
  readonly to: string
  readonly value: bigint
}

export interface Call {
  readonly to?: string | undefined
  readonly value: bigint
  readonly data?: string | undefined
}

interface Options {
  readonly providers: number
  readonly baseFee: bigint
  /** Wei of an account that has sent and received nothing. */
  readonly funds: bigint
}

const occupied = new WeakMap<Blocks<Bytes>, Blocks<Bytes>>()

/** The blocks that are not empty: polls ask about them again and again. */
const occupiedIn = (blocks: Blocks<Bytes>): Blocks<Bytes> => {
  const found = occupied.get(blocks) ?? blocks.filter(({ transactions }) => transactions.length > 0)
  occupied.set(blocks, found)
  return found
}

/** Transactions of the account up to a height, the head if it is absent. */
export const countOf = (blocks: Blocks<Bytes>, address: string, height = blocks.length): number => {
  let count = 0
  for (const { number, transactions } of occupiedIn(blocks)) {
    if (number > height) break
    for (const { bytes } of transactions) if (bytes.from === address) count += 1
  }
  return count
}

/** The block that contains bytes, and how they were executed. */
export interface Found extends Mined<Bytes> {
  readonly block: Block<Bytes>
}

export const findIn = (blocks: Blocks<Bytes>, wanted: (bytes: Bytes) => boolean): Found | undefined => {
  for (const block of occupiedIn(blocks)) {
    for (const mined of block.transactions) if (wanted(mined.bytes)) return { ...mined, block }
  }
  return undefined
}

const accepted: NodeAnswer = { _tag: "Hash" }
const noAnswer: NodeAnswer = { _tag: "NoAnswer" }
const refused = (message: string): NodeAnswer => ({ _tag: "RpcError", code: -32000, message })

const isPayment =
  ({ to, value }: Payment) =>
  (bytes: Bytes): boolean =>
    bytes.to === to.toLowerCase() && bytes.value === value

export const make = ({ providers, baseFee, funds }: Options) => {
  let blocks = upTo<Bytes>(firstHeight)
  const pools = new Map<string, Pool.Pool<Bytes>>()
  /** Wei that tests gave to accounts, or took. */
  const gifts = new Map<string, bigint>()
  /** Wei per gas in a block, by its hash. */
  const baseFees = new Map<string, bigint>()
  const all: ReadonlyArray<Provider> = Array.from({ length: providers }, (_, index) => ({
    url: `https://provider-${index + 1}.testkit.example/`,
    isAway: false,
    losesAnswers: false,
    swallows: false,
    refusal: undefined,
    lag: 0,
    fork: undefined
  }))
  /** Bytes on their way to the pools, and the height at which they arrive. */
  let underWay: ReadonlyArray<{ readonly bytes: Bytes; readonly height: number }> = []

  const state = {
    /** Of the next block. */
    baseFee,
    /** Makers of blocks take no transactions. */
    isHeldBack: false,
    /** Blocks after which bytes arrive in the pools. 0: at once. */
    delay: 0,
    /** Bytes that arrive together arrive in the reverse order. */
    isReordered: false,
    /** Receivers at which calls revert in their block, in lower case. Estimates do not show it. */
    reverting: new Set<string>(),
    /** Receivers at which estimates say that calls revert, in lower case. */
    refusing: new Set<string>(),
    /** What any provider was ever sent, by hash. */
    left: new Map<string, Bytes>()
  }

  const poolOf = (address: string): Pool.Pool<Bytes> => pools.get(address) ?? new Map<number, Bytes>()

  const pricePaid = ({ maxFee, tip }: Bytes, { hash }: Block<Bytes>): bigint => {
    const base = baseFees.get(hash) ?? state.baseFee
    return maxFee < base + tip ? maxFee : base + tip
  }

  const gasOf = ({ data = "0x" }: Call): bigint =>
    data === "0x" ? gasOfTransfer : gasOfCall + gasOfByte * BigInt((data.length - 2) / 2)

  const gasUsed = ({ bytes, isSuccess }: Mined<Bytes>): bigint => {
    const gas = isSuccess ? gasOf(bytes) : gasOfRevert
    return gas < bytes.gasLimit ? gas : bytes.gasLimit
  }

  const balanceOf = (address: string): bigint => {
    let balance = funds + (gifts.get(address) ?? 0n)
    for (const block of occupiedIn(blocks)) {
      for (const mined of block.transactions) {
        const { bytes, isSuccess } = mined
        if (bytes.from === address) balance -= gasUsed(mined) * pricePaid(bytes, block) + (isSuccess ? bytes.value : 0n)
        if (isSuccess && bytes.to === address) balance += bytes.value
      }
    }
    return balance
  }

  const offer = (bytes: Bytes): NodeAnswer => {
    const count = countOf(blocks, bytes.from)
    const offered = Pool.offer({ pool: poolOf(bytes.from), count, balance: balanceOf(bytes.from) }, bytes)
    if (typeof offered === "string") return refused(offered)
    pools.set(bytes.from, offered)
    return accepted
  }

  const arrive = (): void => {
    const height = headOf(blocks).number
    const arriving = underWay.filter((one) => one.height <= height)
    underWay = underWay.filter((one) => one.height > height)
    for (const { bytes } of state.isReordered ? arriving.toReversed() : arriving) offer(bytes)
  }

  /** What this provider answers to a broadcast. Bytes that it was sent have left, whatever it answers. */
  const broadcast = (provider: Provider, bytes: Bytes): NodeAnswer => {
    if (provider.isAway) return noAnswer
    state.left.set(bytes.hash, bytes)
    if (provider.refusal !== undefined) return refused(provider.refusal)
    if (provider.swallows) return accepted
    if (state.delay > 0) {
      underWay = [...underWay, { bytes, height: headOf(blocks).number + state.delay }]
      return provider.losesAnswers ? noAnswer : accepted
    }
    const answer = offer(bytes)
    return provider.losesAnswers ? noAnswer : answer
  }

  const grown = (on: Blocks<Bytes>, transactions: ReadonlyArray<Mined<Bytes>> = []): Blocks<Bytes> => {
    const after = grow(on, transactions)
    baseFees.set(headOf(after).hash, state.baseFee)
    return after
  }

  const executed = (bytes: Bytes): Mined<Bytes> => ({
    bytes,
    isSuccess: bytes.to === undefined || !state.reverting.has(bytes.to)
  })

  /** A block with these transactions, whatever the pools have. */
  const include = (transactions: ReadonlyArray<Bytes>): void => {
    blocks = grown(blocks, transactions.map(executed))
    for (const [address, pool] of pools) pools.set(address, Pool.after(countOf(blocks, address), pool))
    for (const provider of all) if (provider.fork !== undefined) provider.fork = grown(provider.fork)
    arrive()
  }

  /** What a maker of blocks takes from a pool: in the order of nonces, until one of them does not pay the base fee. */
  const takenFrom = ([address, pool]: readonly [string, Pool.Pool<Bytes>]): ReadonlyArray<Bytes> => {
    const ready = Pool.executable(countOf(blocks, address), pool)
    const end = ready.findIndex(({ maxFee }) => maxFee < state.baseFee)
    return end === -1 ? ready : ready.slice(0, end)
  }

  /** The next block. */
  const tick = (): void => include(state.isHeldBack ? [] : [...pools].flatMap(takenFrom))

  const forget = (): void => {
    pools.clear()
    underWay = []
  }

  /** The transactions of the replaced blocks return to the pools, as those of geth do. */
  const replace = (depth: number): void => {
    const gone = blocks.slice(blocks.length - depth).flatMap(({ transactions }) => transactions)
    blocks = reorg(blocks, depth)
    for (const block of blocks.slice(-depth - 1)) baseFees.set(block.hash, state.baseFee)
    for (const { bytes } of gone) offer(bytes)
  }

  /** What a provider shows. */
  const shownBy = ({ fork, lag }: Provider): Blocks<Bytes> =>
    lag === 0 ? (fork ?? blocks) : behind(fork ?? blocks, lag)

  /** From now on the provider has a block in which the newest bytes of a payment are executed, which the chain that lasts does not have. */
  const lie = (provider: Provider, payment: Payment): void => {
    const bytes = [...state.left.values()].findLast(isPayment(payment))
    provider.fork = grown(blocks, bytes === undefined ? [] : [{ bytes, isSuccess: true }])
  }

  /** How often blocks that last have executed it. */
  const payments = (payment: Payment): number =>
    blocks
      .flatMap(({ transactions }) => transactions)
      .filter(({ bytes, isSuccess }) => isSuccess && isPayment(payment)(bytes)).length

  return Object.assign(state, {
    providers: all,
    blocks: () => blocks,
    head: () => headOf(blocks),
    poolOf,
    balanceOf,
    gasOf,
    gasUsed,
    pricePaid,
    broadcast,
    sendRaw: (provider: Provider, raw: Uint8Array) => {
      const bytes = opened(raw)
      return { bytes, answer: broadcast(provider, bytes) }
    },
    include,
    tick,
    forget,
    replace,
    shownBy,
    lie,
    payments,
    /** Bytes of the payment that left, mined or not. */
    sent: (payment: Payment): ReadonlyArray<Bytes> => [...state.left.values()].filter(isPayment(payment)),
    /** The block of the payment. Undefined: no block has it. */
    minedAt: (payment: Payment): number | undefined => findIn(blocks, isPayment(payment))?.block.number,
    give: (address: string, wei: bigint): void => {
      gifts.set(address, (gifts.get(address) ?? 0n) + wei)
    }
  })
}
export type Chain = ReturnType<typeof make>
