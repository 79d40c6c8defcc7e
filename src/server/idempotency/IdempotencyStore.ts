// Requests that take effect once: the answer is kept in the transaction of the request itself, so that neither is there
// without the other, whatever happens in between (ADR 0005).
import { Context, DateTime, Duration, Effect, Layer, Option, Redacted } from "effect"
import { createHash } from "node:crypto"
import { IdempotencyKeyBusy, IdempotencyKeyReused } from "../../domain/request/Idempotency.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { Secrets } from "../secrets/Secrets.ts"
import { IdempotencyRepo } from "./IdempotencyRepo.ts"

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A request, and the key that its caller gave it. */
export interface KeyedRequest {
  readonly callerId: string
  readonly key: string
  readonly method: string
  readonly url: string
  readonly body: string
}

const keptFor = Duration.hours(24)

/** Answers that have become too old, taken away with each one that is kept: more than come in. */
const forgetAtOnce = 10

const sha256 = (...parts: ReadonlyArray<string>) => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part)
  return hash.digest()
}

const place = (id: string) => ({ table: "idempotency_keys", id, column: "body" })

export class IdempotencyStore extends Context.Service<
  IdempotencyStore,
  {
    /**
     * Runs `self` unless the request has been answered within 24 hours: then, that answer. `answerOf` makes of a result
     * what is kept; undefined where nothing has taken effect, and the request may be sent again, and mended.
     */
    once<A, E, R>(
      request: KeyedRequest,
      self: Effect.Effect<A, E, R>,
      answerOf: (result: A) => Effect.Effect<Answer | undefined>
    ): Effect.Effect<
      { readonly _tag: "Fresh"; readonly result: A } | { readonly _tag: "Kept"; readonly answer: Answer },
      E | IdempotencyKeyBusy | IdempotencyKeyReused,
      R
    >
  }
>()("effect-relayer/server/idempotency/IdempotencyStore") {
  static readonly layerNoDeps = Layer.effect(
    IdempotencyStore,
    Effect.gen(function* () {
      const repo = yield* IdempotencyRepo
      const secrets = yield* Secrets
      const transaction = yield* Transaction.make

      const find = Effect.fnUntraced(function* (id: string, requestHash: Uint8Array) {
        const kept = yield* repo.find(id, DateTime.subtractDuration(yield* DateTime.now, keptFor))
        if (Option.isNone(kept)) return undefined
        const { request_hash, status, headers, body_sealed } = kept.value
        if (Buffer.compare(request_hash, requestHash) !== 0) return yield* new IdempotencyKeyReused({})
        const body = yield* Effect.orDie(secrets.open(body_sealed, place(id)))
        return { status, headers, body: Redacted.value(body) }
      })

      const keep = Effect.fnUntraced(function* (id: string, request_hash: Uint8Array, answer: Answer) {
        const now = yield* DateTime.now
        const body_sealed = yield* secrets.seal(Redacted.make(answer.body), place(id))
        yield* repo.keep(id, { request_hash, status: answer.status, headers: answer.headers, body_sealed }, now)
        yield* repo.forget(DateTime.subtractDuration(now, keptFor), forgetAtOnce)
      })

      const once: IdempotencyStore["Service"]["once"] = ({ callerId, key, method, url, body }, self, answerOf) => {
        const id = sha256(callerId, key).toString("hex")
        const requestHash = sha256(method, url, body)
        /** Again under the lock: another request may have finished since the look-up without it. */
        const locked = Effect.gen(function* () {
          if (!(yield* repo.lock(id))) return yield* new IdempotencyKeyBusy({})
          const kept = yield* find(id, requestHash)
          if (kept !== undefined) return { _tag: "Kept" as const, answer: kept }
          const result = yield* self
          const answer = yield* answerOf(result)
          if (answer !== undefined) yield* keep(id, requestHash, answer)
          return { _tag: "Fresh" as const, result }
        }).pipe(transaction)
        return Effect.gen(function* () {
          const kept = yield* find(id, requestHash)
          return kept === undefined ? yield* locked : { _tag: "Kept" as const, answer: kept }
        })
      }

      return IdempotencyStore.of({ once })
    })
  )

  static readonly layer = this.layerNoDeps.pipe(Layer.provide(IdempotencyRepo.layer))
}
