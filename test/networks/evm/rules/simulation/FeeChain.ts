// A chain whose blocks are filled by tip, as geth fills them, and the node that answers about its fees. It knows no rule of the service.
import type { FeeHistory } from "../../../../../src/networks/evm/rules/Market.ts"

/** Gas of a block, and of a transfer. */
const capacity = 2_100_000
const transfer = 21_000

const gwei = 1_000_000_000n

/** Numbers from 0 to 1 that a seed determines (mulberry32). */
export const randomOf = (seed: number) => {
  let state = seed
  return (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A transaction of somebody else, or of the account of the service. Tips are wei per gas. */
export interface Sent {
  tip: bigint
  readonly gas: number
  /** The first height at which nobody waits for it any more. */
  readonly until: number
}

interface FeeBlock {
  readonly baseFee: bigint
  readonly included: ReadonlyArray<Sent>
  readonly used: number
  readonly usedByOwn: number
  /** The least tip with which one more transfer would have been part of it, and the same if the service had sent nothing else. */
  readonly least: bigint
  readonly leastAlone: bigint
}

export interface FeeChain {
  readonly blocks: Array<FeeBlock>
  /** Transactions of others that wait, and those of the service, each of another account. */
  others: Array<Sent>
  own: Array<Sent>
  readonly baseFee: bigint
  /** The least tip that the makers of its blocks take. */
  readonly floor: bigint
  /** What the node has suggested last. */
  suggested: bigint
}

/** `floor`: geth's node suggests its own minimum until there are blocks with tips. */
export const newFeeChain = (floor: bigint, baseFee = 10n * gwei): FeeChain => ({
  blocks: [],
  others: [],
  own: [],
  baseFee,
  floor,
  suggested: floor
})

const byTip = (one: Sent, other: Sent): number => (one.tip > other.tip ? -1 : Number(one.tip < other.tip))

/** The least tip of one more transfer beside these. */
const leastIn = (sent: ReadonlyArray<Sent>, floor: bigint): bigint => {
  let left = capacity
  let least: bigint | undefined
  for (const { tip, gas } of sent) {
    if (left >= transfer) least = tip + 1n
    if (gas <= left) left -= gas
  }
  return left >= transfer || least === undefined ? floor : least
}

/** The highest tip comes first. What does not fit any more is left out. Returns what was mined of the service. */
export const mineFees = (chain: FeeChain): ReadonlyArray<Sent> => {
  const { floor } = chain
  const height = chain.blocks.length
  const takes = ({ tip }: Sent) => tip >= floor
  const sent = [...chain.others, ...chain.own].filter(takes).sort(byTip)
  const least = leastIn(sent, floor)
  const leastAlone = leastIn(chain.others.filter(takes).sort(byTip), floor)
  const included: Array<Sent> = []
  let left = capacity
  for (const one of sent) {
    if (one.gas > left) continue
    left -= one.gas
    included.push(one)
  }
  const gone = new Set(included)
  const mined = chain.own.filter((one) => gone.has(one))
  chain.own = chain.own.filter((one) => !gone.has(one))
  chain.others = chain.others.filter((one) => !gone.has(one) && one.until > height)
  const usedByOwn = mined.reduce((sum, { gas }) => sum + gas, 0)
  chain.blocks.push({ baseFee: chain.baseFee, included, used: capacity - left, usedByOwn, least, leastAlone })
  return mined
}

/** geth's `processBlock`: tips in rising order, each as heavy as its gas. */
const rewardsOf = ({ included, used }: FeeBlock, percentiles: ReadonlyArray<number>): ReadonlyArray<bigint> => {
  const rising = [...included].sort(byTip).toReversed()
  return percentiles.map((percentile) => {
    let sum = 0
    for (const { tip, gas } of rising) {
      sum += gas
      if (sum >= (used * percentile) / 100) return tip
    }
    return 0n
  })
}

/** What the node answers to `eth_feeHistory`, and what the service knows of its own transactions: not yet those of the newest block. */
export const feeHistoryOf = ({ blocks, baseFee }: FeeChain, percentiles: ReadonlyArray<number>): FeeHistory => {
  const last = blocks.slice(-10)
  return {
    baseFees: [...last.map((block) => block.baseFee), baseFee],
    rewards: last.map((block) => rewardsOf(block, percentiles)),
    gasUsed: last.map(({ used }) => used / capacity),
    ownGas: last.map(({ usedByOwn }, index) => (index === last.length - 1 ? 0 : usedByOwn / capacity))
  }
}

/** geth's oracle: of the three lowest tips of each of the last 20 blocks, the one at 60 %. A block without any counts as the last answer. */
export const suggestedTipOf = (chain: FeeChain): bigint => {
  const tips = chain.blocks.slice(-20).flatMap(({ included }) => {
    const lowest = included
      .map(({ tip }) => tip)
      .filter((tip) => tip >= 2n)
      .sort((one, other) => Number(one - other))
    return lowest.length === 0 ? [chain.suggested] : lowest.slice(0, 3)
  })
  const rising = tips.sort((one, other) => (one < other ? -1 : Number(one > other)))
  chain.suggested = rising[Math.floor(((rising.length - 1) * 60) / 100)] ?? chain.suggested
  return chain.suggested
}

/**
 * The least tip with which a transfer that is sent after the block at `height` is mined within so many blocks. `isAlone`: if the service
 * had sent nothing else.
 */
export const leastWithin = (
  { blocks, floor }: FeeChain,
  { height, within, isAlone }: { readonly height: number; readonly within: number; readonly isAlone: boolean }
): bigint => {
  const tips = blocks.slice(height + 1, height + 1 + within).map((block) => (isAlone ? block.leastAlone : block.least))
  return tips.length === 0 ? floor : tips.reduce((one, other) => (one < other ? one : other))
}

type Demand = (chain: FeeChain, height: number) => void

/** From `low` to `high`, each order of magnitude as often. */
const between = (random: () => number, low: bigint, high: bigint): bigint =>
  BigInt(Math.round(Number(low) * (Number(high) / Number(low)) ** random()))

const send = (chain: FeeChain, tip: bigint, gas: number, until: number) => void chain.others.push({ tip, gas, until })

/** Half of the transactions are transfers, so that a block with others that wait has no room for one. */
const someGas = (random: () => number): number => transfer + (random() < 0.5 ? 0 : Math.floor(random() * 200_000))

/** Sends `share` of the gas of a block, for about `level` wei per gas, from a third to three times of it. */
const crowd = (random: () => number, chain: FeeChain, height: number, share: number, level: bigint): void => {
  for (let gas = 0; gas < share * capacity;) {
    const one = someGas(random)
    gas += one
    send(chain, between(random, level / 3n, 3n * level), one, height + 5 + Math.floor(random() * 25))
  }
}

/** Some transactions in a block, with any tip. */
const few = (random: () => number, chain: FeeChain, height: number): void => {
  for (let count = Math.floor(random() * 4); count > 0; count--) {
    send(chain, between(random, chain.floor, 200n * gwei), someGas(random), height + 50)
  }
}

/** Histories of each kind. What others send is random, and does not depend on the service. */
export const kinds = {
  idle:
    (random: () => number): Demand =>
    (chain, height) =>
      few(random, chain, height),
  spikes: (random: () => number): Demand => {
    let left = 0
    let level = gwei
    return (chain, height) => {
      if (left === 0 && random() < 0.06) {
        left = 1 + Math.floor(random() * 14)
        level = between(random, gwei / 10n, 200n * gwei)
      }
      few(random, chain, height)
      if (left === 0) return
      left -= 1
      crowd(random, chain, height, 1 + 2 * random(), level)
    }
  },
  "full blocks": (random: () => number): Demand => {
    let level = between(random, gwei / 100n, 100n * gwei)
    return (chain, height) => {
      level = (level * BigInt(Math.round(950 + 100 * random()))) / 1000n
      crowd(random, chain, height, 1.2 + random() / 2, level)
    }
  },
  "one payer": (random: () => number): Demand => {
    const tip = between(random, gwei, 225n * gwei)
    return (chain, height) => {
      if (random() < 0.7) send(chain, tip, someGas(random), height + 50)
    }
  },
  "own transactions alone": (random: () => number): Demand => {
    const tip = between(random, gwei, 225n * gwei)
    return (chain, height) => {
      if (height === 20) send(chain, tip, transfer, height + 50)
    }
  }
} as const
export type Kind = keyof typeof kinds
