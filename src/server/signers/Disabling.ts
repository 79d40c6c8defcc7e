// Disables a signer if its key is no longer the pinned one, and enables it when a verification succeeds.
import { DateTime, Effect, Option } from "effect"
import { Signer } from "../../domain/signer/Signer.ts"
import type { SignerDisabledReason } from "../../domain/signer/Signer.ts"
import type { SignerId } from "../../domain/signer/SignerId.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { Changes } from "../changes/Changes.ts"
import { SignerUnavailable } from "./backends/SignerBackend.ts"
import type { SignerBackend } from "./backends/SignerBackend.ts"
import { SignersRepo } from "./SignersRepo.ts"

const enabled = (signer: Signer): Signer => {
  if (!("curve" in signer)) return signer
  const { disabled_reason: _, ...rest } = signer
  return rest
}

const refusing = (backend: SignerBackend, { message }: SignerDisabledReason): SignerBackend => ({
  ...backend,
  sign: () =>
    Effect.fail(
      new SignerUnavailable({ reason: "mismatch", message: `the signer is disabled until it is verified: ${message}` })
    )
})

export const make = Effect.gen(function* () {
  const repo = yield* SignersRepo
  const changes = yield* Changes
  const transaction = yield* Transaction.make

  const disable = Effect.fn("Disabling.disable")(function* (id: SignerId, message: string) {
    const reason = { code: "key_mismatch" as const, message, at: yield* DateTime.now }
    const disabled = yield* repo.disable(id, reason)
    if (Option.isNone(disabled)) return
    yield* changes.record({
      action: "signer.disabled",
      id,
      schema: Signer,
      before: enabled(disabled.value),
      after: disabled.value
    })
    yield* Effect.annotateLogs(Effect.logError("signer disabled because its key has changed"), {
      signer_id: id,
      message
    })
  }, transaction)

  const enable = Effect.fn("Disabling.enable")(function* (id: SignerId, before: Signer) {
    const after = yield* repo.enable(id)
    if (Option.isNone(after)) return
    yield* changes.record({ action: "signer.enabled", id, schema: Signer, before, after: after.value })
    yield* Effect.annotateLogs(Effect.logInfo("signer enabled"), { signer_id: id })
  }, transaction)

  /** The key to sign with. It refuses to sign if the signer is disabled, and disables the signer if another key has signed. */
  const guard = (signer: Signer, backend: SignerBackend): SignerBackend => {
    if (!("curve" in signer)) return backend
    if (signer.disabled_reason !== undefined) return refusing(backend, signer.disabled_reason)
    return {
      ...backend,
      sign: (curve, message) =>
        Effect.tapError(backend.sign(curve, message), (failure) =>
          failure.reason === "mismatch" ? disable(signer.id, failure.message) : Effect.void
        )
    }
  }

  return { disable, enable, guard }
})
