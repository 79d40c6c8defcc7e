// What a poll of the chain asks providers. All questions go to one provider, in as few batches as possible; a second one is asked
// only about what would end a transaction or move a nonce.
import { Effect } from "effect"
import { chargedByRollup } from "../../../domain/transaction/evm/Funds.ts"
import { nonceOf } from "../../../domain/transaction/evm/Evm.ts"
import type { Evm, Nonces } from "../../../domain/transaction/evm/Evm.ts"
import { pollInterval } from "../../../domain/transaction/evm/NetworkNumbers.ts"
import type { NetworkNumbers } from "../../../domain/transaction/evm/NetworkNumbers.ts"
import { accountCodeKept, estimateMargin, transactionGas } from "../../../domain/transaction/evm/EvmNumbers.ts"
import { scaleUp } from "../../../domain/transaction/evm/Fees.ts"
import { questionsOf, sightOf, withAbsence, withSight } from "../../../domain/transaction/evm/View.ts"
import type { Absence, Sight } from "../../../domain/transaction/evm/View.ts"
import * as Calls from "../../chains/evm/EvmCalls.ts"
import { currentAttempts } from "../../../domain/transaction/Transaction.ts"
import type { Receipt, Transaction } from "../../../domain/transaction/Transaction.ts"
import type { Moment } from "../../../domain/transaction/TransactionValues.ts"
import type { RpcNode } from "../../chains/RpcNode.ts"
import { dataFee } from "../../chains/evm/EvmDataFees.ts"
import type { EvmNodes, EvmProviders } from "../../chains/evm/EvmNodes.ts"
import { opinionsOf } from "../../chains/evm/EvmOpinion.ts"
import type { Claim } from "../../chains/evm/EvmOpinion.ts"
import type { RpcConfig } from "../../../domain/chain/Rpc.ts"
import type { Beliefs, EvmMemory } from "./EvmMemory.ts"

export interface EvmPollOptions {
  readonly providers: EvmProviders
  readonly nodes: Pick<EvmNodes["Service"], "heads" | "markets">
  readonly numbers: NetworkNumbers
  readonly lane: Nonces
  /** Those with a nonce. */
  readonly transactions: ReadonlyArray<Transaction<Evm>>
  readonly memory: EvmMemory
  /** What earlier polls saw of these providers. */
  readonly beliefs: Beliefs
  /** Those with a weight above 0. */
  readonly urls: ReadonlyArray<RpcConfig>
  readonly now: Moment
  /** When the previous poll asked for its head. 0: there was no poll. */
  readonly headAfter: Moment
  /** Wei. Present if no decision needs a newer reading. */
  readonly balance: bigint | undefined
}

const all = { concurrency: "unbounded" } as const

const readBalance = Effect.fnUntraced(function* (node: RpcNode, { balance, lane, memory, now }: EvmPollOptions) {
  if (balance !== undefined) return balance
  const wei = yield* node.call(Calls.balanceOf(lane.address))
  memory.balance = { wei, readAt: now, inFlight: 0n }
  return wei
})

/** Wei per gas and all that is the same for the whole account. */
export const account = Effect.fnUntraced(function* (node: RpcNode, asked: EvmPollOptions) {
  const { lane, nodes, numbers, headAfter } = asked
  return yield* Effect.all(
    {
      at: nodes.heads.at(node, numbers, headAfter),
      count: node.call(Calls.countAt(lane.address, "latest")),
      balance: readBalance(node, asked)
    },
    all
  )
})
export type Account = Effect.Success<ReturnType<typeof account>>

/** The poll does not ask for bytes that were sent within this poll interval: the next poll is soon enough. */
const isJustSent = ({ numbers, now }: EvmPollOptions, transaction: Transaction<Evm>): boolean => {
  const newest = currentAttempts(transaction).at(-1)
  return newest?.outcome === "accepted" && now - (newest.lastSentAt ?? 0) < pollInterval(numbers)
}

const readReceipt = (node: RpcNode, hash: string) => Effect.map(node.call(Calls.receiptOf(hash)), Calls.receiptIn)

const readReceipts = Effect.fnUntraced(function* (
  node: RpcNode,
  hashes: ReadonlyArray<string>,
  { memory, nodes, numbers }: EvmPollOptions
) {
  const receipts = yield* Effect.forEach(hashes, (hash) => readReceipt(node, hash), all)
  const charged = receipts.flatMap((receipt) => (receipt && chargedByRollup(receipt.details)) ?? [])
  memory.lastRollupFee = charged.at(-1) ?? memory.lastRollupFee
  const found = hashes.flatMap((hash, index) => {
    const receipt = receipts[index]
    return receipt === undefined ? [] : [[hash, receipt] as const]
  })
  const own = found.map(([hash, { height, details }]) => ({ hash, height, gasUsed: details.gasUsed }))
  if (own.length > 0) nodes.markets.noteOwn(numbers.chainId, own)
  return new Map<string, Receipt<Evm>>(found)
})

/** The newest bytes of each transaction whose count has not passed its nonce. */
const readPool = Effect.fnUntraced(function* (node: RpcNode, asked: EvmPollOptions, { at, count }: Account) {
  const { memory, now, transactions } = asked
  const newest = transactions.flatMap((transaction) => {
    const { pooled } = questionsOf(transaction, count)
    const attempt = currentAttempts(transaction).at(-1)
    return pooled === undefined || attempt === undefined ? [] : [{ attempt, isAsked: !isJustSent(asked, transaction) }]
  })
  const found = yield* Effect.forEach(
    newest,
    ({ attempt, isAsked }) => (isAsked ? node.call(Calls.transactionOf(attempt.hash)) : Effect.undefined),
    all
  )
  const sights = new Map<string, Sight>()
  for (const [index, { attempt, isAsked }] of newest.entries()) {
    const { hash } = attempt
    const missed = memory.absences.get(hash) ?? new Map<string, Absence>()
    const before = missed.get(node.url)
    if (isAsked && found[index] !== null) memory.hidesPool.delete(node.url)
    const isThere = found[index] !== null || memory.hidesPool.has(node.url)
    const after = isThere ? withSight(before) : withAbsence(before, attempt, { at: now, height: at.head.number })
    if (isAsked && after !== undefined) memory.absences.set(hash, missed.set(node.url, after))
    const sight = sightOf(isAsked ? after : before, isAsked)
    if (sight !== undefined) sights.set(hash, sight)
  }
  return sights
})

/** The code of the account. It is read again after a while, and when bytes that a node accepted are missing: it takes fewer of them. */
const readCode = Effect.fnUntraced(function* (node: RpcNode, { lane, memory, now }: EvmPollOptions) {
  const { accountCode } = memory
  if (accountCode !== undefined && now < accountCode.readAt + accountCodeKept) return accountCode.code
  const code = (yield* node.call(Calls.codeOf(lane.address))).toLowerCase()
  memory.accountCode = { code, readAt: now }
  return code
})

/** Where gas includes what a rollup pays for data, and where the account has code of its own, 21,000 is not enough. */
const noopGas = Effect.fnUntraced(function* (node: RpcNode, { lane, numbers }: EvmPollOptions, code: string) {
  if (numbers.hasMempool && code === "0x") return transactionGas
  const call = { from: lane.address, to: lane.address, value: 0n }
  const gas = yield* Effect.orElseSucceed(node.call(Calls.estimateGas(call)), () => transactionGas)
  return gas === transactionGas ? gas : scaleUp(gas, estimateMargin)
})

const noopDataFee = (node: RpcNode, { lane, numbers, memory }: EvmPollOptions) =>
  dataFee(node, numbers, { to: lane.address, value: 0n }, memory.lastRollupFee)

const needsSecondCount = ({ lane }: EvmPollOptions, { count }: Account): boolean =>
  lane.chainBlock !== undefined && (count > lane.nextNonce || count < lane.chainNonce)

/** The hash at the block of the last believed count is needed if the count fell. */
const floorBlock = ({ lane }: EvmPollOptions, { at, count }: Account): ReadonlyArray<number> => {
  const { chainBlock, chainNonce } = lane
  return chainBlock !== undefined && count < chainNonce && chainBlock.number <= at.head.number
    ? [chainBlock.number]
    : []
}

export const details = Effect.fnUntraced(function* (node: RpcNode, asked: EvmPollOptions, seen: Account) {
  const { memory, nodes, now, numbers, transactions } = asked
  const { head, hashesAt } = seen.at
  const questions = transactions.map((transaction) => questionsOf(transaction, seen.count))
  const heights = new Set([...questions.flatMap(({ block }) => block ?? []), ...floorBlock(asked, seen)])
  const code = yield* readCode(node, asked)
  const found = yield* Effect.all(
    {
      receipts: readReceipts(
        node,
        questions.flatMap(({ receipts }) => receipts),
        asked
      ),
      pool: readPool(node, asked, seen),
      hashes: hashesAt(heights),
      market: nodes.markets.at({ node, providers: asked.providers, head }, numbers),
      noopGas: noopGas(node, asked, code),
      noopDataFee: noopDataFee(node, asked)
    },
    all
  )
  const isMissing = [...found.pool.values()].some((sight) => sight._tag === "Absent" && sight.polls > 0)
  if (isMissing && memory.accountCode !== undefined && memory.accountCode.readAt < now) {
    memory.accountCode = undefined
    yield* readCode(node, asked)
  }
  return found
})
export type Details = Effect.Success<ReturnType<typeof details>>

/** The recorded receipt of a transaction, else one that was just seen. */
export const receiptOf = (
  transaction: Transaction<Evm>,
  { receipts }: Pick<Details, "receipts">
): Receipt<Evm> | undefined =>
  transaction.mined?.receipt ?? currentAttempts(transaction).flatMap(({ hash }) => receipts.get(hash) ?? [])[0]

/** Height of the block of a transaction. */
export const heightOf = (transaction: Transaction<Evm>, found: Pick<Details, "receipts">): number | undefined =>
  receiptOf(transaction, found)?.height

/** A receipt that is final when it is first seen needs no further poll. */
export const withNewHeights = Effect.fnUntraced(function* (asked: EvmPollOptions, { at }: Account, found: Details) {
  const heights = asked.transactions.flatMap((transaction) => heightOf(transaction, found) ?? [])
  const deep = heights.filter((height) => height <= at.finalHeight && !found.hashes.has(height))
  if (deep.length === 0) return found
  return { ...found, hashes: new Map([...found.hashes, ...(yield* at.hashesAt(deep))]) }
})

/** Whether the provider has other blocks than those that are known: a reorganisation, or another chain. */
export const hasOtherBlocks = (
  { lane: { chainBlock }, transactions }: EvmPollOptions,
  { hashes }: Details
): boolean => {
  const known = transactions.flatMap(({ mined }) => mined?.receipt ?? [])
  const isOther = (height: number, hash: string | undefined) => hashes.has(height) && hashes.get(height) !== hash
  return (
    known.some(({ height, blockHash }) => isOther(height, blockHash)) ||
    (chainBlock !== undefined && isOther(chainBlock.number, chainBlock.hash))
  )
}

/** A nonce that the count has passed without a receipt: the decision needs the count at the final height. */
const isPassed = ({ transactions }: EvmPollOptions, { count }: Account, found: Details): boolean =>
  transactions.some(
    (transaction) => (nonceOf(transaction) ?? count) < count && receiptOf(transaction, found) === undefined
  )

export const readFinalCount = (node: RpcNode, asked: EvmPollOptions, seen: Account, found: Details) => {
  const { lane } = asked
  const { finalHeight } = seen.at
  if (lane.chainBlock !== undefined && !isPassed(asked, seen, found)) return Effect.undefined
  return finalHeight < 0 ? Effect.succeed(0) : node.call(Calls.countAt(lane.address, finalHeight))
}

/** The attempt that was mined: what the recorded receipt names, else one whose receipt was just seen. */
const minedHashOf = (transaction: Transaction<Evm>, { receipts }: Details): string | undefined =>
  transaction.mined === undefined
    ? currentAttempts(transaction).find(({ hash }) => receipts.has(hash))?.hash
    : transaction.attempts.find(({ ordinal }) => ordinal === transaction.mined?.ordinal)?.hash

/** What the first provider says of a transaction in a block that it calls final. */
const claimOf = (transaction: Transaction<Evm>, { at }: Account, found: Details): Claim | undefined => {
  const receipt = receiptOf(transaction, found)
  const hash = minedHashOf(transaction, found)
  if (receipt === undefined || hash === undefined || receipt.height > at.finalHeight) return undefined
  const { height, blockHash } = receipt
  return blockHash !== undefined && found.hashes.get(height) === blockHash
    ? { height, blockHash, mined: { hash, receipt } }
    : undefined
}

/** Second opinions, by number of the transaction. They are asked only about blocks that the first provider calls final. */
export const seconds = Effect.fnUntraced(function* (
  node: RpcNode,
  asked: EvmPollOptions,
  seen: Account,
  found: Details
) {
  const { providers, numbers, lane, nodes, headAfter } = asked
  const headOf = (other: RpcNode) => nodes.heads.at(other, numbers, headAfter)
  const silences = { at: seen.at, stalled: nodes.heads.stalled, since: asked.beliefs.silences }
  const claims = new Map(
    asked.transactions.flatMap((transaction) => {
      const claim = claimOf(transaction, seen, found)
      return claim === undefined ? [] : [[transaction.number, claim] as const]
    })
  )
  const count = needsSecondCount(asked, seen)
    ? yield* providers.second(node, (other) => other.call(Calls.countAt(lane.address, "latest")))
    : undefined
  const opinions = yield* opinionsOf(providers, node, headOf, [...claims.values()], silences)
  const byNumber = new Map(
    [...claims].flatMap(([number, claim]) => {
      const opinion = opinions.get(claim)
      return opinion === undefined ? [] : [[number, opinion] as const]
    })
  )
  return { opinions: byNumber, count }
})
