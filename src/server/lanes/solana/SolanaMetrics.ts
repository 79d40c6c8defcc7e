// The metrics that only lanes of solana have.
import { Effect, Metric } from "effect"
import type { Question } from "../../../domain/transaction/solana/Look.ts"

const attemptsPerTransaction = Metric.histogram("solana_attempts_per_transaction", {
  description: "Signed versions that a final transaction of solana had.",
  boundaries: [0, 1, 2, 3, 5, 10, 20]
})

const proofLooksTotal = Metric.counter("solana_proof_looks_total", {
  description:
    "Looks of providers for a proof that bytes are dead, by result: `proved`, `landed`, or the first question that the provider left open.",
  incremental: true
})

export const all = [attemptsPerTransaction, proofLooksTotal] as const

export const countAttempts = (attempts: number) => Metric.update(attemptsPerTransaction, attempts)

export type ProofResult = Question | "proved" | "landed"

export const countLooks = (results: ReadonlyArray<ProofResult>) =>
  Effect.forEach(results, (result) => Metric.update(Metric.withAttributes(proofLooksTotal, { result }), 1), {
    discard: true
  })
