// What a poll sees, from the answers of one provider and the opinion of the second. It asks no more than the poll of a lane does: what is not
// asked is unknown.
import { present } from "../../../../../src/networks/core/Presentation.ts"
import { currentAttempts, isFinal, requestOf } from "../../../../../src/networks/core/Transaction.ts"
import type { Attempt, Transaction } from "../../../../../src/networks/core/Transaction.ts"
import {
  isDeep,
  nonceOf,
  questionsOf,
  sightOf,
  withAbsence,
  withSight
} from "../../../../../src/networks/evm/rules/Evm.ts"
import type { FoundCode } from "../../../../../src/networks/evm/rules/Delegates.ts"
import type {
  Evm,
  Question,
  SecondOpinion,
  Seen,
  Sight,
  TakerEvidence
} from "../../../../../src/networks/evm/rules/Evm.ts"
import {
  finalCountOf,
  floorHeight,
  needsFinalCount,
  needsSecondCount
} from "../../../../../src/networks/evm/rules/LaneNonces.ts"
import type { LaneView, PolledNonce } from "../../../../../src/networks/evm/rules/LaneNonces.ts"
import { behind, countOf, headOf, minedIn } from "../../../../../src/testkit/chain/Blocks.ts"
import { delegatedAt, listOf, stateOf } from "./Authorities.ts"
import { codeIn } from "./Blocks.ts"
import { marketIn } from "./Prices.ts"
import { ask } from "./Privacy.ts"
import { address, required } from "./World.ts"
import type { Chain, World } from "./World.ts"

/** How one poll reaches the providers. */
export interface Reading {
  /** Whether the lying provider is asked first, and the honest one for a second opinion. */
  readonly isLiarFirst: boolean
  /** Blocks that the honest provider's back end is behind. */
  readonly lag: number
  /** What the liar adds to its count. */
  readonly countLie: number
  /** Whether the liar has no receipts. */
  readonly hidesReceipts: boolean
  /** Newest blocks whose transactions no index has yet, of the honest provider and of the liar. */
  readonly indexLag: number
  /** Whether the providers show such blocks without their transactions. */
  readonly hidesBlocks: boolean
}

export const fair: Reading = {
  isLiarFirst: false,
  lag: 0,
  countLie: 0,
  hidesReceipts: false,
  indexLag: 0,
  hidesBlocks: false
}

interface Answers {
  readonly chain: Chain
  readonly count: number
  readonly countAtFinal: number
  readonly hidesReceipts: boolean
  /** The blocks whose transactions its index has. */
  readonly indexed: Chain
}

const finalHeight = (world: World, chain: Chain): number => headOf(chain).number - required(world)

const answersOf = (
  world: World,
  { indexLag }: Reading,
  chain: Chain,
  lie: number,
  hidesReceipts: boolean
): Answers => ({
  chain,
  indexed: behind(chain, indexLag),
  count: Math.max(countOf(chain) + lie, 0),
  countAtFinal: Math.max(countOf(chain.slice(0, finalHeight(world, chain) + 1)) + lie, 0),
  hidesReceipts
})

const honest = (world: World, reading: Reading): Answers =>
  answersOf(world, reading, behind(world.chain, reading.lag), 0, false)

const lying = (world: World, reading: Reading): Answers =>
  answersOf(world, reading, world.fork ?? world.chain, reading.countLie, reading.hidesReceipts)

const pairOf = (world: World, reading: Reading): readonly [Answers, Answers] => {
  const pair = [honest(world, reading), lying(world, reading)] as const
  return reading.isLiarFirst && world.hasSecond ? [pair[1], pair[0]] : pair
}

/** `mined`: hash of the attempt whose receipt is asked for. */
const opinion = (world: World, second: Answers, height: number, mined?: string): SecondOpinion | undefined => {
  if (!world.hasSecond) return "not_configured"
  const block = second.chain[height]
  if (block === undefined) return undefined
  const found = second.hidesReceipts ? undefined : minedIn(second.indexed).find(({ bytes }) => bytes.hash === mined)
  const receipt = found === undefined ? null : { blockHash: found.block.hash, isSuccess: found.isSuccess }
  return { hash: block.hash, finalHeight: finalHeight(world, second.chain), receipt }
}

const receiptSight = (world: World, first: Answers, hash: string): Sight | undefined => {
  const mined = minedIn(first.indexed).find(({ bytes }) => bytes.hash === hash)
  if (mined === undefined || first.hidesReceipts) return undefined
  return {
    _tag: "Receipt",
    receipt: {
      height: mined.block.number,
      blockHash: mined.block.hash,
      isSuccess: mined.isSuccess,
      paid: 21_000n * world.baseFee,
      details: { gasUsed: 21_000n, effectiveGasPrice: world.baseFee }
    }
  }
}

const poolSight = (world: World, attempt: Attempt<Evm>): Sight | undefined => {
  const { hash } = attempt
  const isPooled = [...world.pool.values()].some((bytes) => bytes.hash === hash)
  const before = world.memory.absences.get(hash)
  const point = { at: world.now, height: headOf(world.chain).number }
  const after = isPooled ? withSight(before) : withAbsence(before, attempt, point)
  if (after !== undefined) {
    world.memory = { ...world.memory, absences: new Map([...world.memory.absences, [hash, after]]) }
  }
  return sightOf(after, true)
}

const sightsOf = (world: World, first: Answers, transaction: Transaction<Evm>): ReadonlyMap<number, Sight> => {
  const { receipts, pooled, place } = ask(world, transaction, first.count)
  const atPlace = minedIn(first.indexed).find(({ bytes }) => bytes.nonce === place)?.bytes.hash
  const sights = new Map<number, Sight>()
  for (const attempt of transaction.attempts) {
    const { hash, ordinal } = attempt
    const sight =
      receipts.includes(hash) || hash === atPlace
        ? receiptSight(world, first, hash)
        : hash === pooled
          ? poolSight(world, attempt)
          : undefined
    if (sight !== undefined) sights.set(ordinal, sight)
  }
  return sights
}

/** The open nonces of the lane, as one poll sees all of them. */
const polledIn = (world: World, first: Answers): ReadonlyArray<PolledNonce> =>
  world.ledger.transactions.flatMap((transaction) => {
    const nonce = nonceOf(transaction)
    if (nonce === undefined || isFinal(transaction)) return []
    const seen = currentAttempts(transaction).flatMap(({ hash }) => {
      const sight = nonce < first.count ? receiptSight(world, first, hash) : undefined
      return sight?._tag === "Receipt" ? [sight.receipt] : []
    })
    return [{ nonce, ...present("receipt", transaction.mined?.receipt ?? seen[0]) }]
  })

/** The count at the final height, if the poll reads it. */
const countAtFinalIn = (world: World, first: Answers): number | undefined =>
  needsFinalCount(world.ledger.lane, first.count, polledIn(world, first)) ? first.countAtFinal : undefined

export const see = (world: World, reading: Reading, transaction: Transaction<Evm>): Seen => {
  const [first, second] = pairOf(world, reading)
  const { block } = questionsOf(transaction, first.count)
  const head = headOf(first.chain)
  const height = finalHeight(world, first.chain)
  const hash = block === undefined ? undefined : first.chain[block]?.hash
  const mined = transaction.attempts.find(({ ordinal }) => ordinal === transaction.mined?.ordinal)?.hash
  // A second provider is asked only about what the first one calls final.
  const isClaimed =
    block !== undefined && isDeep({ finalHeight: height }, block) && hash === transaction.mined?.receipt.blockHash
  const other = isClaimed ? opinion(world, second, block, mined) : undefined
  return {
    _tag: "Seen",
    head: { number: head.number, hash: head.hash },
    finalHeight: height,
    count: first.count,
    ...present("countAtFinal", countAtFinalIn(world, first)),
    code: codeIn(first.chain),
    market: marketIn(world),
    balance: world.balance,
    sights: sightsOf(world, first, transaction),
    minedAt: { ...(hash === undefined ? {} : { first: hash }), ...(other === undefined ? {} : { second: other }) },
    noopGas: 21_000n,
    chargesForData: false
  }
}

/** What the providers have of the authorities of the newest version. */
export const findAuthorities = (world: World, reading: Reading, transaction: Transaction<Evm>) => {
  const [first, second] = pairOf(world, reading)
  return listOf(transaction)?.map((entry) => stateOf(world, first.chain, second.chain, entry)) ?? []
}

/** Whether a provider has the state at a height. */
const hasState = (world: World, chain: Chain, height: number): boolean =>
  height < chain.length && (!world.isPruned || height >= finalHeight(world, chain))

/** What the first provider has at the block of an attempt. */
export const findDelegations = (
  world: World,
  reading: Reading,
  transaction: Transaction<Evm>,
  { height, ordinal }: Extract<Question, { readonly _tag: "Delegations" }>
): ReadonlyArray<boolean | null> => {
  const [first] = pairOf(world, reading)
  const attempt = transaction.attempts.find((one) => one.ordinal === ordinal)
  const { authorization_list: list = [] } = attempt === undefined ? {} : requestOf(transaction, attempt)
  const isKnown = hasState(world, first.chain, height)
  return list.map((entry) => (isKnown ? delegatedAt(world, first.chain, height, entry) : null))
}

/** The transaction that used a nonce, as the first provider has it. */
export const findTaker = (world: World, reading: Reading, nonce: number): TakerEvidence => {
  const [first, second] = pairOf(world, reading)
  const mined = minedIn(first.chain).find(({ bytes }) => bytes.nonce === nonce)
  if (mined === undefined) return { _tag: "NotFound" }
  if (reading.hidesBlocks && mined.block.number >= first.indexed.length) return { _tag: "Behind" }
  const other = opinion(world, second, mined.block.number)
  if (mined.bytes.authorizes !== undefined) {
    const { number: block, hash: blockHash } = mined.block
    return { _tag: "Authorized", block, blockHash, ...(other === undefined ? {} : { second: other }) }
  }
  const call = mined.bytes.effect ?? { to: address, value: 0n, data: "0x" }
  return {
    _tag: "Fetched",
    hash: mined.bytes.hash,
    sender: address,
    nonce,
    call,
    block: mined.block.number,
    blockHash: mined.block.hash,
    ...(other === undefined ? {} : { second: other })
  }
}

/**
 * The code of the account at a height, as `codeAt` of the lane asks for it: that the effect is there is believed of any provider, that it is not
 * only if both say so.
 */
export const codeAt = (
  world: World,
  reading: Reading,
  { count, expected, receipt: { height } }: Extract<Question, { readonly _tag: "CodeAt" }>
): FoundCode => {
  const [first, second] = pairOf(world, reading).map(({ chain }) => {
    if (hasState(world, chain, height)) return codeIn(chain.slice(0, height + 1))
    return height < chain.length && countOf(chain) <= count ? codeIn(chain) : undefined
  })
  const answers = (world.hasSecond ? [first, second] : [first]).filter((code) => code !== undefined)
  const [code, other] = answers
  if (code === undefined) return {}
  if (answers.includes(expected)) return { code: expected }
  if (!world.hasSecond || code === other) return { code }
  return { doubt: other === undefined ? "second_provider_missing" : "providers_disagree" }
}

/** Whether the honest provider has no receipt of an attempt: all are asked. */
export const hasNoReceipt = (world: World, { attempts }: Transaction<Evm>): boolean =>
  !minedIn(world.chain).some(({ bytes }) => attempts.some(({ hash }) => hash === bytes.hash))

export const seeLane = (world: World, reading: Reading): LaneView & { readonly finalCount: number } => {
  const [first, second] = pairOf(world, reading)
  const { lane } = world.ledger
  const { number, hash: headHash } = headOf(first.chain)
  const floor = floorHeight(lane, first.count, { number })
  const hash = floor === undefined ? undefined : first.chain[floor]?.hash
  const asksSecond = world.hasSecond && needsSecondCount(lane, first.count)
  const finalCount = finalCountOf(
    polledIn(world, first),
    finalHeight(world, first.chain),
    (height) => first.chain[height]?.hash,
    countAtFinalIn(world, first)
  )
  return {
    head: { number, hash: headHash },
    count: first.count,
    finalCount,
    ...(hash === undefined ? {} : { hashAtChainBlock: hash }),
    ...(asksSecond ? { secondCount: second.count } : {})
  }
}
