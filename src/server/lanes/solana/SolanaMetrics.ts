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

const landedTotal = Metric.counter("solana_landed_total", {
  description:
    "Final transactions of solana that landed, by the id of the API key that sent them, and by result: `success` or `failed`. The relayer has paid the fee of both.",
  incremental: true
})

export const all = [attemptsPerTransaction, proofLooksTotal, landedTotal] as const

export const countAttempts = (attempts: number) => Metric.update(attemptsPerTransaction, attempts)

export const countLanded = (apiKeyId = "unknown", isSuccess: boolean) =>
  Metric.update(Metric.withAttributes(landedTotal, { key_id: apiKeyId, result: isSuccess ? "success" : "failed" }), 1)

export type ProofResult = Question | "proved" | "landed"

export const countLooks = (results: ReadonlyArray<ProofResult>) =>
  Effect.forEach(results, (result) => Metric.update(Metric.withAttributes(proofLooksTotal, { result }), 1), {
    discard: true
  })
