// One poll of the chain for the transactions of a lane that share providers: what the answers of the providers mean for each.
import { Effect } from "effect"
import type { LaneView } from "../../domain/transaction/Floor.ts"
import type { Market } from "../../domain/transaction/Market.ts"
import type { Moment } from "../../domain/transaction/Moment.ts"
import { pollInterval } from "../../domain/transaction/NetworkNumbers.ts"
import type { NetworkNumbers } from "../../domain/transaction/NetworkNumbers.ts"
import { currentAttempts } from "../../domain/transaction/Transaction.ts"
import type { Transaction } from "../../domain/transaction/Transaction.ts"
import type { BlockHashes, SecondOpinion, Seen, Sight, Unreachable } from "../../domain/transaction/View.ts"
import type { EvmNode } from "../chains/evm/EvmNode.ts"
import * as RpcFailure from "../chains/RpcFailure.ts"
import * as ChainReading from "./ChainReading.ts"
import type { Account, Asked, Details } from "./ChainReading.ts"

/** What a poll has seen of the account as a whole, without the parts about single transactions. */
export interface ChainPoll {
  readonly lane: LaneView
  /** Transactions of the account that are certainly in blocks which count as final. */
  readonly finalCount: number
  /** When the head was asked for. */
  readonly headAskedAt: Moment
  /** By number of the transaction. */
  readonly views: ReadonlyMap<number, Seen>
  /** For transactions without a nonce, and for final ones. */
  readonly base: Seen
}

const blockHashes = (
  transaction: Transaction,
  found: Details,
  opinions: ReadonlyMap<number, SecondOpinion>
): BlockHashes | undefined => {
  const height = ChainReading.heightOf(transaction, found)
  if (height === undefined) return undefined
  const first = found.hashes.get(height)
  const second = opinions.get(height)
  return { ...(first === undefined ? {} : { first }), ...(second === undefined ? {} : { second }) }
}

const sightsOf = (transaction: Transaction, found: Details): ReadonlyMap<number, Sight> => {
  const sights = new Map<number, Sight>()
  for (const { hash, ordinal } of currentAttempts(transaction)) {
    const receipt = found.receipts.get(hash)
    const sight = receipt === undefined ? found.pool.get(hash) : ({ _tag: "Receipt", receipt } as const)
    if (sight !== undefined) sights.set(ordinal, sight)
  }
  return sights
}

/** Transactions of the account at the final height: what was asked, or what the receipts in final blocks prove. */
const finalCountOf = (asked: Asked, { at }: Account, found: Details, countAtFinal = 0): number => {
  const isFinal = (transaction: Transaction) => {
    const receipt = ChainReading.receiptOf(transaction, found)
    if (receipt === undefined || receipt.blockNumber > at.finalHeight) return false
    return found.hashes.get(receipt.blockNumber) === receipt.blockHash
  }
  const nonces = asked.transactions.filter(isFinal).flatMap(({ nonce }) => nonce ?? [])
  return Math.max(countAtFinal, ...nonces.map((nonce) => nonce + 1))
}

const baseOf = ({ at, count, balance }: Account, found: Details, countAtFinal: number | undefined): Seen => {
  const { number, hash, gasLimit } = at.head
  const market: Market = found.market
  return {
    _tag: "Seen",
    head: { number, hash, ...(gasLimit === undefined ? {} : { gasLimit }) },
    finalHeight: at.finalHeight,
    count,
    ...(countAtFinal === undefined ? {} : { countAtFinal }),
    market,
    balance,
    sights: new Map(),
    noopGas: found.noopGas,
    ...(found.noopDataFee === undefined ? {} : { noopDataFee: found.noopDataFee })
  }
}

const poll = Effect.fnUntraced(function* (node: EvmNode, asked: Asked) {
  const seen = yield* ChainReading.account(node, asked)
  const { lane, providers } = asked
  if (seen.at.head.number < (lane.chainBlock?.number ?? 0)) yield* providers.doubt
  const found = yield* ChainReading.withNewHeights(asked, seen, yield* ChainReading.details(node, asked, seen))
  const { second, countAtFinal } = yield* Effect.all(
    {
      second: ChainReading.seconds(node, asked, seen, found),
      countAtFinal: ChainReading.readFinalCount(node, asked, seen, found)
    },
    { concurrency: "unbounded" }
  )
  const base = baseOf(seen, found, countAtFinal)
  const hashAtChainBlock = lane.chainBlock && found.hashes.get(lane.chainBlock.number)
  const views = asked.transactions.map((transaction): readonly [number, Seen] => {
    const minedAt = blockHashes(transaction, found, second.opinions)
    const sights = sightsOf(transaction, found)
    return [transaction.number, { ...base, sights, ...(minedAt === undefined ? {} : { minedAt }) }]
  })
  const result: ChainPoll = {
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

/** Fails with the code of what all providers had. `mismatch`: they are on another chain. */
export const take = Effect.fn("ChainPoll.take")((asked: Asked) =>
  Effect.timeoutOrElse(
    asked.providers.first((node) => poll(node, asked)),
    { duration: budget, orElse: () => Effect.fail(RpcFailure.failure("unreachable")) }
  )
)

/** What a failed poll means for the transactions. */
export const unreachable = ({ code }: RpcFailure.RpcFailure, numbers: NetworkNumbers, now: Moment): Unreachable => ({
  _tag: "Unreachable",
  code: code === "rate_limited" ? "rate_limited" : "providers_unavailable",
  retryAt: now + pollInterval(numbers)
})
