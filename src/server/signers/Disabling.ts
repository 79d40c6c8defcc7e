// Disables a signer if its key is no longer the pinned one, and enables it when a verification succeeds.
import { DateTime, Effect, Option } from "effect"
import { isRemote, Signer } from "../../domain/signer/Signer.ts"
import type { RemoteSigner, SignerDisabledReason } from "../../domain/signer/Signer.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { Changes } from "../changes/Changes.ts"
import { SignerUnavailable } from "./backends/SignerBackend.ts"
import type { SignerBackend } from "./backends/SignerBackend.ts"
import * as SignersRepo from "./SignersRepo.ts"

const enabled = (signer: Signer): Signer => {
  if (!isRemote(signer)) return signer
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
  const repo = yield* SignersRepo.make
  const changes = yield* Changes
  const transaction = yield* Transaction.make

  /** Does nothing if the signer has been deleted, even if another one has its id now. */
  const disable = Effect.fn("Disabling.disable")(function* (signer: RemoteSigner, message: string) {
    const { id } = signer
    const reason = { code: "key_mismatch" as const, message, at: yield* DateTime.now }
    const disabled = yield* repo.disable(signer, reason)
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

  /** `before` is the signer as it was before its verification. Does nothing if it was disabled again meanwhile. */
  const enable = Effect.fn("Disabling.enable")(function* (before: RemoteSigner) {
    const { id } = before
    const after = yield* repo.enable(before)
    if (Option.isNone(after)) return
    yield* changes.record({ action: "signer.enabled", id, schema: Signer, before, after: after.value })
    yield* Effect.annotateLogs(Effect.logInfo("signer enabled"), { signer_id: id })
  }, transaction)

  /** The key to sign with. It refuses to sign if the signer is disabled, and disables the signer if another key has signed. */
  const guard = (signer: Signer, backend: SignerBackend): SignerBackend => {
    if (!isRemote(signer)) return backend
    if (signer.disabled_reason !== undefined) return refusing(backend, signer.disabled_reason)
    return {
      ...backend,
      sign: (curve, message) =>
        Effect.tapError(backend.sign(curve, message), (failure) =>
          failure.reason === "mismatch" ? disable(signer, failure.message) : Effect.void
        )
    }
  }

  return { disable, enable, guard }
})
