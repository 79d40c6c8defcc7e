// What a poll sees of the chain in memory: the answers of the first provider that is not away, and the opinion of the other one.
import type { Unreachable } from "../../networks/core/Rules.ts"
import type { Attempt, Transaction } from "../../networks/core/Transaction.ts"
import type { Moment } from "../../networks/core/TransactionValues.ts"
import { questionsOf, sightOf, withAbsence, withSight } from "../../networks/evm/rules/Evm.ts"
import type {
  Absence,
  Estimate,
  Evm,
  EvmReceipt,
  Nonces,
  SecondOpinion,
  Seen,
  Sight,
  TakerEvidence
} from "../../networks/evm/rules/Evm.ts"
import { newestRequest } from "../../networks/core/Transaction.ts"
import type { LaneView } from "../../networks/evm/rules/LaneNonces.ts"
import { marketOf, percentiles } from "../../networks/evm/rules/Market.ts"
import { headOf } from "../chain/Blocks.ts"
import type { Blocks } from "../chain/Blocks.ts"
import { countOf, findIn, usualTip } from "./Chain.ts"
import type { Call, Chain, Found, Provider } from "./Chain.ts"
import type { Bytes } from "./Wire.ts"

/** One account on the chain, as polls ask about it. */
export interface Account {
  readonly chain: Chain
  readonly address: string
  /** Blocks on top of a block that make it final. */
  readonly finality: number
  readonly minimumTip: bigint
}

interface Answers {
  readonly provider: Provider
  readonly blocks: Blocks<Bytes>
  readonly count: number
  readonly finalHeight: number
  readonly countAtFinal: number
}

const answersOf = ({ chain, address, finality }: Account, provider: Provider): Answers => {
  const blocks = chain.shownBy(provider)
  const finalHeight = headOf(blocks).number - finality
  return {
    provider,
    blocks,
    finalHeight,
    count: countOf(blocks, address),
    countAtFinal: countOf(blocks, address, finalHeight)
  }
}

/** Undefined: all providers are away. `second` is undefined if the other one is away. */
const pairOf = (account: Account) => {
  const { providers } = account.chain
  const [first, second] = providers.filter(({ isAway }) => !isAway)
  if (first === undefined) return undefined
  return {
    first: answersOf(account, first),
    second:
      providers.length === 1
        ? ("not_configured" as const)
        : second === undefined
          ? undefined
          : answersOf(account, second)
  }
}
type Pair = NonNullable<ReturnType<typeof pairOf>>

/** `mined`: hash of the attempt whose receipt is asked for. */
const opinion = ({ second }: Pair, height: number, mined?: string): SecondOpinion | undefined => {
  if (second === undefined || second === "not_configured") return second
  const block = second.blocks[height]
  if (block === undefined) return undefined
  const found = findIn(second.blocks, ({ hash }) => hash === mined)
  const receipt = found === undefined ? null : { blockHash: found.block.hash, isSuccess: found.isSuccess }
  return { hash: block.hash, finalHeight: second.finalHeight, receipt }
}

const receiptIn = ({ chain }: Account, found: Found): EvmReceipt => {
  const price = chain.pricePaid(found.bytes, found.block)
  const gas = chain.gasUsed(found)
  return {
    height: found.block.number,
    blockHash: found.block.hash,
    isSuccess: found.isSuccess,
    paid: gas * price,
    details: { gasUsed: gas, effectiveGasPrice: price }
  }
}

/** Polls in which providers did not have bytes, by hash. A process loses them when it dies. */
export type Absences = Map<string, Absence>

const poolSight = (account: Account, { blocks }: Answers, attempt: Attempt<Evm>, absences: Absences, now: Moment) => {
  const isPooled = [...account.chain.poolOf(account.address).values()].some(({ hash }) => hash === attempt.hash)
  const before = absences.get(attempt.hash)
  const after = isPooled ? withSight(before) : withAbsence(before, attempt, { at: now, height: headOf(blocks).number })
  if (after !== undefined) absences.set(attempt.hash, after)
  return sightOf(after, true)
}

const sightsOf = (
  account: Account,
  { first }: Pair,
  transaction: Transaction<Evm>,
  absences: Absences,
  now: Moment
): ReadonlyMap<number, Sight> => {
  const { receipts, pooled } = questionsOf(transaction, first.count)
  const sights = new Map<number, Sight>()
  for (const attempt of transaction.attempts) {
    const { hash, ordinal } = attempt
    const found = receipts.includes(hash) ? findIn(first.blocks, (bytes) => bytes.hash === hash) : undefined
    if (found !== undefined) sights.set(ordinal, { _tag: "Receipt", receipt: receiptIn(account, found) })
    const sight = hash === pooled ? poolSight(account, first, attempt, absences, now) : undefined
    if (sight !== undefined) sights.set(ordinal, sight)
  }
  return sights
}

/** The prices of the chain as they are now: the kit has no market of its own. */
export const marketIn = ({ chain, minimumTip }: Account) =>
  marketOf({ baseFees: [chain.price], rewards: [percentiles.map(() => usualTip)] }, { minimumTip })

const estimateOf = ({ chain }: Account, call: Call): Estimate =>
  call.to !== undefined && chain.refusing.has(call.to.toLowerCase())
    ? { _tag: "Reverts", second: chain.providers.length === 1 ? "not_configured" : "agrees" }
    : { _tag: "Gas", gas: chain.gasOf(call) }

/** `retryAt`: when the lane is polled again. */
export const see = (
  account: Account,
  transaction: Transaction<Evm>,
  absences: Absences,
  { now, retryAt }: { readonly now: Moment; readonly retryAt: Moment }
): Seen | Unreachable => {
  const pair = pairOf(account)
  if (pair === undefined) return { _tag: "Unreachable", code: "providers_unavailable", retryAt }
  const { first } = pair
  const { block: known } = questionsOf(transaction, first.count)
  const sights = sightsOf(account, pair, transaction, absences, now)
  const receipt = [...sights.values()].flatMap((sight) => (sight._tag === "Receipt" ? sight.receipt : []))[0]
  const block = known ?? receipt?.height
  const hash = block === undefined ? undefined : first.blocks[block]?.hash
  const mined = transaction.attempts.find(({ ordinal }) => ordinal === transaction.mined?.ordinal)?.hash
  const other = block === undefined ? undefined : opinion(pair, block, mined)
  const { number, hash: headHash } = headOf(first.blocks)
  return {
    _tag: "Seen",
    head: { number, hash: headHash },
    finalHeight: first.finalHeight,
    count: first.count,
    countAtFinal: first.countAtFinal,
    market: marketIn(account),
    balance: account.chain.balanceOf(account.address),
    sights,
    minedAt: { ...(hash === undefined ? {} : { first: hash }), ...(other === undefined ? {} : { second: other }) },
    estimate: estimateOf(account, newestRequest(transaction)),
    noopGas: account.chain.gasOf({ value: 0n }),
    chargesForData: false,
    isInquired: true
  }
}

/** The transaction that used a nonce. */
export const takerOf = (account: Account, nonce: number): TakerEvidence => {
  const pair = pairOf(account)
  const found = pair && findIn(pair.first.blocks, (bytes) => bytes.from === account.address && bytes.nonce === nonce)
  if (pair === undefined || found === undefined) return { _tag: "NotFound" }
  const { hash, to, value, data } = found.bytes
  const other = opinion(pair, found.block.number)
  return {
    _tag: "Fetched",
    hash,
    sender: account.address,
    nonce,
    call: { ...(to === undefined ? {} : { to }), value, data },
    block: found.block.number,
    blockHash: found.block.hash,
    ...(other === undefined ? {} : { second: other })
  }
}

/** Whether no provider has a receipt of an attempt. */
export const hasNoReceipt = ({ chain }: Account, { attempts }: Transaction<Evm>): boolean =>
  chain.providers.every(
    (provider) =>
      provider.isAway ||
      findIn(chain.shownBy(provider), (bytes) => attempts.some(({ hash }) => hash === bytes.hash)) === undefined
  )

/** Undefined: all providers are away. */
export const seeLane = (
  account: Account,
  { chainBlock }: Nonces
): (LaneView & { readonly countAtFinal: number }) | undefined => {
  const pair = pairOf(account)
  if (pair === undefined) return undefined
  const { first, second } = pair
  const hash = chainBlock === undefined ? undefined : first.blocks[chainBlock.number]?.hash
  const { number, hash: headHash } = headOf(first.blocks)
  return {
    head: { number, hash: headHash },
    count: first.count,
    countAtFinal: first.countAtFinal,
    ...(hash === undefined ? {} : { hashAtChainBlock: hash }),
    ...(second === undefined || second === "not_configured" ? {} : { secondCount: second.count })
  }
}
