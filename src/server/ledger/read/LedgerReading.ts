// What the ledger shows to callers.
import { Clock, Effect, Option } from "effect"
import type { Network } from "../../../domain/network/Network.ts"
import type { Relayer } from "../../../domain/relayer/Relayer.ts"
import { TransactionNotFound } from "../../../domain/transaction/TransactionId.ts"
import type { TransactionId } from "../../../domain/transaction/TransactionId.ts"
import * as AttemptsRepo from "../write/AttemptsRepo.ts"
import { feePeriod } from "../accept/FeeLimits.ts"
import * as FeesRepo from "../accept/FeesRepo.ts"
import type { LimitKey } from "../accept/FeesRepo.ts"
import * as LanesRepo from "../hold/LanesRepo.ts"
import * as LaneTotalsRepo from "./LaneTotalsRepo.ts"
import * as PredecessorsRepo from "./PredecessorsRepo.ts"
import * as RelayerTransactionsRepo from "./RelayerTransactionsRepo.ts"
import type { LaneKey } from "../../../domain/transaction/Rules.ts"
import { LedgerRules } from "../LedgerRules.ts"
import type { LaneCounts, LaneId } from "../StoredLane.ts"
import * as SumsRepo from "./SumsRepo.ts"
import * as StatisticsRepo from "./StatisticsRepo.ts"
import * as TransactionPagesRepo from "./TransactionPagesRepo.ts"
import * as TransactionsRepo from "../write/TransactionsRepo.ts"

export interface RelayerOnNetwork {
  readonly relayer: Relayer
  readonly network: Network
}

export const make = Effect.gen(function* () {
  const transactions = yield* TransactionsRepo.make
  const pages = yield* TransactionPagesRepo.make
  const relayers = yield* RelayerTransactionsRepo.make
  const fees = yield* FeesRepo.make
  const lanes = yield* LanesRepo.make
  const totals = yield* LaneTotalsRepo.make
  const predecessors = yield* PredecessorsRepo.make
  const statistics = yield* StatisticsRepo.make
  const { summedSteps } = yield* SumsRepo.make
  const { bytes } = yield* AttemptsRepo.make
  const networks = yield* LedgerRules

  const get = Effect.fn("Ledger.get")(function* (relayerNumber: number, id: TransactionId) {
    const [found] = yield* transactions.find([id])
    if (found?.transaction.relayerNumber === relayerNumber) return found
    return yield* new TransactionNotFound({})
  })

  const bySequence = Effect.fn("Ledger.bySequence")(function* (relayerNumber: number, sequence: bigint) {
    const id = yield* relayers.bySequence(relayerNumber, sequence)
    return Option.isSome(id) ? yield* get(relayerNumber, id.value) : yield* new TransactionNotFound({})
  })

  const countOpen = (relayerNumber: number) =>
    Effect.map(relayers.countOpen([relayerNumber]), (counts) => counts.get(relayerNumber) ?? 0)

  const keyOf = (of: RelayerOnNetwork) => {
    const { rules } = networks.of(of.relayer.network_type)
    const target = rules.targetOf(of)
    return target === undefined ? undefined : rules.laneOf(target)
  }

  const countChannelsOf = (of: RelayerOnNetwork) => {
    const key = keyOf(of)
    return key === undefined ? Effect.succeed(0) : relayers.countChannels(key.address, key.chain)
  }

  const laneCodeOf = (of: RelayerOnNetwork) => {
    const key = keyOf(of)
    return key === undefined
      ? Effect.succeed(undefined)
      : Effect.map(lanes.find(key), (found) => Option.getOrUndefined(found)?.code)
  }

  const feesOfLastDay = Effect.fn("Ledger.feesOfLastDay")(function* (limit: LimitKey) {
    return yield* fees.sum(limit, (yield* Clock.currentTimeMillis) - feePeriod)
  })

  const lane = <A>(key: LaneKey, read: (id: LaneId) => Effect.Effect<A>, none: A) =>
    Effect.flatMap(lanes.find(key), Option.match({ onNone: () => Effect.succeed(none), onSome: ({ id }) => read(id) }))

  const countLane = Effect.fn("Ledger.countLane")((key: LaneKey) =>
    lane<LaneCounts>(key, totals.counts, { pending: 0, inFlight: 0 })
  )

  const reserved = Effect.fn("Ledger.reserved")((key: LaneKey, height?: number) =>
    lane(key, (id) => totals.reserved(id, height), 0n)
  )

  return {
    get,
    bySequence,
    select: pages.select,
    count: pages.count,
    cancelable: relayers.cancelable,
    countOpen,
    countChannels: (address: string) => relayers.countChannels(address),
    countChannelsOf,
    laneCodeOf,
    countFinalByDay: relayers.countFinalByDay,
    lastConfirmed: relayers.lastConfirmed,
    largestShortage: relayers.largestShortage,
    bytes,
    feesOfLastDay,
    laneOf: lanes.find,
    laneById: lanes.findById,
    countLane,
    channelPlaces: totals.channelPlaces,
    reserved,
    ahead: totals.ahead,
    ...statistics,
    summedSteps,
    ...predecessors
  }
})
