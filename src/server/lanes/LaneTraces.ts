// The trace of a transaction: what the driver does about it is in the trace of the request that sent it, in whichever process
// that happens. Spans are linked to the step of the lane that made them.
import { Effect, Tracer } from "effect"
import { isFinal } from "../../domain/transaction/Transaction.ts"
import type { StoredTransaction } from "../ledger/StoredTransaction.ts"

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
export const showFinal = (changed: ReadonlyArray<StoredTransaction>) =>
  Effect.forEach(
    changed.filter(({ transaction }) => isFinal(transaction)),
    (stored) => inTrace(`transaction.${stored.transaction.state}`, stored)(Effect.void),
    { discard: true }
  )
