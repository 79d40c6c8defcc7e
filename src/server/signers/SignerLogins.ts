// Replaces the logins of signers at key services. A new login is tried before it is stored.
import { Effect, Equal } from "effect"
import type { ReplaceSignerCredentials } from "../../domain/signer/CreateSigner.ts"
import { TransactionLimitExceeded } from "../../domain/transaction/TransactionLimits.ts"
import * as Caller from "../../domain/access/Caller.ts"
import { BadRequest, ServiceUnavailable } from "../../domain/request/Request.ts"
import { isRemote, Signer } from "../../domain/signer/Signer.ts"
import type { SignerId } from "../../domain/signer/Signer.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { Audit } from "../audit/Audit.ts"
import type { Prepared } from "./backends/SignerBackend.ts"
import * as Disabling from "./Disabling.ts"
import * as Probe from "./Probe.ts"
import * as SignerKeys from "./SignerKeys.ts"
import * as SignersRepo from "./SignersRepo.ts"

const isSameKey = (one: Signer, other: Signer): boolean =>
  Equal.equals({ ...SignerKeys.content(one), config: {} }, { ...SignerKeys.content(other), config: {} })

export const make = Effect.gen(function* () {
  const repo = yield* SignersRepo.make
  const keys = yield* SignerKeys.make
  const audit = yield* Audit
  const disabling = yield* Disabling.make
  const transaction = yield* Transaction.make

  /** With the new login, before it is stored. */
  const probe = Effect.fnUntraced(function* (signer: Signer, prepared: Prepared<Signer["config"]>) {
    const { steps } = yield* Probe.run(signer, keys.kindOf(signer.type).open(prepared))
    const failed = steps.find(({ status }) => status === "failed")
    if (failed === undefined) return
    return yield* BadRequest.of([{ field: "config", message: failed.message ?? `the step ${failed.step} failed` }])
  })

  /** The signer with the new login. Fails if that does not lead to its key. */
  const relogged = Effect.fnUntraced(function* (before: Signer, request: ReplaceSignerCredentials) {
    const config = keys.kindOf(request.type).ofKey?.(request.config, before.config) ?? request.config
    const prepared = yield* keys.prepare({ type: request.type, config })
    const after = yield* keys.signerWith(before, prepared)
    if (!isSameKey(after, before)) {
      return yield* BadRequest.of([{ field: "config", message: "leads to another key than that of the signer" }])
    }
    yield* probe(after, prepared)
    return { after, secret: prepared.secret }
  })

  const stage = Effect.fn("Signers.stageCredentials")(function* (id: SignerId, request: ReplaceSignerCredentials) {
    // A login decides what signs, and so what is paid.
    if ((yield* Caller.current).transactionLimits !== undefined) {
      return yield* TransactionLimitExceeded.ofChange("config")
    }
    const stored = yield* SignerKeys.required(repo.find(id))
    const before = yield* keys.verified(stored)
    if (before.type !== request.type) {
      return yield* BadRequest.of([{ field: "type", message: `must be ${before.type}, the type of the signer` }])
    }
    const { after, secret } = yield* relogged(before, request)
    const row = yield* keys.seal(after, secret)
    return Effect.gen(function* () {
      const isReplaced = yield* repo.replaceCredentials(row, stored).pipe(
        Effect.tap((isReplaced) =>
          isReplaced
            ? audit.record({ action: "signer.credentials_replaced", id, schema: Signer, before, after })
            : Effect.void
        ),
        transaction
      )
      if (!isReplaced) return yield* new ServiceUnavailable({})
      yield* Effect.annotateLogs(Effect.logInfo("signer credentials replaced"), { signer_id: id, type: after.type })
      if (isRemote(after)) yield* disabling.enable(after)
      return yield* Effect.flatMap(SignerKeys.required(repo.find(id)), keys.verified)
    })
  })

  return { stage }
})
