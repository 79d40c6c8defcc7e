// The handlers of `NoncesApi`, `SigningApi`, `PoliciesApi` and `FeesApi`, with the base fees that a provider shows.
// Only relayers of evm have the last two.
import { Cache, Clock, Duration, Effect, Exit } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../../api/Api.ts"
import { networkId } from "../../../domain/network/Network.ts"
import { RelayerNotFound } from "../../../domain/relayer/Relayer.ts"
import type { RelayerId } from "../../../domain/relayer/Relayer.ts"
import { NotImplemented } from "../../../domain/request/Request.ts"
import type { RpcNode } from "../../../server/chains/RpcNode.ts"
import { Ledger } from "../../../server/ledger/Ledger.ts"
import { isTransactionOf } from "../../../server/ledger/LedgerEntries.ts"
import { OutboundWork } from "../../../server/limits/RateLimits.ts"
import { Networks } from "../../../server/networks/Networks.ts"
import { RelayerTargets } from "../../../server/relayers/RelayerTargets.ts"
import { Relayers } from "../../../server/relayers/Relayers.ts"
import * as GroupServices from "../../../server/responses/GroupServices.ts"
import * as Respond from "../../../server/responses/Respond.ts"
import { Nonces } from "./Nonces.ts"
import { isFinal } from "../../core/Transaction.ts"
import type { Transaction } from "../../core/Transaction.ts"
import type { TransactionId } from "../../core/TransactionValues.ts"
import { baseFeesAfter, blockAt } from "../chain/EvmCalls.ts"
import { EvmNodes } from "../chain/EvmNodes.ts"
import { evmTermsOf } from "../rules/Admission.ts"
import type { Evm } from "../rules/Evm.ts"
import { evmRules } from "../rules/EvmRules.ts"
import { callsFor, heightsOf, pointsOf } from "../rules/Hindsight.ts"
import type { BaseFee, ChainNow, Heights, TransactionFees } from "../rules/Hindsight.ts"
import { makeRelayerNodes } from "./EvmSenders.ts"
import { MessageSigning } from "./MessageSigning.ts"
import { Rehearsals } from "./Rehearsals.ts"

// Asks a provider of the relayer for the base fees of the blocks that could have contained a transaction.

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

const makeBlockFees = Effect.gen(function* () {
  const relayers = yield* Relayers
  const networks = yield* Networks
  const ledger = yield* Ledger
  const nodes = yield* makeRelayerNodes
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

export const NoncesHttp = HttpApiBuilder.group(
  Api,
  "nonces",
  Effect.fnUntraced(function* (handlers) {
    const nonces = yield* Nonces
    return handlers.handleAll({
      get: ({ params }) => Respond.one(nonces.get(params.relayer_id)),
      resync: ({ params, payload }) => Respond.one(nonces.resync(params.relayer_id, payload)),
      clear: ({ params, payload }) => Respond.one(nonces.clear(params.relayer_id, payload)),
      releaseChannels: ({ params }) => Respond.one(nonces.releaseChannels(params.relayer_id)),
      beginGeneration: ({ params }) => Respond.one(nonces.beginGeneration(params.relayer_id))
    })
  })
).pipe(GroupServices.limitTo(Nonces))

export const PoliciesHttp = HttpApiBuilder.group(
  Api,
  "policies",
  Effect.fnUntraced(function* (handlers) {
    const rehearsals = yield* Rehearsals
    return handlers.handleAll({
      rehearse: ({ params, payload }) => Respond.one(rehearsals.rehearse(params.relayer_id, payload))
    })
  })
).pipe(GroupServices.limitTo(Rehearsals))

export const FeesHttp = HttpApiBuilder.group(
  Api,
  "fees",
  Effect.fnUntraced(function* (handlers) {
    const fees = yield* makeBlockFees
    return handlers.handleAll({
      ofTransaction: ({ params }) => Respond.one(fees.get(params.relayer_id, params.transaction_id))
    })
  })
).pipe(GroupServices.limitTo(Relayers, Networks, Ledger, EvmNodes, RelayerTargets, OutboundWork))

// The handlers of `SigningApi`.

export const SigningHttp = HttpApiBuilder.group(
  Api,
  "signing",
  Effect.fnUntraced(function* (handlers) {
    const signing = yield* MessageSigning
    return handlers.handleAll({
      sign: ({ params, payload }) => Respond.one(signing.sign(params.relayer_id, payload)),
      signTypedData: ({ params, payload }) => Respond.one(signing.signTypedData(params.relayer_id, payload))
    })
  })
).pipe(GroupServices.limitTo(MessageSigning))
