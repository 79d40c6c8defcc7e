// The rules of creating an API key: it can do nothing that its creator cannot do, and does not outlive its creator.
import { DateTime, Effect, Option } from "effect"
import { SecureRandom } from "effect/crypto"
import { widened } from "../../domain/transaction/TransactionLimits.ts"
import type { TransactionLimits } from "../../domain/transaction/TransactionLimits.ts"
import {
  allows,
  ApiKey,
  ApiKeyId,
  CreateApiKey,
  isNarrowable,
  maxCreatedKeys,
  reservedKeyIds,
  TooManyApiKeys
} from "../../domain/access/ApiKey.ts"
import type { NewApiKey } from "../../domain/access/ApiKey.ts"
import * as Caller from "../../domain/access/Caller.ts"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import { BadRequest, checked } from "../../domain/request/Request.ts"
import type { Versioned, Violation } from "../../domain/request/Request.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { Changes } from "../changes/Changes.ts"
import * as ApiKeysRepo from "./ApiKeysRepo.ts"
import * as KeyLineageRepo from "./KeyLineageRepo.ts"
import type { Creator } from "./KeyLineageRepo.ts"
import { hashKey, makeKey } from "./Key.ts"

/** Whether the caller may do everything that a key with these powers may do. */
export const covers = (
  caller: Caller.Caller,
  { scopes, relayer_ids }: Pick<CreateApiKey, "scopes" | "relayer_ids">
): boolean => {
  const granted = caller.scopes
  const hasScopes = granted === undefined || scopes.every((scope) => allows(granted, scope))
  const hasRelayers =
    caller.relayerIds === undefined || (relayer_ids?.every((id) => Caller.mayUseRelayer(caller, id)) ?? false)
  return hasScopes && hasRelayers
}

export const tooWide = ({
  scopes,
  relayer_ids
}: Pick<CreateApiKey, "scopes" | "relayer_ids">): ReadonlyArray<Violation> =>
  relayer_ids === undefined
    ? []
    : scopes.flatMap((scope, index) =>
        isNarrowable(scope)
          ? []
          : [{ field: `scopes.${index}`, message: `a key that is limited to relayers may not hold ${scope}` }]
      )

/** A key without an expiry gets the expiry of its creator. */
const expiry = (given: DateTime.Utc | undefined, creator: Creator | undefined) => {
  const latest = creator?.expires_at
  if (given === undefined || latest === undefined) return Effect.succeed(given ?? latest)
  return DateTime.isGreaterThan(given, latest)
    ? Effect.fail(
        BadRequest.of([
          {
            field: "expires_at",
            message: `must not be later than ${DateTime.formatIso(latest)}, when the creating key expires`
          }
        ])
      )
    : Effect.succeed(given)
}

/** A key without limits of its own gets those of its creator. */
const limits = (given: TransactionLimits | undefined, creator: Creator | undefined) => {
  const most = creator?.transaction_limits
  if (most === undefined || given === undefined) return Effect.succeed(given ?? most)
  const violations = widened(given, most)
  return violations.length === 0 ? Effect.succeed(given) : Effect.fail(BadRequest.of(violations))
}

const checkCreate = checked(CreateApiKey)

export const make = Effect.gen(function* () {
  const repo = yield* ApiKeysRepo.make
  const lineage = yield* KeyLineageRepo.make
  const changes = yield* Changes
  const random = yield* SecureRandom.SecureRandom
  const transaction = yield* Transaction.make

  /**
   * The API key that creates another one, locked, so that keys are counted one request at a time. All descendants of one key
   * count together: otherwise each key that a key has created could create as many.
   */
  const holdCreator = Effect.fnUntraced(function* (caller: Caller.Caller) {
    if (Caller.isAdministrator(caller)) return undefined
    const creator = Option.getOrUndefined(yield* lineage.holdCreator(caller.id))
    // It was deleted while the request was handled: a key without a creator would have neither its expiry nor its limits.
    if (creator === undefined && caller.isStored === true) return yield* new Caller.Forbidden({})
    if (creator === undefined || creator.created < maxCreatedKeys) return creator
    return yield* new TooManyApiKeys({
      error: `an API key may have ${maxCreatedKeys} keys that it has created, directly or through others: revoke one first`
    })
  })

  const store = Effect.fnUntraced(function* (request: CreateApiKey, caller: Caller.Caller, now: DateTime.Utc) {
    const creator = yield* holdCreator(caller)
    const expires_at = yield* expiry(request.expires_at, creator)
    const transaction_limits = yield* limits(request.transaction_limits, creator)
    const key = makeKey()
    const { id, expires_at: _, relayer_ids, transaction_limits: __, ...rest } = request
    const shown: ApiKey = {
      id: ApiKeyId.make(id ?? (yield* random.uuidV4())),
      ...rest,
      created_at: now,
      created_by: caller.id,
      ...(relayer_ids === undefined ? {} : { relayer_ids: relayer_ids.map((id) => RelayerId.make(id)) }),
      ...(expires_at === undefined ? {} : { expires_at }),
      ...(transaction_limits === undefined ? {} : { transaction_limits })
    }
    const ancestors = creator === undefined ? [] : [...creator.ancestors, caller.id]
    const version = yield* repo.insert(shown, hashKey(key), ancestors)
    yield* changes.record({ action: "key.created", id: shown.id, schema: ApiKey, after: shown })
    const created: Versioned<NewApiKey> = { value: { ...shown, key }, version }
    return created
  }, transaction)

  return Effect.fn("ApiKeys.create")(function* (given: CreateApiKey) {
    const request = yield* checkCreate(given)
    const now = yield* DateTime.now
    if (request.expires_at !== undefined && DateTime.isLessThanOrEqualTo(request.expires_at, now)) {
      return yield* BadRequest.of([{ field: "expires_at", message: "must be in the future" }])
    }
    if (request.id !== undefined && reservedKeyIds.has(request.id)) {
      return yield* BadRequest.of([{ field: "id", message: "is the id of a caller that is no API key" }])
    }
    const violations = tooWide(request)
    if (violations.length > 0) return yield* BadRequest.of(violations)
    const caller = yield* Caller.current
    if (!covers(caller, request)) return yield* new Caller.Forbidden({})
    const created = yield* store(request, caller, now)
    yield* Effect.annotateLogs(Effect.logInfo("API key created"), { key_id: created.value.id, created_by: caller.id })
    return created
  })
})
