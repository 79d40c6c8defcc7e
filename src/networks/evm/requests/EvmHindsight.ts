// What a policy would have done to the final transactions of an evm relayer, and the base fees of the blocks that could have contained one.
// The ledger is read by pages; nothing is locked or stored.
import { Cache, Clock, Duration, Effect, Exit, Option } from "effect"
import { networkId } from "../../../domain/network/Network.ts"
import { applyRelayerPatch, RehearsalTooLarge, RelayerNotFound } from "../../../domain/relayer/Relayer.ts"
import type { Relayer, RelayerId } from "../../../domain/relayer/Relayer.ts"
import { wrongType } from "../../../server/chains/Chains.ts"
import type { RpcNode } from "../../../server/chains/RpcNode.ts"
import { Ledger } from "../../../server/ledger/Ledger.ts"
import { isTransactionOf } from "../../../server/ledger/LedgerEntries.ts"
import type { StoredTransaction } from "../../../server/ledger/LedgerEntries.ts"
import { OutboundWork } from "../../../server/limits/RateLimits.ts"
import { Networks } from "../../../server/networks/Networks.ts"
import type { StoredRelayer } from "../../../server/relayers/StoredRelayer.ts"
import type { HindsightNetwork } from "../../../server/transactions/Exchanges.ts"
import { finalStates, isFinal } from "../../core/Transaction.ts"
import type { Transaction } from "../../core/Transaction.ts"
import type { Moment, TransactionId } from "../../core/TransactionValues.ts"
import { baseFeesAfter, blockAt } from "../chain/EvmCalls.ts"
import { evmTermsOf } from "../rules/Admission.ts"
import type { Evm, EvmTarget, EvmTerms } from "../rules/Evm.ts"
import { evmRules } from "../rules/EvmRules.ts"
import {
  callsFor,
  heightsOf,
  judgeByPolicy,
  maxNamed,
  maxRehearsed,
  maxRehearsedDays,
  pointsOf,
  unknownToRehearsals
} from "../rules/Hindsight.ts"
import type { BaseFee, ChainNow, Heights, Rehearsal, RehearsePolicy, TransactionFees } from "../rules/Hindsight.ts"
import { makeRelayerNodes } from "./EvmSenders.ts"

// Tries a policy on the final transactions of a relayer. Only the length of a hold is asked of a provider.

/** Transactions that are read at once. */
const pageSize = 1000

const day = 86_400_000

/** Blocks of one answer to `eth_feeHistory`: half of what common nodes allow. */
const maxBlocks = 512

/** A hold that the answer names, with the height at which its first bytes were sent. */
interface NamedHold {
  readonly stored: StoredTransaction<Evm>
  readonly firstSent: number | undefined
}

/** Counts verdicts. The newest transactions come first. */
const makeTally = (terms: EvmTerms) => {
  let transactions = 0
  let held = 0
  const holds: Array<NamedHold> = []
  const refusals = new Map<string, { message: string; count: number; first: Array<{ id: StoredTransaction["id"] }> }>()

  const add = (stored: StoredTransaction<Evm>) => {
    const { id, transaction } = stored
    transactions += 1
    const verdict = judgeByPolicy(transaction, terms)
    if (verdict._tag === "Held") {
      held += 1
      const firstSent = transaction.attempts.find((attempt) => attempt.firstSent !== undefined)?.firstSent?.height
      if (holds.length < maxNamed) holds.push({ stored, firstSent })
    } else if (verdict._tag === "Refused") {
      const found = refusals.get(verdict.field) ?? { message: verdict.message, count: 0, first: [] }
      found.count += 1
      if (found.first.length < maxNamed) found.first.push({ id })
      refusals.set(verdict.field, found)
    }
  }

  return { add, holds: holds as ReadonlyArray<NamedHold>, refusals, counts: () => ({ transactions, held }) }
}

/** How long providers are asked for base fees. Several that do not answer would take longer than the request may. */
const patience = "5 seconds"

const makeRehearsal = Effect.gen(function* () {
  const networks = yield* Networks
  const ledger = yield* Ledger
  const nodes = yield* makeRelayerNodes
  const outboundWork = yield* OutboundWork

  /** The relayer as the patch would make it. */
  const targetOf = Effect.fnUntraced(
    function* (relayer: Relayer, patch: RehearsePolicy["policies"]) {
      const { value: network } = yield* networks.get(networkId(relayer.network_type, relayer.network))
      if (relayer.network_type !== "evm" || network.network_type !== "evm") return yield* wrongType
      const { request } = yield* applyRelayerPatch(relayer, {}, { policies: patch })
      const { policies: _, ...withoutPolicies } = relayer
      const wanted =
        request.network_type === "evm" && request.policies !== undefined
          ? { ...withoutPolicies, policies: request.policies }
          : withoutPolicies
      const target: EvmTarget = { relayer: wanted, network }
      return target
    },
    Effect.catchTag("NetworkNotFound", () => Effect.fail(new RelayerNotFound({})))
  )

  const checkSize = Effect.fnUntraced(function* (number: number, now: Moment, days: number) {
    const perDay = yield* ledger.countFinalByDay(number, { now, days, limit: maxRehearsed + 1 })
    let total = 0
    let fitting = 0
    for (const [index, count] of perDay.entries()) {
      total += count
      if (total <= maxRehearsed) fitting = index + 1
    }
    if (total > maxRehearsed) return yield* RehearsalTooLarge.of(days, maxRehearsed, fitting)
  })

  const readAll = Effect.fnUntraced(function* (
    number: number,
    since: Moment,
    add: (stored: StoredTransaction<Evm>) => void
  ) {
    // A day begins after the end of the former one. Moments are whole milliseconds.
    const filter = { relayerNumbers: [number], states: finalStates, createdAfter: since + 1 }
    let after: number | undefined = undefined
    do {
      const position: { readonly after?: number } = after === undefined ? {} : { after }
      const page = yield* ledger.select({ filter, limit: pageSize, ...position })
      for (const stored of page.transactions) if (isTransactionOf<Evm>(evmRules, stored)) add(stored)
      const isLast = !page.isCut && page.transactions.length < pageSize
      after = isLast ? undefined : page.transactions.at(-1)?.transaction.number
    } while (after !== undefined)
  })

  /** Blocks from the first send until one that a transaction at the cap fits into. Undefined: the provider does not say. */
  const blocksOf = (node: RpcNode, { firstSent }: NamedHold, cap: bigint, head: number) =>
    firstSent === undefined || firstSent >= head
      ? Effect.undefined
      : Effect.map(
          Effect.option(node.call(baseFeesAfter(firstSent, Math.min(head, firstSent + maxBlocks)))),
          (found) => {
            const baseFees = (found._tag === "None" ? undefined : found.value.baseFeePerGas) ?? []
            const index = baseFees.findIndex((baseFee) => baseFee <= cap)
            return index < 0 ? undefined : index + 1
          }
        )

  const lengths = Effect.fnUntraced(function* (id: RelayerId, target: EvmTarget, holds: ReadonlyArray<NamedHold>) {
    const { cap, network } = evmTermsOf(target)
    if (holds.length === 0 || cap === undefined) return []
    const ask = nodes.first(id, network.chainId, (node) =>
      Effect.flatMap(node.call(blockAt("latest")), (head) =>
        Effect.forEach(holds, (hold) => blocksOf(node, hold, cap, head?.number ?? 0), { concurrency: "unbounded" })
      )
    )
    const answered = Effect.catchTag(ask, "BadGateway", () => Effect.succeed([]))
    const inTime = yield* outboundWork.run(Effect.timeoutOption(answered, patience))
    return Option.getOrElse(inTime, () => [])
  })

  return Effect.fnUntraced(function* (
    { number, value: relayer }: StoredRelayer,
    { policies, days = maxRehearsedDays }: RehearsePolicy
  ) {
    const target = yield* targetOf(relayer, policies)
    const now = yield* Clock.currentTimeMillis
    yield* checkSize(number, now, days)
    const tally = makeTally(evmTermsOf(target))
    yield* readAll(number, now - days * day, tally.add)
    const blocks = yield* lengths(relayer.id, target, tally.holds)
    const { held, transactions } = tally.counts()
    const rehearsal: Rehearsal = {
      days,
      transactions,
      would_hold: {
        count: held,
        first: tally.holds.map(({ stored }, index) => {
          const length = blocks[index]
          return { id: stored.id, code: "gas_price_above_cap", ...(length === undefined ? {} : { blocks: length }) }
        })
      },
      would_refuse: [...tally.refusals].map(([field, found]) => ({ code: "policy_changed", field, ...found })),
      unknown: unknownToRehearsals
    }
    return rehearsal
  })
})

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
    function* (relayer: Relayer) {
      const { value: network } = yield* networks.get(networkId(relayer.network_type, relayer.network))
      return evmRules.targetOf({ relayer, network }) ?? (yield* wrongType)
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

  return Effect.fnUntraced(function* ({ number, value: relayer }: StoredRelayer, transactionId: TransactionId) {
    const target = yield* targetOf(relayer)
    const stored = yield* ledger.get(number, transactionId)
    const { cap, network } = evmTermsOf(target)
    const found: TransactionFees = {
      ...(cap === undefined ? {} : { cap }),
      blocks: isTransactionOf<Evm>(evmRules, stored)
        ? yield* outboundWork.run(blocksOf(stored.transaction, relayer.id, network.chainId, network.blockTime))
        : []
    }
    return found
  })
})

export const make = Effect.all([makeRehearsal, makeBlockFees]).pipe(
  Effect.map(([rehearse, feesOf]): HindsightNetwork => ({ type: evmRules.type, rehearse, feesOf }))
)
