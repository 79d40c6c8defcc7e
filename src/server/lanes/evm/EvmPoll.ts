// One poll of the chain for the transactions of a lane that share providers: what the answers of the providers mean for each.
import { Effect } from "effect"
import { isFarBehind, mayBeBehind } from "../../../domain/chain/Rpc.ts"
import { pollInterval } from "../../../domain/transaction/evm/NetworkNumbers.ts"
import type { NetworkNumbers } from "../../../domain/transaction/evm/NetworkNumbers.ts"
import { speedOf } from "../../../domain/transaction/evm/Offer.ts"
import { isPatienceOver, passedOverTip } from "../../../domain/transaction/evm/Replacements.ts"
import { abovePassedOver } from "../../../domain/transaction/evm/Market.ts"
import { passedOverFor } from "../../../domain/transaction/evm/EvmNumbers.ts"
import { nonceOf } from "../../../domain/transaction/evm/Evm.ts"
import type { Evm } from "../../../domain/transaction/evm/Evm.ts"
import type { BlockHashes, Seen, Sight } from "../../../domain/transaction/evm/View.ts"
import type { Block } from "../../chains/evm/EvmCalls.ts"
import type { Heard } from "../../chains/evm/EvmOpinion.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import type { Unreachable } from "../../../domain/transaction/Rules.ts"
import { currentAttempts, requestOf } from "../../../domain/transaction/Transaction.ts"
import type { Transaction } from "../../../domain/transaction/Transaction.ts"
import type { Moment } from "../../../domain/transaction/TransactionValues.ts"
import { rpcFailure } from "../../chains/RpcFailure.ts"
import type { RpcFailure } from "../../chains/RpcFailure.ts"
import type { RpcNode } from "../../chains/RpcNode.ts"
import type { EvmPoll } from "./EvmMemory.ts"
import * as EvmReading from "./EvmReading.ts"
import type { Account, Details, EvmPollOptions } from "./EvmReading.ts"

const blockHashes = (
  transaction: Transaction<Evm>,
  found: Details,
  opinions: ReadonlyMap<number, Heard>
): BlockHashes | undefined => {
  const height = EvmReading.heightOf(transaction, found)
  if (height === undefined) return undefined
  const first = found.hashes.get(height)
  return { ...(first === undefined ? {} : { first }), ...opinions.get(transaction.number) }
}

const sightsOf = (transaction: Transaction<Evm>, found: Details): ReadonlyMap<number, Sight> => {
  const sights = new Map<number, Sight>()
  for (const { hash, ordinal } of currentAttempts(transaction)) {
    const receipt = found.receipts.get(hash)
    const sight = receipt === undefined ? found.pool.get(hash) : ({ _tag: "Receipt", receipt } as const)
    if (sight !== undefined) sights.set(ordinal, sight)
  }
  return sights
}

/** Transactions of the account at the final height: what was asked, or what the receipts in final blocks prove. */
const finalCountOf = (asked: EvmPollOptions, { at }: Account, found: Details, countAtFinal = 0): number => {
  const isFinal = (transaction: Transaction<Evm>) => {
    const receipt = EvmReading.receiptOf(transaction, found)
    if (receipt === undefined || receipt.height > at.finalHeight) return false
    return found.hashes.get(receipt.height) === receipt.blockHash
  }
  const nonces = asked.transactions.filter(isFinal).flatMap((transaction) => nonceOf(transaction) ?? [])
  return Math.max(countAtFinal, ...nonces.map((nonce) => nonce + 1))
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
  { at, count, balance }: Account,
  found: Details,
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
    ...((memory.accountCode?.code ?? "0x") === "0x" ? {} : { hasCode: true }),
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
const notePassedOver = ({ memory, now, transactions }: EvmPollOptions, { views }: EvmPoll): void => {
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
const isBlind = ({ transactions, now }: EvmPollOptions, { lane: { count, head } }: EvmPoll): boolean =>
  transactions.some((transaction) => {
    const [first] = currentAttempts(transaction)
    if (nonceOf(transaction) !== count || first?.firstSent === undefined) return false
    return isPatienceOver(speedOf(requestOf(transaction, first)), first.firstSent, { at: now, height: head.number })
  })

/** Every provider is asked first in turn while nothing is seen: one of them may hide the transaction. */
const demoteBlind = (asked: EvmPollOptions, found: EvmPoll) => {
  const { beliefs, providers } = asked
  beliefs.blind = isBlind(asked, found) ? beliefs.blind + 1 : 0
  return beliefs.blind > 0 && beliefs.blind % pollsBeforeDemotion === 0 ? providers.demote(found.node) : Effect.void
}

/**
 * A provider whose newest block is far behind that of another one is asked last from the next poll on. It keeps its opinion about
 * what this poll decides.
 */
const demoteBehind = Effect.fnUntraced(function* (asked: EvmPollOptions, { node, base }: EvmPoll) {
  const { headAfter, nodes, now, numbers, providers, urls } = asked
  if (urls.length === 1 || !mayBeBehind(base.head, now)) return
  const heads = yield* providers.each((one) => nodes.heads.at(one, numbers, headAfter))
  const isBehind = heads.some((other) => other !== undefined && isFarBehind(base.head, headOf(other.head)))
  if (isBehind) yield* providers.demote(node)
})

/** What two others contradict with the same answer is not decided by this provider: the next one is asked first. */
const demoteOutvoted = ({ providers }: EvmPollOptions, { node, views }: EvmPoll) =>
  [...views.values()].some(({ minedAt }) => minedAt?.isOutvoted === true) ? providers.demote(node) : Effect.void

const poll = Effect.fnUntraced(function* (node: RpcNode, asked: EvmPollOptions) {
  const seen = yield* EvmReading.account(node, asked)
  const { lane, providers } = asked
  if (seen.at.head.number < (lane.chainBlock?.number ?? 0)) yield* providers.doubt(node)
  const found = yield* EvmReading.withNewHeights(asked, seen, yield* EvmReading.details(node, asked, seen))
  if (EvmReading.hasOtherBlocks(asked, found)) yield* providers.doubt(node)
  const { second, countAtFinal } = yield* Effect.all(
    {
      second: EvmReading.seconds(node, asked, seen, found),
      countAtFinal: EvmReading.readFinalCount(node, asked, seen, found)
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
      { ...base, sights, ...present("minedAt", minedAt), ...present("acceptedBy", acceptedBy) }
    ]
  })
  const result: EvmPoll = {
    node,
    lane: {
      head: { number: base.head.number, hash: base.head.hash },
      count: seen.count,
      ...(hashAtChainBlock === undefined ? {} : { hashAtChainBlock }),
      ...(typeof second.count === "number" ? { secondCount: second.count } : {})
    },
    finalCount: finalCountOf(asked, seen, found, countAtFinal),
    headAskedAt: seen.at.askedAt,
    views: new Map(views),
    base
  }
  return result
})

/** Milliseconds of one poll, over all its requests and providers. */
const budget = 10_000

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
    Effect.timeoutOrElse({ duration: budget, orElse: () => Effect.fail(rpcFailure("unreachable")) }),
    Effect.tap((found) => Effect.sync(() => notePassedOver(asked, found))),
    Effect.tap((found) => demoteBlind(asked, found)),
    Effect.tap((found) => demoteOutvoted(asked, found)),
    Effect.tap((found) => demoteBehind(asked, found))
  )
)

/** What a failed poll means for the transactions. */
export const unreachable = (failure: RpcFailure, numbers: NetworkNumbers, now: Moment): Unreachable => ({
  _tag: "Unreachable",
  code: failure.code === "rate_limited" ? "rate_limited" : "providers_unavailable",
  retryAt: now + pollInterval(numbers),
  ...present("figures", failure.host === undefined ? undefined : { host: failure.host, error: failure.text })
})
