// API keys: made and rotated here, shown once, and known afterwards by their hash alone.
import { Context, DateTime, Duration, Effect, FiberSet, Layer, Option } from "effect"
import type { Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { Hex } from "effect/encoding"
import { SqlClient } from "effect/sql"
import { ApiKey, ApiKeyId, ApiKeyNotFound, defaultOverlapSeconds } from "../../domain/access/ApiKey.ts"
import type { CreateApiKey, NewApiKey, RotateApiKey } from "../../domain/access/ApiKey.ts"
import * as Caller from "../../domain/access/Caller.ts"
import { pageRequest } from "../../domain/request/Page.ts"
import type { Page, PageQuery } from "../../domain/request/Page.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import { allows } from "../../domain/access/Scope.ts"
import * as Batcher from "../../sql/batch/Batcher.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { Changes } from "../changes/Changes.ts"
import { ApiKeysRepo } from "./ApiKeysRepo.ts"
import type { Holder } from "./ApiKeysRepo.ts"
import { hashKey, isWellFormed, makeKey } from "./Key.ts"

/** `last_used_at` is written at most this often. */
const touchEvery = Duration.minutes(1)

/** Uses that are remembered, so as not to write each: beyond it, the oldest is forgotten. */
const maxRemembered = 10_000

/** Whether `caller` may do all that a key with these powers may: nobody gives, or takes over, more than they have. */
const covers = (caller: Caller.Caller, { scopes, relayer_ids }: Pick<ApiKey, "scopes" | "relayer_ids">): boolean => {
  const granted = caller.scopes
  const hasScopes = granted === undefined || scopes.every((scope) => allows(granted, scope))
  const hasRelayers =
    caller.relayerIds === undefined || (relayer_ids?.every((id) => Caller.mayUseRelayer(caller, id)) ?? false)
  return hasScopes && hasRelayers
}

export class ApiKeys extends Context.Service<
  ApiKeys,
  {
    /** `Forbidden` where the key could do more than its maker; `BadRequest` where it would have expired already. */
    create(request: CreateApiKey): Effect.Effect<NewApiKey, BadRequest | Caller.Forbidden>
    list(query: PageQuery): Effect.Effect<Page<ApiKey>>
    get(id: ApiKeyId): Effect.Effect<ApiKey, ApiKeyNotFound>
    /** Ends at once, with the key before it. `Forbidden` where it can do more than the caller. */
    delete(id: ApiKeyId): Effect.Effect<void, ApiKeyNotFound | Caller.Forbidden>
    /** A new key with the same id, name and scopes; the one before lives on for the overlap, the one before that ends. */
    rotate(id: ApiKeyId, request: RotateApiKey): Effect.Effect<NewApiKey, ApiKeyNotFound | Caller.Forbidden>
    /** Who holds a key. None where it is unknown, revoked or expired. Remembers the use. */
    find(key: Redacted.Redacted, from: string | undefined): Effect.Effect<Option.Option<Caller.Caller>>
  }
>()("effect-relayer/server/access/ApiKeys") {
  static readonly layerNoDeps = Layer.effect(
    ApiKeys,
    Effect.gen(function* () {
      const repo = yield* ApiKeysRepo
      const changes = yield* Changes
      const sql = yield* SqlClient.SqlClient
      const random = yield* SecureRandom.SecureRandom
      const transaction = yield* Transaction.make
      const run = yield* FiberSet.makeRuntime<never>()

      const create = Effect.fn("ApiKeys.create")(function* (request: CreateApiKey) {
        const now = yield* DateTime.now
        if (request.expires_at !== undefined && DateTime.isLessThanOrEqualTo(request.expires_at, now)) {
          return yield* BadRequest.of([{ field: "expires_at", message: "must be in the future" }])
        }
        if (!covers(yield* Caller.current, request)) return yield* new Caller.Forbidden({})
        const key = makeKey()
        const shown: ApiKey = { id: ApiKeyId.make(yield* random.uuidV4()), ...request, created_at: now }
        yield* transaction(
          Effect.andThen(
            repo.insert(shown, hashKey(key)),
            changes.record({ action: "key.created", id: shown.id, schema: ApiKey, after: shown })
          )
        )
        yield* Effect.annotateLogs(Effect.logInfo("API key created"), { key_id: shown.id })
        return { ...shown, key }
      })

      /** A key that the caller may change, held until the transaction ends. */
      const hold = Effect.fn("ApiKeys.hold")(function* (id: ApiKeyId) {
        const found = yield* repo.findForUpdate(id)
        if (Option.isNone(found)) return yield* new ApiKeyNotFound({})
        if (!covers(yield* Caller.current, found.value)) return yield* new Caller.Forbidden({})
        return found.value
      })

      const remove = Effect.fn("ApiKeys.delete")(function* (id: ApiKeyId) {
        const before = yield* hold(id)
        yield* repo.delete(id)
        yield* changes.record({ action: "key.deleted", id, schema: ApiKey, before })
        yield* Effect.annotateLogs(Effect.logInfo("API key deleted"), { key_id: id })
      }, transaction)

      const rotate = Effect.fn("ApiKeys.rotate")(function* (id: ApiKeyId, request: RotateApiKey) {
        const before = yield* hold(id)
        const overlap = Duration.seconds(request.overlap_seconds ?? defaultOverlapSeconds)
        const previous_expires_at = DateTime.addDuration(yield* DateTime.now, overlap)
        const key = makeKey()
        yield* repo.rotate(id, hashKey(key), previous_expires_at)
        const after: ApiKey = { ...before, previous_expires_at }
        yield* changes.record({ action: "key.rotated", id, schema: ApiKey, before, after })
        yield* Effect.annotateLogs(Effect.logInfo("API key rotated"), { key_id: id })
        return { ...after, key }
      }, transaction)

      const list = Effect.fn("ApiKeys.list")((query: PageQuery) => repo.page(pageRequest(query)))

      const get = Effect.fn("ApiKeys.get")((id: ApiKeyId) =>
        Effect.flatMap(
          repo.find(id),
          Option.match({ onNone: () => Effect.fail(new ApiKeyNotFound({})), onSome: Effect.succeed })
        )
      )

      const touched = new Map<string, number>()

      /** In the background: a request does not wait for it, and does not fail with it. */
      const touch = (id: ApiKeyId, from: string | undefined) =>
        Effect.flatMap(DateTime.now, (now) => {
          const use = `${id} ${from ?? ""}`
          const last = touched.get(use)
          if (last !== undefined && Math.abs(now.epochMilliseconds - last) < Duration.toMillis(touchEvery))
            return Effect.void
          const oldest = touched.keys().next()
          if (touched.size >= maxRemembered && oldest.done !== true) touched.delete(oldest.value)
          touched.set(use, now.epochMilliseconds)
          return Effect.sync(() => run(Effect.ignoreCause(repo.touch(id, now, from))))
        })

      const findByHash = yield* Batcher.make<string, Option.Option<Holder>>(sql, {
        all: (hashes) => Effect.flatMap(DateTime.now, (now) => repo.findByHashes(hashes, now))
      })

      const find = Effect.fnUntraced(function* (key: Redacted.Redacted, from: string | undefined) {
        if (!isWellFormed(key)) return Option.none()
        const found = yield* findByHash(Hex.encode(hashKey(key)))
        if (Option.isNone(found)) return Option.none()
        const { id, scopes, relayer_ids } = found.value
        yield* touch(id, from)
        return Option.some<Caller.Caller>({ id, scopes, ...(relayer_ids === null ? {} : { relayerIds: relayer_ids }) })
      })

      return ApiKeys.of({ create, list, get, delete: remove, rotate, find })
    })
  )

  static readonly layer = this.layerNoDeps.pipe(Layer.provide([ApiKeysRepo.layer, SecureRandom.layerWebCrypto]))
}
