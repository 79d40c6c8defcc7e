// Requests that take effect once. The response of a request is stored in the transaction of its effect, so that a crash
// leaves both or neither (ADR 0005).
import { Context, DateTime, Duration, Effect, Exit, Layer, Option, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { createHash, createHmac } from "node:crypto"
import { IdempotencyKeyBusy, IdempotencyKeyReused } from "../../domain/request/Idempotency.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { Secrets } from "../secrets/Secrets.ts"
import { ServiceSecrets } from "../secrets/ServiceSecrets.ts"
import * as IdempotencyRepo from "./IdempotencyRepo.ts"
import type { Run } from "./IdempotencyRepo.ts"

export interface StoredResponse {
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

type Outcome<A> =
  | { readonly _tag: "Fresh"; readonly result: A }
  | { readonly _tag: "Stored"; readonly response: StoredResponse }

const keptFor = Duration.hours(24)

/**
 * Seconds for which a request that works outside of the database claims its key: longer than that work takes. If the
 * service dies, the key is free after them.
 */
const leaseSeconds = 90

/** Rows of one statement of `prune`. */
export const pruneBatch = 1000

/** Unambiguous: no two lists of texts have the same one. */
const joined = (...parts: ReadonlyArray<string>) => parts.map((part) => `${Buffer.byteLength(part)}:${part}`).join("")

const sha256 = (text: string) => createHash("sha256").update(text).digest()

/** With a secret of the service, so that the stored hash does not confirm a guess of the request. */
const hmac = (secret: string, text: string) => createHmac("sha256", secret).update(text).digest()

const place = (id: string) => ({ table: "idempotency_keys", id, column: "body" })

const orBusy = (self: Effect.Effect<boolean>) =>
  Effect.filterOrFail(
    self,
    (isOurs) => isOurs,
    () => new IdempotencyKeyBusy({})
  )

export class IdempotencyStore extends Context.Service<
  IdempotencyStore,
  {
    /**
     * Runs `self` in a transaction, unless the same request has a stored response. `responseOf` returns what to store of a
     * result; undefined if the request has no effect and may be sent again. When `self` works outside of the database
     * (`OutboundWork`), its key is claimed first, and what follows runs in a second transaction.
     */
    once<A, E, R>(
      request: KeyedRequest,
      self: Effect.Effect<A, E, R>,
      responseOf: (result: A) => Effect.Effect<StoredResponse | undefined>
    ): Effect.Effect<Outcome<A>, E | IdempotencyKeyBusy | IdempotencyKeyReused, R>
    /** Deletes at most `pruneBatch` stored responses that are older than 24 hours. Returns how many. */
    readonly prune: Effect.Effect<number>
  }
>()("effect-relayer/server/idempotency/IdempotencyStore") {
  static readonly layer = Layer.effect(
    IdempotencyStore,
    Effect.gen(function* () {
      const repo = yield* IdempotencyRepo.make
      const secrets = yield* Secrets
      const secret = (yield* ServiceSecrets).get("idempotency")
      const random = yield* SecureRandom.SecureRandom
      const transaction = yield* Transaction.makePausable

      const validSince = (at: DateTime.Utc) => DateTime.subtractDuration(at, keptFor)

      const makeRun = Effect.fnUntraced(function* ({ callerId, key, method, url, body }: KeyedRequest) {
        const at = yield* DateTime.now
        const run: Run = {
          id: sha256(joined(callerId, key)).toString("hex"),
          requestHash: hmac(yield* secret, joined(method, url, body)),
          claim: yield* random.uuidV4(),
          at,
          validSince: validSince(at)
        }
        return run
      })

      const find = Effect.fnUntraced(function* ({ id, requestHash, validSince }: Run) {
        const found = yield* repo.find(id, validSince)
        if (Option.isNone(found)) return undefined
        const row = found.value
        const isSame = Buffer.compare(row.request_hash, requestHash) === 0
        if (!isSame) return yield* new IdempotencyKeyReused({})
        if (row.is_running) return yield* new IdempotencyKeyBusy({})
        const { status, headers, body_sealed } = row
        const body = yield* Effect.orDie(secrets.open(body_sealed, place(id)))
        return { _tag: "Stored" as const, response: { status, headers, body: Redacted.value(body) } }
      })

      const store = Effect.fnUntraced(function* (run: Run, { status, headers, body }: StoredResponse) {
        const body_sealed = yield* secrets.seal(Redacted.make(body), place(run.id))
        yield* orBusy(repo.finish(run, { status, headers, body_sealed }))
      })

      const once: IdempotencyStore["Service"]["once"] = Effect.fnUntraced(function* (request, self, responseOf) {
        const run = yield* makeRun(request)
        // Without the lock, so that concurrent repetitions of a finished request all get its response.
        const found = yield* find(run)
        if (found !== undefined) return found

        let isClaimed = false
        const claim = Effect.andThen(
          Effect.orDie(orBusy(repo.claim(run, leaseSeconds))),
          Effect.sync(() => (isClaimed = true))
        )
        const release = Effect.suspend(() => (isClaimed ? Effect.ignoreCause(repo.release(run)) : Effect.void))

        return yield* Effect.gen(function* () {
          yield* orBusy(repo.lock(run.id))
          // Again: the transaction that had the lock may have finished since.
          const found = yield* find(run)
          if (found !== undefined) return found
          const result = yield* self
          const response = yield* responseOf(result)
          if (response === undefined) yield* release
          else yield* store(run, response)
          return { _tag: "Fresh" as const, result }
        }).pipe(
          (effect) => transaction(effect, Effect.asVoid(claim)),
          Effect.onExit((exit) => (Exit.isSuccess(exit) ? Effect.void : release))
        )
      })

      const prune = Effect.gen(function* () {
        const before = validSince(yield* DateTime.now)
        return yield* repo.prune(before, pruneBatch)
      })

      return IdempotencyStore.of({ once, prune })
    })
  ).pipe(Layer.provide([ServiceSecrets.layer, SecureRandom.layerWebCrypto]))
}
