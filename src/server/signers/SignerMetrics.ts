// How long signatures take, and why signers fail.
import { Clock, Effect, Metric } from "effect"
import type { SignerType } from "../../domain/signer/Signer.ts"
import type { SignerBackend, SignerUnavailable } from "./backends/SignerBackend.ts"

const signerSignSeconds = Metric.histogram("signer_sign_seconds", {
  description:
    "Time of a signature with its retries, by type of the signer and outcome (`signed`, `failed`), in seconds.",
  boundaries: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
})

const signerFailuresTotal = Metric.counter("signer_failures_total", {
  description: "Signatures that failed, by type of the signer and reason.",
  incremental: true
})

export const all = [signerSignSeconds, signerFailuresTotal]

const secondsSince = (began: bigint) => Effect.map(Clock.monotonicTimeNanos, (now) => Number(now - began) / 1e9)

const measure = Effect.fnUntraced(function* (type: SignerType, outcome: "signed" | "failed", began: bigint) {
  yield* Metric.update(Metric.withAttributes(signerSignSeconds, { type, outcome }), yield* secondsSince(began))
})

const count = (type: SignerType, { reason }: SignerUnavailable) =>
  Metric.update(Metric.withAttributes(signerFailuresTotal, { type, reason }), 1)

/** Returns the same key with measured signatures. Interrupted signatures are not measured. */
export const measured = (type: SignerType, backend: SignerBackend): SignerBackend => ({
  ...backend,
  sign: (curve, message) =>
    Effect.flatMap(Clock.monotonicTimeNanos, (began) =>
      backend.sign(curve, message).pipe(
        Effect.tapError((failure) => Effect.andThen(measure(type, "failed", began), count(type, failure))),
        Effect.tap(() => measure(type, "signed", began))
      )
    )
})
