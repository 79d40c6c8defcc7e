// One poll of the chain for the transactions of a lane that share providers: what it asks, and what the answers mean for each.
import { Effect, Metric } from "effect"
import { isFarBehind, mayBeBehind } from "../../../domain/chain/Rpc.ts"
import type { RpcConfig } from "../../../domain/chain/Rpc.ts"
import { rpcFailure } from "../../../server/chains/RpcFailure.ts"
import type { RpcNode } from "../../../server/chains/RpcNode.ts"
import { pollBudget } from "../../../server/lanes/LaneNetwork.ts"
import { present } from "../../core/Presentation.ts"
import { currentAttempts, requestOf } from "../../core/Transaction.ts"
import type { Receipt, Transaction } from "../../core/Transaction.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import * as Calls from "../chain/EvmCalls.ts"
import type { Block } from "../chain/EvmCalls.ts"
import { hashAt, opinionsOf } from "../chain/EvmEvidence.ts"
import type { BlockClaim, ClaimOpinions } from "../chain/EvmEvidence.ts"
import { readDataFee } from "../chain/EvmMarkets.ts"
import type { EvmNodes, EvmProviders } from "../chain/EvmNodes.ts"
import { chargedByRollup, speedOf } from "../rules/Costs.ts"
import { isPrivate, nonceOf, questionsOf, sightOf, withAbsence, withSight } from "../rules/Evm.ts"
import type { Absence, BlockHashes, Evm, Nonces, Seen, Sight } from "../rules/Evm.ts"
import { estimateMargin, passedOverFor, pollInterval, transactionGas } from "../rules/EvmNumbers.ts"
import type { NetworkNumbers } from "../rules/EvmNumbers.ts"
import { isPatienceOver, passedOverTip } from "../rules/InFlight.ts"
import { finalCountOf, floorHeight, needsFinalCount, needsSecondCount } from "../rules/LaneNonces.ts"
import type { PolledNonce } from "../rules/LaneNonces.ts"
import { abovePassedOver, scaleUp } from "../rules/Market.ts"
import type { Beliefs, EvmMemory, PollResult } from "./EvmContext.ts"

// What a poll of the chain asks providers. All questions go to one provider, in as few batches as possible; a second one is asked
// only about what would end a transaction or move a nonce.

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
  /** Hosts of private URLs: some show private transactions in their pool. */
  readonly privateHosts: ReadonlySet<string>
  /** Wei. Present if no decision needs a newer reading. */
  readonly balance: bigint | undefined
}

export const seenPublicly = Metric.counter("private_transactions_seen_publicly_total", {
  description: "Private transactions that a normal RPC provider has shown before a block did.",
  incremental: true
})

/** Empty: it is no URL. */
export const hostOf = (url: string): string => URL.parse(url)?.host ?? ""

const atOnce = { concurrency: "unbounded" } as const

const readBalance = Effect.fnUntraced(function* (node: RpcNode, { balance, lane, memory, now }: EvmPollOptions) {
  if (balance !== undefined) return balance
  const wei = yield* node.call(Calls.balanceOf(lane.address))
  memory.balance = { wei, readAt: now, inFlight: 0n }
  return wei
})

/** Wei per gas and all that is the same for the whole account. */
const readAccount = Effect.fnUntraced(function* (node: RpcNode, asked: EvmPollOptions) {
  const { lane, nodes, numbers, headAfter } = asked
  return yield* Effect.all(
    {
      at: nodes.heads.at(node, numbers, headAfter),
      count: node.call(Calls.countAt(lane.address, "latest")),
      code: readCode(node, asked),
      balance: readBalance(node, asked)
    },
    atOnce
  )
})
type AccountReading = Effect.Success<ReturnType<typeof readAccount>>

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
  const receipts = yield* Effect.forEach(hashes, (hash) => readReceipt(node, hash), atOnce)
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
const readPool = Effect.fnUntraced(function* (node: RpcNode, asked: EvmPollOptions, { at, count }: AccountReading) {
  const { memory, now, transactions } = asked
  const newest = transactions.flatMap((transaction) => {
    const { pooled } = questionsOf(transaction, count)
    const attempt = currentAttempts(transaction).at(-1)
    return pooled === undefined || attempt === undefined ? [] : [{ attempt, isAsked: !isJustSent(asked, transaction) }]
  })
  const found = yield* Effect.forEach(
    newest,
    ({ attempt, isAsked }) => (isAsked ? node.call(Calls.transactionOf(attempt.hash)) : Effect.undefined),
    atOnce
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

/** The code of the account. Anybody can send an authorization of it, which sets the code in any block. */
const readCode = Effect.fnUntraced(function* (node: RpcNode, { lane, memory, now }: EvmPollOptions) {
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
  readDataFee(node, numbers, { to: lane.address, value: 0n }, memory.lastRollupFee)

/** Hashes of private attempts that blocks show at their nonces: they are not secret any more. */
const readPlaced = Effect.fnUntraced(function* (node: RpcNode, asked: EvmPollOptions, { at, count }: AccountReading) {
  const { lane, numbers, transactions } = asked
  const { finality } = numbers
  const found = yield* Effect.forEach(
    transactions.filter((transaction) => questionsOf(transaction, count).place !== undefined),
    Effect.fnUntraced(function* (transaction) {
      const nonce = nonceOf(transaction) ?? 0
      const hash = yield* hashAt(node, { address: lane.address, nonce, finality }, at.head.number)
      return currentAttempts(transaction).flatMap((attempt) => (attempt.hash === hash ? [attempt.hash] : []))
    }),
    atOnce
  )
  return found.flat()
})

/** Whether a provider shows a transaction that is in no block. */
const isPooled = (shown: unknown): boolean =>
  typeof shown === "object" && shown !== null && (Reflect.get(shown, "blockNumber") ?? null) === null

/** Whether bytes that are no secret may be in pools at the chain's count, or behind it. */
const isPublicIn = (transactions: ReadonlyArray<Transaction<Evm>>, count: number): boolean =>
  transactions.some(
    (transaction) =>
      (nonceOf(transaction) ?? -1) >= count &&
      currentAttempts(transaction).some((attempt) => attempt.sends > 0 && !isPrivate(transaction, attempt))
  )

/**
 * The transaction at the chain's count, if the pool of a normal provider has its newest bytes, although only private providers got them. A
 * provider gets the hash once, and only if its pool counts a transaction that the service gave to nobody else.
 */
const readLeak = Effect.fnUntraced(function* (node: RpcNode, asked: EvmPollOptions, { count }: AccountReading) {
  const { lane, memory, privateHosts, transactions } = asked
  const suspect = transactions.find((transaction) => nonceOf(transaction) === count)
  const newest = suspect && currentAttempts(suspect).at(-1)
  if (suspect === undefined || newest === undefined || newest.sends === 0 || !isPrivate(suspect, newest))
    return undefined
  const isKnown = suspect.route?.seenPublicly !== undefined || memory.leakAsked.get(suspect.number) === newest.hash
  if (isKnown || privateHosts.has(hostOf(node.url)) || isPublicIn(transactions, count)) return undefined
  const pending = yield* Effect.orElseSucceed(node.call(Calls.countAt(lane.address, "pending")), () => count)
  if (pending <= count) return undefined
  memory.leakAsked.set(suspect.number, newest.hash)
  const shown = yield* Effect.orElseSucceed(node.call(Calls.transactionOf(newest.hash)), () => null)
  if (!isPooled(shown)) return undefined
  yield* Metric.update(seenPublicly, 1)
  return suspect.number
})

const readDetails = Effect.fnUntraced(function* (node: RpcNode, asked: EvmPollOptions, seen: AccountReading) {
  const { nodes, numbers, transactions } = asked
  const { head, hashesAt } = seen.at
  const questions = transactions.map((transaction) => questionsOf(transaction, seen.count))
  const floor = floorHeight(asked.lane, seen.count, head)
  const heights = new Set([...questions.flatMap(({ block }) => block ?? []), ...(floor === undefined ? [] : [floor])])
  const placed = yield* readPlaced(node, asked, seen)
  const found = yield* Effect.all(
    {
      receipts: readReceipts(node, [...questions.flatMap(({ receipts }) => receipts), ...placed], asked),
      pool: readPool(node, asked, seen),
      hashes: hashesAt(heights),
      market: nodes.markets.at({ node, providers: asked.providers, head }, numbers),
      noopGas: noopGas(node, asked, seen.code),
      noopDataFee: noopDataFee(node, asked),
      leaked: readLeak(node, asked, seen)
    },
    atOnce
  )
  return found
})
type PollDetails = Effect.Success<ReturnType<typeof readDetails>>

/** The recorded receipt of a transaction, else one that was just seen. */
const receiptOf = (
  transaction: Transaction<Evm>,
  { receipts }: Pick<PollDetails, "receipts">
): Receipt<Evm> | undefined =>
  transaction.mined?.receipt ?? currentAttempts(transaction).flatMap(({ hash }) => receipts.get(hash) ?? [])[0]

/** Height of the block of a transaction. */
const heightOf = (transaction: Transaction<Evm>, found: Pick<PollDetails, "receipts">): number | undefined =>
  receiptOf(transaction, found)?.height

/** A receipt that is final when it is first seen needs no further poll. */
const withNewHeights = Effect.fnUntraced(function* (asked: EvmPollOptions, { at }: AccountReading, found: PollDetails) {
  const heights = asked.transactions.flatMap((transaction) => heightOf(transaction, found) ?? [])
  const deep = heights.filter((height) => height <= at.finalHeight && !found.hashes.has(height))
  if (deep.length === 0) return found
  return { ...found, hashes: new Map([...found.hashes, ...(yield* at.hashesAt(deep))]) }
})

/** Whether the provider has other blocks than those that are known: a reorganisation, or another chain. */
const hasOtherBlocks = ({ lane: { chainBlock }, transactions }: EvmPollOptions, { hashes }: PollDetails): boolean => {
  const known = transactions.flatMap(({ mined }) => mined?.receipt ?? [])
  const isOther = (height: number, hash: string | undefined) => hashes.has(height) && hashes.get(height) !== hash
  return (
    known.some(({ height, blockHash }) => isOther(height, blockHash)) ||
    (chainBlock !== undefined && isOther(chainBlock.number, chainBlock.hash))
  )
}

/** The nonces of the open transactions, with what is known of their blocks. */
const polledOf = ({ transactions }: EvmPollOptions, found: PollDetails): ReadonlyArray<PolledNonce> =>
  transactions.flatMap((transaction) => {
    const nonce = nonceOf(transaction)
    return nonce === undefined ? [] : [{ nonce, ...present("receipt", receiptOf(transaction, found)) }]
  })

const readFinalCount = (node: RpcNode, asked: EvmPollOptions, seen: AccountReading, found: PollDetails) => {
  const { lane } = asked
  const { finalHeight } = seen.at
  if (!needsFinalCount(lane, seen.count, polledOf(asked, found))) return Effect.undefined
  return finalHeight < 0 ? Effect.succeed(0) : node.call(Calls.countAt(lane.address, finalHeight))
}

/** The attempt that was mined: what the recorded receipt names, else one whose receipt was just seen. */
const minedHashOf = (transaction: Transaction<Evm>, { receipts }: PollDetails): string | undefined =>
  transaction.mined === undefined
    ? currentAttempts(transaction).find(({ hash }) => receipts.has(hash))?.hash
    : transaction.attempts.find(({ ordinal }) => ordinal === transaction.mined?.ordinal)?.hash

/** What the first provider says of a transaction in a block that it calls final. */
const claimOf = (transaction: Transaction<Evm>, { at }: AccountReading, found: PollDetails): BlockClaim | undefined => {
  const receipt = receiptOf(transaction, found)
  const hash = minedHashOf(transaction, found)
  if (receipt === undefined || hash === undefined || receipt.height > at.finalHeight) return undefined
  const { height, blockHash } = receipt
  return blockHash !== undefined && found.hashes.get(height) === blockHash
    ? { height, blockHash, mined: { hash, receipt } }
    : undefined
}

/** Second opinions, by number of the transaction. They are asked only about blocks that the first provider calls final. */
const readSecondOpinions = Effect.fnUntraced(function* (
  node: RpcNode,
  asked: EvmPollOptions,
  seen: AccountReading,
  found: PollDetails
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
  const count = needsSecondCount(lane, seen.count)
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

const blockHashes = (
  transaction: Transaction<Evm>,
  found: PollDetails,
  opinions: ReadonlyMap<number, ClaimOpinions>
): BlockHashes | undefined => {
  const height = heightOf(transaction, found)
  if (height === undefined) return undefined
  const first = found.hashes.get(height)
  return { ...(first === undefined ? {} : { first }), ...opinions.get(transaction.number) }
}

const sightsOf = (transaction: Transaction<Evm>, found: PollDetails): ReadonlyMap<number, Sight> => {
  const sights = new Map<number, Sight>()
  for (const { hash, ordinal } of currentAttempts(transaction)) {
    const receipt = found.receipts.get(hash)
    const sight = receipt === undefined ? found.pool.get(hash) : ({ _tag: "Receipt", receipt } as const)
    if (sight !== undefined) sights.set(ordinal, sight)
  }
  return sights
}

/** Undefined: at least one provider is not stalled. */
const stalledSinceOf = ({ nodes, urls }: EvmPollOptions): Moment | undefined => {
  const watches = urls.map(({ url }) => nodes.heads.stalled(url))
  return watches.reduce<Moment | undefined>(
    (latest, watch) => (latest === undefined || watch === undefined ? undefined : Math.max(latest, watch.since)),
    watches.length === 0 ? undefined : -Infinity
  )
}

const headOf = ({ number, hash, gasLimit, timestamp }: Block): Seen["head"] => ({
  number,
  hash,
  ...present("gasLimit", gasLimit),
  ...present("timestamp", timestamp === undefined ? undefined : Number(timestamp) * 1000)
})

const baseOf = (
  asked: EvmPollOptions,
  { at, count, code, balance }: AccountReading,
  found: PollDetails,
  countAtFinal: number | undefined
): Seen => {
  const { memory, numbers, now } = asked
  const stalledSince = stalledSinceOf(asked)
  const { passedOver } = memory
  const isKept = passedOver !== undefined && now - passedOver.at < passedOverFor
  const market = abovePassedOver(found.market, isKept ? passedOver.tip : undefined)
  return {
    _tag: "Seen",
    head: headOf(at.head),
    finalHeight: at.finalHeight,
    count,
    ...(countAtFinal === undefined ? {} : { countAtFinal }),
    ...(market.isFirstPrice === true ? present("firstPrice", market.gasPrice) : { market }),
    balance,
    sights: new Map(),
    ...present("stalledSince", stalledSince),
    code,
    ...(code === "0x" ? {} : { hasCode: true }),
    chargesForData: numbers.hasDataFeeOracle || memory.lastRollupFee !== undefined,
    noopGas: found.noopGas,
    ...(found.noopDataFee === undefined ? {} : { noopDataFee: found.noopDataFee })
  }
}

const acceptedByOf = ({ memory }: EvmPollOptions, transaction: Transaction<Evm>): ReadonlyArray<string> | undefined => {
  const hosts = memory.acceptedBy.get(currentAttempts(transaction).at(-1)?.hash ?? "")
  return hosts === undefined ? undefined : [...hosts].sort()
}

/** A tip that the chain did not take is not offered again for a while. */
const notePassedOver = ({ memory, now, transactions }: EvmPollOptions, { views }: PollResult): void => {
  for (const transaction of transactions) {
    const view = views.get(transaction.number)
    const tip = view === undefined ? undefined : passedOverTip(transaction, view, now)
    const isHigher = tip !== undefined && tip >= (memory.passedOver?.tip ?? 0n)
    if (isHigher) memory.passedOver = { tip, at: now }
  }
}

/** Polls in a row that do not show a transaction as mined, before another provider is asked first. */
const pollsBeforeDemotion = 3

/** The poll does not show the transaction at the count as mined, although it has waited for longer than its patience. */
const isBlind = ({ transactions, now }: EvmPollOptions, { lane: { count, head } }: PollResult): boolean =>
  transactions.some((transaction) => {
    const [first] = currentAttempts(transaction)
    if (nonceOf(transaction) !== count || first?.firstSent === undefined) return false
    return isPatienceOver(speedOf(requestOf(transaction, first)), first.firstSent, { at: now, height: head.number })
  })

/** Every provider is asked first in turn while nothing is seen: one of them may hide the transaction. */
const demoteBlind = (asked: EvmPollOptions, found: PollResult) => {
  const { beliefs, providers } = asked
  beliefs.blind = isBlind(asked, found) ? beliefs.blind + 1 : 0
  return beliefs.blind > 0 && beliefs.blind % pollsBeforeDemotion === 0 ? providers.demote(found.node) : Effect.void
}

/**
 * A provider whose newest block is far behind that of another one is asked last from the next poll on. It keeps its opinion about
 * what this poll decides.
 */
const demoteBehind = Effect.fnUntraced(function* (asked: EvmPollOptions, { node, base }: PollResult) {
  const { headAfter, nodes, now, numbers, providers, urls } = asked
  if (urls.length === 1 || !mayBeBehind(base.head, now)) return
  const heads = yield* providers.each((one) => nodes.heads.at(one, numbers, headAfter))
  const isBehind = heads.some((other) => other !== undefined && isFarBehind(base.head, headOf(other.head)))
  if (isBehind) yield* providers.demote(node)
})

/** What two others contradict with the same answer is not decided by this provider: the next one is asked first. */
const demoteOutvoted = ({ providers }: EvmPollOptions, { node, views }: PollResult) =>
  [...views.values()].some(({ minedAt }) => minedAt?.isOutvoted === true) ? providers.demote(node) : Effect.void

const poll = Effect.fnUntraced(function* (node: RpcNode, asked: EvmPollOptions) {
  const seen = yield* readAccount(node, asked)
  const { lane, providers } = asked
  if (seen.at.head.number < (lane.chainBlock?.number ?? 0)) yield* providers.doubt(node)
  const found = yield* withNewHeights(asked, seen, yield* readDetails(node, asked, seen))
  if (hasOtherBlocks(asked, found)) yield* providers.doubt(node)
  const { second, countAtFinal } = yield* Effect.all(
    {
      second: readSecondOpinions(node, asked, seen, found),
      countAtFinal: readFinalCount(node, asked, seen, found)
    },
    { concurrency: "unbounded" }
  )
  const base = baseOf(asked, seen, found, countAtFinal)
  const hashAtChainBlock = lane.chainBlock && found.hashes.get(lane.chainBlock.number)
  const views = asked.transactions.map((transaction): readonly [number, Seen] => {
    const minedAt = blockHashes(transaction, found, second.opinions)
    const sights = sightsOf(transaction, found)
    const acceptedBy = acceptedByOf(asked, transaction)
    return [
      transaction.number,
      {
        ...base,
        sights,
        ...present("minedAt", minedAt),
        ...present("acceptedBy", acceptedBy),
        ...(found.leaked === transaction.number ? { isLeaked: true as const } : {})
      }
    ]
  })
  const result: PollResult = {
    node,
    lane: {
      head: { number: base.head.number, hash: base.head.hash },
      count: seen.count,
      ...(hashAtChainBlock === undefined ? {} : { hashAtChainBlock }),
      ...(typeof second.count === "number" ? { secondCount: second.count } : {})
    },
    finalCount: finalCountOf(
      polledOf(asked, found),
      seen.at.finalHeight,
      (height) => found.hashes.get(height),
      countAtFinal
    ),
    headAskedAt: seen.at.askedAt,
    views: new Map(views),
    base
  }
  return result
})

/** If all providers are stalled, all are asked for their heads. Otherwise the poll would not see that one of them goes on. */
const lookForLive = (asked: EvmPollOptions) =>
  stalledSinceOf(asked) === undefined
    ? Effect.void
    : asked.providers.each((node) => asked.nodes.heads.at(node, asked.numbers, asked.headAfter))

/** Fails with the code of what all providers had. `mismatch`: they are on another chain. */
export const take = Effect.fn("ChainPoll.take")((asked: EvmPollOptions) =>
  Effect.andThen(
    lookForLive(asked),
    asked.providers.first((node) => poll(node, asked))
  ).pipe(
    Effect.timeoutOrElse({ duration: pollBudget, orElse: () => Effect.fail(rpcFailure("unreachable")) }),
    Effect.tap((found) => Effect.sync(() => notePassedOver(asked, found))),
    Effect.tap((found) => demoteBlind(asked, found)),
    Effect.tap((found) => demoteOutvoted(asked, found)),
    Effect.tap((found) => demoteBehind(asked, found))
  )
)
