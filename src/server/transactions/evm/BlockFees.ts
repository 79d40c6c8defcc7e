// Asks a provider of the relayer for the base fees of the blocks that could have contained a transaction.
import { Cache, Clock, Duration, Effect, Exit } from "effect"
import { callsFor, heightsOf, pointsOf } from "../../../domain/transaction/evm/BlockFees.ts"
import type { BaseFee, ChainNow, Heights, TransactionFees } from "../../../domain/transaction/evm/BlockFees.ts"
import type { Evm } from "../../../domain/transaction/evm/Evm.ts"
import { evmRules } from "../../../domain/transaction/evm/EvmRules.ts"
import { evmTermsOf } from "../../../domain/transaction/evm/EvmTerms.ts"
import { baseFeesAfter, blockAt } from "../../chains/evm/EvmCalls.ts"
import { Ledger } from "../../ledger/Ledger.ts"
import { isFinal } from "../../../domain/transaction/Transaction.ts"
import type { Transaction } from "../../../domain/transaction/Transaction.ts"
import type { TransactionId } from "../../../domain/transaction/TransactionValues.ts"
import type { RpcNode } from "../../chains/RpcNode.ts"
import { isTransactionOf } from "../../ledger/LedgerEntries.ts"
import { networkId } from "../../../domain/network/Network.ts"
import { RelayerNotFound } from "../../../domain/relayer/Relayer.ts"
import type { RelayerId } from "../../../domain/relayer/Relayer.ts"
import { NotImplemented } from "../../../domain/request/Request.ts"
import { OutboundWork } from "../../limits/CallerLimits.ts"
import { Networks } from "../../networks/Networks.ts"
import { Relayers } from "../../relayers/Relayers.ts"
import * as RelayerNodes from "./RelayerNodes.ts"

/** Base fees of final transactions do not change. This is how many are remembered, and for how long. */
const capacity = 200
const kept = Duration.hours(1)

/** The blocks of a transaction, and the relayer whose provider is asked. Its JSON is the key of the cache. */
interface BlockRange extends Heights {
  readonly id: RelayerId
  readonly chainId: number
  /** Milliseconds. */
  readonly blockTime: number
}

const seconds = 1000

/** If the node does not return base fees of the whole range, the list is shorter. */
const feesIn = Effect.fnUntraced(function* (node: RpcNode, { first, last }: Heights) {
  const { baseFeePerGas } = yield* node.call(baseFeesAfter(first - 1, last))
  return (baseFeePerGas ?? [])
    .slice(0, last - first + 1)
    .map((baseFee, index): BaseFee => ({ number: first + index, baseFee }))
})

const readFrom = Effect.fnUntraced(function* (node: RpcNode, { first, last, blockTime }: BlockRange) {
  const [start, end, fees] = yield* Effect.all(
    [
      node.call(blockAt(first)),
      node.call(blockAt(last)),
      Effect.forEach(callsFor({ first, last }), (part) => feesIn(node, part), { concurrency: "unbounded" })
    ],
    { concurrency: "unbounded" }
  )
  const ended = end?.timestamp === undefined ? yield* Clock.currentTimeMillis : Number(end.timestamp) * seconds
  const began = start?.timestamp === undefined ? ended - (last - first) * blockTime : Number(start.timestamp) * seconds
  return pointsOf(fees.flat(), { first, last }, { first: began, last: ended })
})

export const make = Effect.gen(function* () {
  const relayers = yield* Relayers
  const networks = yield* Networks
  const ledger = yield* Ledger
  const nodes = yield* RelayerNodes.make
  const outboundWork = yield* OutboundWork

  const read = (range: BlockRange) => nodes.first(range.id, range.chainId, (node) => readFrom(node, range))

  const remembered = yield* Cache.makeWith((range: string) => read(JSON.parse(range) as BlockRange), {
    capacity,
    timeToLive: (exit) => (Exit.isSuccess(exit) ? kept : 0)
  })

  const targetOf = Effect.fnUntraced(
    function* (id: RelayerId) {
      const { number, value: relayer } = yield* relayers.get(id)
      const { value: network } = yield* networks.get(networkId(relayer.network_type, relayer.network))
      const target = evmRules.targetOf({ relayer, network })
      if (target !== undefined) return { number, target }
      return yield* new NotImplemented({ error: `transactions of ${relayer.network_type} have no base fees` })
    },
    Effect.catchTag("NetworkNotFound", () => Effect.fail(new RelayerNotFound({})))
  )

  const blocksOf = (transaction: Transaction<Evm>, id: RelayerId, chainId: number, blockTime: number) =>
    Effect.gen(function* () {
      const head = yield* nodes.first(id, chainId, (node) => node.call(blockAt("latest")))
      const now: ChainNow = { at: yield* Clock.currentTimeMillis, height: head?.number ?? 0, blockTime }
      const range: BlockRange = { id, chainId, blockTime, ...heightsOf(transaction, now) }
      return yield* isFinal(transaction) ? Cache.get(remembered, JSON.stringify(range)) : read(range)
    })

  const get = Effect.fn("BlockFees.get")(function* (id: RelayerId, transactionId: TransactionId) {
    const { number, target } = yield* targetOf(id)
    const stored = yield* ledger.get(number, transactionId)
    const { cap, network } = evmTermsOf(target)
    const found: TransactionFees = {
      ...(cap === undefined ? {} : { cap }),
      blocks: isTransactionOf<Evm>(evmRules, stored)
        ? yield* outboundWork.run(blocksOf(stored.transaction, id, network.chainId, network.blockTime))
        : []
    }
    return found
  })

  return { get }
})
