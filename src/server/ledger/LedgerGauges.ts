// Measures the backlog of transactions of all instances.
import { Clock, Effect, Layer, Metric } from "effect"
import { operatorCodes } from "../../domain/transaction/Code.ts"
import { measureGauge } from "../lifecycle/SharedJobs.ts"
import * as RelayerTransactionsRepo from "./read/RelayerTransactionsRepo.ts"
import type { Backlog } from "./read/RelayerTransactionsRepo.ts"

const transactionsOpen = Metric.gauge("transactions_open", {
  description:
    "Transactions of all relayers that are not final, by state: `pending` ones have no nonce, `in_flight` ones have."
})

const transactionsOldestSeconds = Metric.gauge("transactions_oldest_seconds", {
  description:
    "Age of the oldest transaction that is not final, since its acceptance or its `not_before`, in seconds, by state."
})

const transactionsWaiting = Metric.gauge("transactions_waiting_for_operator", {
  description:
    "Open transactions of all relayers that no time ends, by code: an operator has to decide or to change something."
})

export const all = [transactionsOpen, transactionsOldestSeconds, transactionsWaiting]

const show = (now: number, { state, count, since }: Backlog) =>
  Effect.andThen(
    Metric.update(Metric.withAttributes(transactionsOpen, { state }), count),
    Metric.update(
      Metric.withAttributes(transactionsOldestSeconds, { state }),
      since === undefined ? 0 : Math.max((now - since) / 1000, 0)
    )
  )

/** Runs until its scope closes. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { backlog, countCodes } = yield* RelayerTransactionsRepo.make
    const measure = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      for (const group of yield* backlog) yield* show(now, group)
      const counts = yield* countCodes(operatorCodes)
      for (const code of operatorCodes) {
        yield* Metric.update(Metric.withAttributes(transactionsWaiting, { code }), counts.get(code) ?? 0)
      }
    })
    yield* measureGauge(transactionsOpen.id, measure)
  })
)
