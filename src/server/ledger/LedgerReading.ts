// What the ledger shows to callers.
import { Clock, Effect, Option } from "effect"
import { TransactionNotFound } from "../../domain/transaction/EvmTransaction.ts"
import type { TransactionId } from "../../domain/transaction/EvmTransaction.ts"
import { AttemptsRepo } from "./AttemptsRepo.ts"
import { feePeriod } from "./FeeLimits.ts"
import { FeesRepo } from "./FeesRepo.ts"
import { LanesRepo } from "./LanesRepo.ts"
import { LaneTotalsRepo } from "./LaneTotalsRepo.ts"
import { RelayerTransactionsRepo } from "./RelayerTransactionsRepo.ts"
import type { LaneCounts, LaneId, LaneKey } from "./StoredLane.ts"
import { TransactionPagesRepo } from "./TransactionPagesRepo.ts"
import { TransactionsRepo } from "./TransactionsRepo.ts"

export const make = Effect.gen(function* () {
  const transactions = yield* TransactionsRepo
  const pages = yield* TransactionPagesRepo
  const relayers = yield* RelayerTransactionsRepo
  const fees = yield* FeesRepo
  const lanes = yield* LanesRepo
  const totals = yield* LaneTotalsRepo
  const { bytes } = yield* AttemptsRepo

  const get = Effect.fn("Ledger.get")(function* (relayerNumber: number, id: TransactionId) {
    const [found] = yield* transactions.find([id])
    if (found?.transaction.relayerNumber === relayerNumber) return found
    return yield* new TransactionNotFound({})
  })

  const byNonce = Effect.fn("Ledger.byNonce")(function* (relayerNumber: number, nonce: number) {
    const id = yield* relayers.byNonce(relayerNumber, nonce)
    return Option.isSome(id) ? yield* get(relayerNumber, id.value) : yield* new TransactionNotFound({})
  })

  const countOpen = (relayerNumber: number) =>
    Effect.map(relayers.countOpen([relayerNumber]), (counts) => counts.get(relayerNumber) ?? 0)

  const feesOfLastDay = Effect.fn("Ledger.feesOfLastDay")(function* (keyId: string) {
    return yield* fees.sum(keyId, (yield* Clock.currentTimeMillis) - feePeriod)
  })

  const lane = <A>(key: LaneKey, read: (id: LaneId) => Effect.Effect<A>, none: A) =>
    Effect.flatMap(lanes.find(key), Option.match({ onNone: () => Effect.succeed(none), onSome: ({ id }) => read(id) }))

  const countLane = Effect.fn("Ledger.countLane")((key: LaneKey) =>
    lane<LaneCounts>(key, totals.counts, { pending: 0, inFlight: 0 })
  )

  const reserved = Effect.fn("Ledger.reserved")((key: LaneKey) => lane(key, totals.reserved, 0n))

  return {
    get,
    byNonce,
    select: pages.select,
    count: pages.count,
    openIds: relayers.cancelable,
    countOpen,
    lastConfirmed: relayers.lastConfirmed,
    bytes,
    feesOfLastDay,
    laneOf: lanes.find,
    laneById: lanes.findById,
    countLane,
    reserved,
    ahead: totals.ahead
  }
})
