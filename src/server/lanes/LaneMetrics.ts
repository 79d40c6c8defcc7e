// The metrics of lanes that this instance holds.
import { Clock, Effect, Metric } from "effect"
import type { Signature } from "../ledger/hold/HeldLane.ts"
import type { StoredTransaction } from "../ledger/StoredTransaction.ts"
import type { LaneChain } from "./LaneNetwork.ts"

const seconds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800]

const lanesHeld = Metric.gauge("lanes_held", { description: "Lanes that this instance holds." })

const total = (name: string, description: string) => Metric.counter(name, { description, incremental: true })

const duration = (name: string, description: string) => Metric.histogram(name, { description, boundaries: seconds })

const lanePollsTotal = total("lane_polls_total", "Polls of chains for open transactions, by outcome.")

const transactionSignaturesTotal = total(
  "transaction_signatures_total",
  "Committed signatures of transactions, by kind. `bump` and `noop` replace earlier ones."
)

const transactionsFinalTotal = total("transactions_final_total", "Transactions that became final, by state.")

const transactionFirstSendSeconds = duration(
  "transaction_first_send_seconds",
  "Time from the acceptance of a transaction to the end of its first broadcast, in seconds."
)

const transactionConfirmationSeconds = duration(
  "transaction_confirmation_seconds",
  "Time from the acceptance of a transaction to its confirmation, in seconds."
)

export const all = [
  lanesHeld,
  lanePollsTotal,
  transactionSignaturesTotal,
  transactionsFinalTotal,
  transactionFirstSendSeconds,
  transactionConfirmationSeconds
]

export const showHeld = (count: number) => Metric.update(lanesHeld, count)

export const countPoll = (outcome: "seen" | "unreachable" | "chain_changed") =>
  Metric.update(Metric.withAttributes(lanePollsTotal, { outcome }), 1)

export const countSignatures = (signatures: ReadonlyArray<Signature>) =>
  Effect.forEach(
    signatures,
    ({ attempt: { kind } }) => Metric.update(Metric.withAttributes(transactionSignaturesTotal, { kind }), 1),
    { discard: true }
  )

const age = (now: number, { transaction }: StoredTransaction): number => (now - transaction.createdAt) / 1000

export const measureFirstSends = Effect.fnUntraced(function* (stored: ReadonlyArray<StoredTransaction>) {
  const now = yield* Clock.currentTimeMillis
  for (const one of stored) yield* Metric.update(transactionFirstSendSeconds, age(now, one))
})

const countOne = Effect.fnUntraced(function* (chain: LaneChain, now: number, stored: StoredTransaction) {
  const { state, origin } = stored.transaction
  if (state !== "confirmed" && state !== "failed" && state !== "canceled" && state !== "expired") return
  if (origin === "request") yield* Metric.update(Metric.withAttributes(transactionsFinalTotal, { state }), 1)
  if (state === "confirmed") yield* Metric.update(transactionConfirmationSeconds, age(now, stored))
  yield* chain.noteFinal(stored.transaction, stored.apiKeyId)
})

/** `chain`: counts what only its network has. */
export const countFinal = Effect.fnUntraced(function* (chain: LaneChain, changed: ReadonlyArray<StoredTransaction>) {
  const now = yield* Clock.currentTimeMillis
  for (const stored of changed) yield* countOne(chain, now, stored)
})
