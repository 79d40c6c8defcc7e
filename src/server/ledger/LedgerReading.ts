// What the ledger shows to callers.
import { Clock, Effect, Option } from "effect"
import { TransactionNotFound } from "../../domain/transaction/EvmTransaction.ts"
import type { TransactionId } from "../../domain/transaction/EvmTransaction.ts"
import { AttemptsRepo } from "./AttemptsRepo.ts"
import { feePeriod } from "./FeeLimits.ts"
import { FeesRepo } from "./FeesRepo.ts"
import { LaneContentsRepo } from "./LaneContentsRepo.ts"
import { LanesRepo } from "./LanesRepo.ts"
import { RelayerTransactionsRepo } from "./RelayerTransactionsRepo.ts"
import type { LaneKey } from "./StoredLane.ts"
import type { StoredTransaction } from "./StoredTransaction.ts"
import { TransactionPagesRepo } from "./TransactionPagesRepo.ts"
import { TransactionsRepo } from "./TransactionsRepo.ts"

export const make = Effect.gen(function* () {
  const transactions = yield* TransactionsRepo
  const pages = yield* TransactionPagesRepo
  const relayers = yield* RelayerTransactionsRepo
  const fees = yield* FeesRepo
  const lanes = yield* LanesRepo
  const contents = yield* LaneContentsRepo
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

  const openOf = Effect.fn("Ledger.openOf")(function* (key: LaneKey, limit: number) {
    const lane = yield* lanes.find(key)
    if (Option.isNone(lane)) return []
    const inFlight = yield* contents.inFlight(lane.value.id)
    const { states } = yield* contents.pending(lane.value.id, yield* Clock.currentTimeMillis)
    const rows = yield* transactions.find([...inFlight, ...states].slice(0, limit).map(({ id }) => id))
    const nonceOf = ({ transaction }: StoredTransaction) => transaction.nonce ?? Number.MAX_SAFE_INTEGER
    return rows.toSorted(
      (one, other) => nonceOf(one) - nonceOf(other) || one.transaction.number - other.transaction.number
    )
  })

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
    openOf
  }
})
