// The metrics of lanes that this instance holds, and the traces of their transactions.
import { Clock, Effect, Metric, Tracer } from "effect"
import { isFinal } from "../../domain/transaction/Transaction.ts"
import type { Signature, StoredTransaction } from "../ledger/LedgerEntries.ts"
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

export const metrics = [
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

// The trace of a transaction: what the driver does about it is in the trace of the request that sent it, in whichever process
// that happens. Spans are linked to the step of the lane that made them.

/** W3C Trace Context: version, trace id, span id, flags. */
const traceparent = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

/** Bit of the flags. */
const sampled = 1

/** The span of the request. Undefined: it was accepted without a trace. */
const requestOf = ({ trace }: StoredTransaction): Tracer.ExternalSpan | undefined => {
  const [, traceId, spanId, flags = "00"] = traceparent.exec(trace ?? "") ?? []
  return traceId === undefined || spanId === undefined
    ? undefined
    : Tracer.externalSpan({ traceId, spanId, sampled: (Number.parseInt(flags, 16) & sampled) !== 0 })
}

/** Runs work about a transaction in a span that is a child of its request's. */
export const inTrace =
  (name: string, stored: StoredTransaction) =>
  <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
    const parent = requestOf(stored)
    if (parent === undefined) return work
    const { place, state } = stored.transaction
    const sequence = place?.sequence === undefined ? undefined : String(place.sequence)
    const attributes = { "transaction.id": stored.id, "transaction.nonce": sequence, "transaction.state": state }
    return Effect.flatMap(Effect.option(Effect.currentSpan), (step) =>
      Effect.withSpan(work, name, {
        parent,
        attributes,
        links: step._tag === "None" ? [] : [{ span: step.value, attributes: {} }]
      })
    )
  }

/** Shows in their traces when transactions became final. */
export const traceFinal = (changed: ReadonlyArray<StoredTransaction>) =>
  Effect.forEach(
    changed.filter(({ transaction }) => isFinal(transaction)),
    (stored) => inTrace(`transaction.${stored.transaction.state}`, stored)(Effect.void),
    { discard: true }
  )
