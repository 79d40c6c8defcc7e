// A chain in memory with its providers, and everything that can go wrong with both on any network. It knows no clock: `TestChain.ts` makes its
// blocks. What a network type has of its own, such as pools and fees, are its laws.
import { behind, grow, headOf, reorg, upTo } from "./Blocks.ts"
import type { Block, BlockBytes, Blocks, Mined } from "./Blocks.ts"

/** Height of the first head: a reorganisation has something to replace. */
export const firstHeight = 5

/** One RPC URL, and how it misbehaves. */
export interface Provider<B extends BlockBytes = BlockBytes> {
  readonly url: string
  /** It answers nothing. */
  isAway: boolean
  /** It takes bytes, and its answers to broadcasts do not arrive. */
  losesAnswers: boolean
  /** It answers broadcasts as if it took the bytes, and keeps nothing. */
  swallows: boolean
  /** The text with which it refuses all bytes. Undefined: it follows the laws of the chain. */
  refusal: string | undefined
  /** Blocks that it is behind. */
  lag: number
  /** The chain that it shows instead of the one that lasts. */
  fork: Blocks<B> | undefined
}

/** What identifies a payment on the chain. */
export interface Payment {
  readonly to: string
  /** In the smallest unit of the chain. */
  readonly value: bigint
}

/** What a provider says to bytes. `undefined`: the answer does not arrive. */
export type Answer = { readonly refusal?: string } | undefined

/** What a network type has of its own. */
interface Laws<B extends BlockBytes> {
  /** Takes bytes into the pools, or says why not. */
  offer(bytes: B): Answer
  /** What the next block takes from the pools. */
  taken(): ReadonlyArray<B>
  executed(bytes: B): Mined<B>
  isPayment(bytes: B, payment: Payment): boolean
  /** The chain has a new block. */
  made(block: Block<B>): void
  /** The pools drop what the chain has used up. */
  settle(): void
  /** The pools forget everything. */
  forget(): void
  /** What was in blocks that were replaced. */
  dropped(bytes: ReadonlyArray<B>): void
}

interface Options<B extends BlockBytes> {
  readonly providers: number
  /** Price of the next block, in the unit of the network type. */
  readonly price: bigint
  readonly laws: Laws<B>
}

/** The block that contains bytes, and how they were executed. */
export interface Found<B extends BlockBytes> extends Mined<B> {
  readonly block: Block<B>
}

/** Reads blocks. Polls ask about the same ones again and again, so those that are not empty are remembered. */
export const makeReader = <B extends BlockBytes>() => {
  const known = new WeakMap<Blocks<B>, Blocks<B>>()

  const occupiedIn = (blocks: Blocks<B>): Blocks<B> => {
    const found = known.get(blocks) ?? blocks.filter(({ transactions }) => transactions.length > 0)
    known.set(blocks, found)
    return found
  }

  const findIn = (blocks: Blocks<B>, wanted: (bytes: B) => boolean): Found<B> | undefined => {
    for (const block of occupiedIn(blocks)) {
      for (const mined of block.transactions) if (wanted(mined.bytes)) return { ...mined, block }
    }
    return undefined
  }

  return { occupiedIn, findIn }
}

export const make = <B extends BlockBytes>({ providers, price, laws }: Options<B>) => {
  let blocks = upTo<B>(firstHeight)
  const { findIn, occupiedIn } = makeReader<B>()
  /** What tests gave to accounts, or took. */
  const gifts = new Map<string, bigint>()
  const all: ReadonlyArray<Provider<B>> = Array.from({ length: providers }, (_, index) => ({
    url: `https://provider-${index + 1}.testkit.example/`,
    isAway: false,
    losesAnswers: false,
    swallows: false,
    refusal: undefined,
    lag: 0,
    fork: undefined
  }))
  /** Bytes on their way to the pools, and the height at which they arrive. */
  let underWay: ReadonlyArray<{ readonly bytes: B; readonly height: number }> = []

  const state = {
    /** Of the next block. */
    price,
    /** Makers of blocks take no transactions. */
    isHeldBack: false,
    /** Blocks after which bytes arrive in the pools. 0: at once. */
    delay: 0,
    /** Bytes that arrive together arrive in the reverse order. */
    isReordered: false,
    /** Receivers at which calls revert in their block. Estimates do not show it. */
    reverting: new Set<string>(),
    /** Receivers at which estimates say that calls revert. */
    refusing: new Set<string>(),
    /** What any provider was ever sent, by hash. */
    left: new Map<string, B>()
  }

  const arrive = (): void => {
    const height = headOf(blocks).number
    const arriving = underWay.filter((one) => one.height <= height)
    underWay = underWay.filter((one) => one.height > height)
    for (const { bytes } of state.isReordered ? arriving.toReversed() : arriving) laws.offer(bytes)
  }

  /** What this provider answers to a broadcast. Bytes that it was sent have left, whatever it answers. */
  const broadcast = (provider: Provider<B>, bytes: B): Answer => {
    if (provider.isAway) return undefined
    state.left.set(bytes.hash, bytes)
    if (provider.refusal !== undefined) return { refusal: provider.refusal }
    if (provider.swallows) return {}
    if (state.delay > 0) {
      underWay = [...underWay, { bytes, height: headOf(blocks).number + state.delay }]
      return provider.losesAnswers ? undefined : {}
    }
    const answer = laws.offer(bytes)
    return provider.losesAnswers ? undefined : answer
  }

  const grown = (on: Blocks<B>, transactions: ReadonlyArray<Mined<B>> = []): Blocks<B> => {
    const after = grow(on, transactions)
    laws.made(headOf(after))
    return after
  }

  /** A block with these transactions, whatever the pools have. */
  const include = (transactions: ReadonlyArray<B>): void => {
    blocks = grown(
      blocks,
      transactions.map((bytes) => laws.executed(bytes))
    )
    laws.settle()
    for (const provider of all) if (provider.fork !== undefined) provider.fork = grown(provider.fork)
    arrive()
  }

  /** The next block. */
  const tick = (): void => include(state.isHeldBack ? [] : laws.taken())

  const forget = (): void => {
    laws.forget()
    underWay = []
  }

  /** The newest blocks are gone, and one more empty ones are there instead. */
  const replace = (depth: number): void => {
    const gone = blocks.slice(blocks.length - depth).flatMap(({ transactions }) => transactions)
    blocks = reorg(blocks, depth)
    for (const block of blocks.slice(-depth - 1)) laws.made(block)
    laws.dropped(gone.map(({ bytes }) => bytes))
  }

  /** What a provider shows. */
  const shownBy = ({ fork, lag }: Provider<B>): Blocks<B> =>
    lag === 0 ? (fork ?? blocks) : behind(fork ?? blocks, lag)

  const sent = (payment: Payment): ReadonlyArray<B> =>
    [...state.left.values()].filter((bytes) => laws.isPayment(bytes, payment))

  /** From now on the provider has a block in which the newest bytes of a payment are executed, which the chain that lasts does not have. */
  const lieAbout = ({ url }: Pick<Provider, "url">, payment: Payment): void => {
    const bytes = sent(payment).at(-1)
    const fork = grown(blocks, bytes === undefined ? [] : [{ bytes, isSuccess: true }])
    for (const provider of all) if (provider.url === url) provider.fork = fork
  }

  return Object.assign(state, {
    providers: all,
    broadcast,
    include,
    tick,
    forget,
    replace,
    shownBy,
    lieAbout,
    sent,
    /** Whether bytes of it have left. */
    isSent: (payment: Payment): boolean => sent(payment).length > 0,
    blocks: (): Blocks<B> => blocks,
    head: (): Block<B> => headOf(blocks),
    /** How often blocks that last have executed it. */
    payments: (payment: Payment): number =>
      occupiedIn(blocks)
        .flatMap(({ transactions }) => transactions)
        .filter(({ bytes, isSuccess }) => isSuccess && laws.isPayment(bytes, payment)).length,
    /** The block of the payment. Undefined: no block has it. */
    minedAt: (payment: Payment): number | undefined =>
      findIn(blocks, (bytes) => laws.isPayment(bytes, payment))?.block.number,
    /** What tests gave to the account. */
    giftsTo: (address: string): bigint => gifts.get(address) ?? 0n,
    give: (address: string, amount: bigint): void => {
      gifts.set(address, (gifts.get(address) ?? 0n) + amount)
    }
  })
}
export type Chain<B extends BlockBytes> = ReturnType<typeof make<B>>

/** What the kit does with the chain of any network type. */
export interface FailingChain extends Pick<
  Chain<BlockBytes>,
  | "price"
  | "isHeldBack"
  | "delay"
  | "isReordered"
  | "reverting"
  | "refusing"
  | "tick"
  | "forget"
  | "replace"
  | "head"
  | "payments"
  | "minedAt"
  | "isSent"
  | "give"
  | "lieAbout"
> {
  readonly providers: ReadonlyArray<Omit<Provider, "fork"> & { fork: object | undefined }>
  /** The canonical form of an address. */
  canonical(address: string): string
  balanceOf(address: string): bigint
  /** A block takes bytes of the payment that were sent. False: there are none that it can take. */
  includeSent(payment: Payment): boolean
  /** Somebody else uses the next sequence of the account of the key. */
  takeSequence(secret: Uint8Array): void
}
