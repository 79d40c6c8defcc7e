// API keys. A key is shown once, when it is created or rotated; the database stores only its hash.
import { Cache, Context, DateTime, Duration, Effect, Exit, FiberSet, Layer, Option, Schema } from "effect"
import type { Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import { ApiKey, ApiKeyId, ApiKeyNotFound, defaultOverlapSeconds } from "../../domain/access/ApiKey.ts"
import type {
  ApiKeyIdTaken,
  CreateApiKey,
  CurrentKey,
  NewApiKey,
  RevokedApiKeys,
  RotateApiKey,
  TooManyApiKeys,
  UpdateApiKey
} from "../../domain/access/ApiKey.ts"
import * as Caller from "../../domain/access/Caller.ts"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import { pageRequest } from "../../domain/request/Page.ts"
import type { Page, PageQuery } from "../../domain/request/Page.ts"
import type { BadRequest, PreconditionFailed, Versioned, Violation } from "../../domain/request/Request.ts"
import { TransactionLimits } from "../../networks/core/TransactionLimits.ts"
import type { Ids } from "../../sql/Rows.ts"
import * as Batcher from "../../sql/batch/Batcher.ts"
import { Changes } from "../changes/Changes.ts"
import { Strangers } from "../limits/Strangers.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { currentAddress } from "../responses/CurrentRequest.ts"
import * as ApiKeysRepo from "./ApiKeysRepo.ts"
import { makeKeyLineageRepo } from "./ApiKeysRepo.ts"
import type { FeeLimit, Holder } from "./ApiKeysRepo.ts"
import { hashKey, keepKey, makeKey, makeKeyCreation, makeKeyEditing, readKey } from "./KeyChanges.ts"

// Stores when API keys were used, in the background: a request does not wait for it and does not fail with it.

/** The use of a key from an address is stored at most this often. */
const writeInterval = Duration.minutes(1)

/** Uses in memory. Beyond it, the oldest is removed and may be stored again sooner. */
const maxUses = 10_000

const makeKeyUse = Effect.gen(function* () {
  const repo = yield* ApiKeysRepo.make
  const run = yield* FiberSet.makeRuntime<never>()
  const storedAt = new Map<string, number>()

  return (id: ApiKeyId, from: string | undefined) =>
    Effect.map(DateTime.now, (now) => {
      const use = `${id} ${from ?? ""}`
      const last = storedAt.get(use)
      // The clock may have been set back.
      if (last !== undefined && Math.abs(now.epochMilliseconds - last) < Duration.toMillis(writeInterval)) return
      const oldest = storedAt.keys().next()
      if (storedAt.size >= maxUses && oldest.done !== true) storedAt.delete(oldest.value)
      storedAt.set(use, now.epochMilliseconds)
      const options = { log: "Debug", message: "cannot store the use of an API key" } as const
      run(Effect.ignoreCause(repo.touch(id, now, from), options))
    })
})

// Finds the caller of an API key, for requests and for sessions.

const decodeLimits = Schema.decodeSync(Schema.fromJsonString(TransactionLimits))

/** The number of unknown keys in memory. A repeated unknown key causes no further query. */
const maxUnknown = 10_000

/** The number of valid keys in memory. */
const maxValid = 10_000

/** A valid key as a caller, with its name and the hashes of its valid values. */
export interface PresentKey {
  readonly caller: Caller.Caller
  readonly name: string
  readonly hashes: ReadonlyArray<Uint8Array>
}

const toCaller = ({ id, scopes, relayer_ids, transaction_limits }: Holder): Caller.Caller => ({
  id,
  scopes,
  isStored: true,
  ...(relayer_ids === null ? {} : { relayerIds: relayer_ids }),
  ...(transaction_limits === null ? {} : { transactionLimits: decodeLimits(transaction_limits) })
})

/** How long an unknown key is remembered. A database that is restored meanwhile may know it again. */
const unknownFor = Duration.minutes(1)

const makeKeyLookup = Effect.gen(function* () {
  const repo = yield* ApiKeysRepo.make
  const strangers = yield* Strangers
  const sql = yield* SqlClient.SqlClient
  const touch = yield* makeKeyUse

  const findByHash = yield* Batcher.make<string, Option.Option<Holder>>(sql, {
    all: (hashes) => Effect.flatMap(DateTime.now, (now) => repo.findByHashes(hashes, now))
  })

  const unknown = yield* Cache.makeWith((hash: string) => findByHash(hash), {
    capacity: maxUnknown,
    timeToLive: (exit) => (Exit.isSuccess(exit) && Option.isNone(exit.value) ? unknownFor : Duration.zero)
  })

  /** What the transaction of a host program reads may be rolled back, so it is not remembered. */
  const lookUp = (hash: string) =>
    Effect.flatMap(Effect.serviceOption(sql.transactionService), (running) =>
      Option.isSome(running) ? findByHash(hash) : Cache.get(unknown, hash)
    )

  /** Hashes of keys that were valid lately, the latest last. Such a key is looked up, whatever else its address sends. */
  const valid = new Set<string>()
  const remember = (hash: string) => {
    const oldest = valid.keys().next()
    if (!valid.delete(hash) && valid.size >= maxValid && oldest.done !== true) valid.delete(oldest.value)
    valid.add(hash)
  }

  const find = Effect.fnUntraced(function* (key: Redacted.Redacted, from: string | undefined) {
    const read = readKey(key)
    if (!read.isWellFormed) return Option.none()
    const hash = read.hex
    if (!valid.has(hash) && strangers.isBlocked(from)) return yield* new Caller.TooManyRequests({ retryAfter: 1 })
    const found = yield* lookUp(hash)
    if (Option.isNone(found)) return Option.none()
    remember(hash)
    keepKey(key, read)
    yield* touch(found.value.id, from)
    return Option.some(toCaller(found.value))
  })

  const present = Effect.fnUntraced(function* (id: string) {
    const found = yield* repo.findPresent(id, yield* DateTime.now)
    if (Option.isNone(found)) return Option.none()
    yield* touch(found.value.id, yield* currentAddress)
    const { name, hashes } = found.value
    return Option.some<PresentKey>({ caller: toCaller(found.value), name, hashes })
  })

  const namesOf = Effect.fnUntraced(function* (ids: ReadonlyArray<string>) {
    return yield* repo.findNames(ids, yield* DateTime.now)
  })

  return { find, present, namesOf }
})

export class ApiKeys extends Context.Service<
  ApiKeys,
  {
    /**
     * Fails with `Forbidden` if the key could do more than its creator, and with `BadRequest` if it would have expired
     * already, would expire after its creator, or is limited to relayers and holds a scope that reaches further.
     */
    create(
      request: CreateApiKey
    ): Effect.Effect<Versioned<NewApiKey>, BadRequest | Caller.Forbidden | ApiKeyIdTaken | TooManyApiKeys>
    list(query: PageQuery): Effect.Effect<Page<ApiKey>>
    /** What the caller may do: as its key says now, or less in a session that is read-only. */
    readonly current: Effect.Effect<CurrentKey>
    /** The version is that of what can be changed: a use of the key does not change it. */
    get(id: ApiKeyId): Effect.Effect<Versioned<ApiKey>, ApiKeyNotFound>
    /**
     * Changes everything but the key itself. Fails with `Forbidden` if the key could do more than the caller before or
     * afterwards, and with `BadRequest` if a field is invalid, if the key is the caller's own or one that it descends from, or
     * if a key that it has created could do more afterwards. `ifMatch` is an `If-Match` header: fails with
     * `PreconditionFailed` if it names another version.
     */
    update(
      id: ApiKeyId,
      patch: UpdateApiKey,
      ifMatch?: string
    ): Effect.Effect<Versioned<ApiKey>, ApiKeyNotFound | Caller.Forbidden | BadRequest | PreconditionFailed>
    /**
     * Revokes the key at once, with its previous version, and if `descendants` is set, all keys that descend from it. Fails
     * with `Forbidden` if the key can do more than the caller.
     */
    delete(
      id: ApiKeyId,
      options?: { readonly descendants?: boolean }
    ): Effect.Effect<RevokedApiKeys, ApiKeyNotFound | Caller.Forbidden>
    /**
     * Replaces the key by a new one with the same id, name and scopes. The previous one stays valid for the overlap. Only the
     * key itself or the administrator may do this: the caller gets the new key and could act under its name.
     */
    rotate(id: ApiKeyId, request: RotateApiKey): Effect.Effect<NewApiKey, ApiKeyNotFound | Caller.Forbidden>
    /** The keys that the key descends from, from the first one. Empty if it is no API key, or if the administrator created it. */
    ancestors(id: string): Effect.Effect<ReadonlyArray<string>>
    /** Whether `ancestor` created the key, directly or through others. Also of deleted keys. */
    descendsFrom(id: string, ancestor: string): Effect.Effect<boolean>
    /**
     * Part of the transaction that deletes the relayer: keys that name it lose it, so that they cannot use a later relayer with the
     * same id. A key that loses its last relayer can use none.
     */
    forgetRelayer(id: string): Effect.Effect<void>
    /**
     * The keys with these ids, for configurations. `lock`: their rows are locked until the running transaction ends.
     *
     * @internal
     */
    configured(ids: Ids, lock: boolean): Effect.Effect<ReadonlyArray<ApiKey>>
    /**
     * Why the caller may not have a key with this id and these powers: it would have more than the caller, or it is the
     * caller's own key or one that it descends from. Empty: it may.
     *
     * @internal
     */
    refusals(id: string, powers: Omit<CreateApiKey, "id">): Effect.Effect<ReadonlyArray<Violation>>
    /** The limits of fees per day that the key has to keep on networks of a type: its own, and those of the keys that it descends from. */
    feeLimits(id: string, type: string): Effect.Effect<ReadonlyArray<FeeLimit>>
    /**
     * The caller of a key; none if the key is unknown, deleted or expired. Stores when the key was used. Fails with
     * `TooManyRequests` if the address `from` had too many refusals and the key was not valid recently.
     */
    find(
      key: Redacted.Redacted,
      from: string | undefined
    ): Effect.Effect<Option.Option<Caller.Caller>, Caller.TooManyRequests>
    /**
     * The key with this id, for sessions; none if it is unknown, deleted or expired. `hashes` are those of its values that are valid:
     * after a rotation, also of the value before it until the overlap ends. Stores when the key was used.
     *
     * @internal
     */
    present(id: string): Effect.Effect<Option.Option<PresentKey>>
    /**
     * The names of the keys that are in force, by id. It does not count as a use of the keys.
     *
     * @internal
     */
    namesOf(ids: ReadonlyArray<string>): Effect.Effect<ReadonlyMap<string, string>>
  }
>()("effect-relayer/server/access/ApiKeys") {
  /** @internal */
  static readonly layer = Layer.effect(
    ApiKeys,
    Effect.gen(function* () {
      const repo = yield* ApiKeysRepo.make
      const { descendsFrom, feeLimits, findCreator } = yield* makeKeyLineageRepo
      const { find, present, namesOf } = yield* makeKeyLookup
      const changes = yield* Changes
      const transaction = yield* Transaction.make
      const create = yield* makeKeyCreation
      const { hold, refusals, update } = yield* makeKeyEditing

      const remove = Effect.fn("ApiKeys.delete")(function* (
        id: ApiKeyId,
        options: { readonly descendants?: boolean } = {}
      ) {
        const { value: before } = yield* hold(id)
        const descendants = yield* repo.descendants(id)
        const revoked = options.descendants === true ? [before, ...descendants] : [before]
        yield* repo.delete(revoked.map((key) => key.id))
        for (const key of revoked) {
          yield* changes.record({ action: "key.deleted", id: key.id, schema: ApiKey, before: key })
          yield* Effect.annotateLogs(Effect.logInfo("API key deleted"), { key_id: key.id })
        }
        return {
          revoked: revoked.map((key) => key.id),
          remaining: options.descendants === true ? [] : descendants.map((key) => key.id)
        }
      }, transaction)

      const rotate = Effect.fn("ApiKeys.rotate")(function* (id: ApiKeyId, request: RotateApiKey) {
        const caller = yield* Caller.current
        const { value: before } = yield* hold(id)
        if (!Caller.isAdministrator(caller) && caller.id !== id) return yield* new Caller.Forbidden({})
        const overlap = Duration.seconds(request.overlap_seconds ?? defaultOverlapSeconds)
        const previous_expires_at = DateTime.addDuration(yield* DateTime.now, overlap)
        const key = makeKey()
        yield* repo.rotate(id, hashKey(key), previous_expires_at)
        const after: ApiKey = { ...before, previous_expires_at }
        yield* changes.record({ action: "key.rotated", id, schema: ApiKey, before, after })
        yield* Effect.annotateLogs(Effect.logInfo("API key rotated"), { key_id: id })
        return { ...after, key }
      }, transaction)

      const forgetRelayer = Effect.fn("ApiKeys.forgetRelayer")(function* (relayerId: string) {
        for (const id of yield* repo.forgetRelayer(relayerId)) {
          const found = yield* repo.find(id)
          if (Option.isNone(found)) continue
          const after = found.value.value
          const before: ApiKey = { ...after, relayer_ids: [...(after.relayer_ids ?? []), RelayerId.make(relayerId)] }
          yield* changes.record({ action: "key.updated", id, schema: ApiKey, before, after })
        }
      })

      const ancestors = (id: string) =>
        Effect.map(findCreator(id), Option.match({ onNone: () => [], onSome: ({ ancestors }) => ancestors }))

      const list = Effect.fn("ApiKeys.list")((query: PageQuery) => repo.page(pageRequest(query)))

      const get = Effect.fn("ApiKeys.get")((id: ApiKeyId) =>
        Effect.flatMap(
          repo.find(id),
          Option.match({ onNone: () => Effect.fail(new ApiKeyNotFound({})), onSome: Effect.succeed })
        )
      )

      const current = Effect.gen(function* () {
        const { id, scopes = ["*"], relayerIds, transactionLimits, isStored } = yield* Caller.current
        const found = isStored === true ? yield* repo.find(ApiKeyId.make(id)) : Option.none()
        const { name, created_at, expires_at } = Option.isSome(found) ? found.value.value : {}
        return {
          id,
          scopes,
          ...(name === undefined ? {} : { name }),
          ...(relayerIds === undefined ? {} : { relayer_ids: relayerIds.map((one) => RelayerId.make(one)) }),
          ...(transactionLimits === undefined ? {} : { transaction_limits: transactionLimits }),
          ...(created_at === undefined ? {} : { created_at }),
          ...(expires_at === undefined ? {} : { expires_at })
        } satisfies CurrentKey
      }).pipe(Effect.withSpan("ApiKeys.current"))

      return ApiKeys.of({
        create,
        list,
        current,
        get,
        update,
        configured: repo.findAll,
        refusals,
        delete: remove,
        rotate,
        forgetRelayer,
        ancestors,
        descendsFrom,
        feeLimits,
        find,
        present,
        namesOf
      })
    })
  ).pipe(Layer.provide(SecureRandom.layerWebCrypto))
}
