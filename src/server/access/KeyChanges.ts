// The rules of creating and changing an API key: it gets nothing that its creator lacks, and loses nothing that its descendants have.
import { DateTime, Effect, Equal, Option, Redacted, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { hash, randomBytes } from "node:crypto"
import {
  allows,
  ApiKey,
  ApiKeyId,
  ApiKeyNotFound,
  CreateApiKey,
  isNarrowable,
  maxCreatedKeys,
  reservedKeyIds,
  TooManyApiKeys,
  UpdateApiKey
} from "../../domain/access/ApiKey.ts"
import type { NewApiKey } from "../../domain/access/ApiKey.ts"
import * as Caller from "../../domain/access/Caller.ts"
import { mistypedLimits } from "../../domain/chain/MistypedAddresses.ts"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import * as ExactJson from "../../domain/request/ExactJson.ts"
import {
  applyMergePatch,
  BadRequest,
  checked,
  isCurrentVersion,
  PreconditionFailed
} from "../../domain/request/Request.ts"
import type { Versioned, Violation } from "../../domain/request/Request.ts"
import { widened } from "../../networks/core/TransactionLimits.ts"
import type { TransactionLimits } from "../../networks/core/TransactionLimits.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { Changes } from "../changes/Changes.ts"
import * as ApiKeysRepo from "./ApiKeysRepo.ts"
import { makeKeyLineageRepo } from "./ApiKeysRepo.ts"
import type { KeyCreator } from "./ApiKeysRepo.ts"

// The text of API keys.

/** What follows from the text of a key alone. */
interface ReadKey {
  /** As the database has it. */
  readonly hash: Uint8Array
  readonly hex: string
  /** A key with a wrong checksum is refused without a query. */
  readonly isWellFormed: boolean
}

/** Secret scanners find keys by this prefix. */
const keyPrefix = "er_key_"

const checksum = (secret: string) => hash("sha256", keyPrefix + secret, "base64url").slice(0, 6)

/** 256 random bits and a checksum. */
export const makeKey = (): Redacted.Redacted => {
  const secret = randomBytes(32).toString("base64url")
  return Redacted.make(`${keyPrefix}${secret}${checksum(secret)}`)
}

const isWellFormed = (text: string): boolean => {
  const secret = text.slice(keyPrefix.length, -6)
  return text.startsWith(keyPrefix) && secret.length === 43 && text.endsWith(checksum(secret))
}

/**
 * Keys are long and random, so that one round of SHA-256 is enough. `hash` returns a string, because that takes a third of the
 * time of a buffer.
 */
const read = (text: string): ReadKey => {
  const hex = hash("sha256", text, "hex")
  return { hash: Buffer.from(hex, "hex"), hex, isWellFormed: isWellFormed(text) }
}

/** The number of keys that `usedKeys` has. */
const maxUsed = 1000

/** Keys that callers use, the newest last. Nothing here says that a key is valid: that is asked with each request. */
const usedKeys = new Map<string, ReadKey>()

export const readKey = (key: Redacted.Redacted): ReadKey => {
  const text = Redacted.value(key)
  return usedKeys.get(text) ?? read(text)
}

/** Called with a key that was valid just now: its next requests compute nothing of it. Other tokens are not kept. */
export const keepKey = (key: Redacted.Redacted, known: ReadKey): void => {
  const text = Redacted.value(key)
  if (usedKeys.has(text)) return
  const oldest = usedKeys.keys().next()
  if (usedKeys.size >= maxUsed && oldest.done !== true) usedKeys.delete(oldest.value)
  usedKeys.set(text, known)
}

/** Called with a key that is not valid, or not any more. */
export const forgetKey = (key: Redacted.Redacted): void => void usedKeys.delete(Redacted.value(key))

export const hashKey = (key: Redacted.Redacted): Uint8Array => readKey(key).hash

/** Whether the caller may do everything that a key with these powers may do. */
export const mayGrant = (
  caller: Caller.Caller,
  { scopes, relayer_ids }: Pick<CreateApiKey, "scopes" | "relayer_ids">
): boolean => {
  const granted = caller.scopes
  const hasScopes = granted === undefined || scopes.every((scope) => allows(granted, scope))
  const hasRelayers =
    caller.relayerIds === undefined || (relayer_ids?.every((id) => Caller.mayUseRelayer(caller, id)) ?? false)
  return hasScopes && hasRelayers
}

const tooWide = ({ scopes, relayer_ids }: Pick<CreateApiKey, "scopes" | "relayer_ids">): ReadonlyArray<Violation> =>
  relayer_ids === undefined
    ? []
    : scopes.flatMap((scope, index) =>
        isNarrowable(scope)
          ? []
          : [{ field: `scopes.${index}`, message: `a key that is limited to relayers may not hold ${scope}` }]
      )

/** Relayers that a key would name, and that do not exist: a mistyped id would make a key that can do nothing. */
const unknownRelayers = (given: ReadonlyArray<string> = [], known: ReadonlySet<string>): ReadonlyArray<Violation> =>
  given.flatMap((id, index) =>
    known.has(id)
      ? []
      : [{ field: `relayer_ids.${index}`, message: `no relayer has the id ${id}; create the relayer before its key` }]
  )

/** A key without an expiry gets the expiry of its creator. */
const expiry = (given: DateTime.Utc | undefined, creator: KeyCreator | undefined) => {
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
const limits = (given: TransactionLimits | undefined, creator: KeyCreator | undefined) => {
  const most = creator?.transaction_limits
  if (most === undefined || given === undefined) return Effect.succeed(given ?? most)
  const violations = widened(given, most)
  return violations.length === 0 ? Effect.succeed(given) : Effect.fail(BadRequest.of(violations))
}

const checkCreate = checked(CreateApiKey)

export const makeKeyCreation = Effect.gen(function* () {
  const repo = yield* ApiKeysRepo.make
  const lineage = yield* makeKeyLineageRepo
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
    // Before any key is locked: the deletion of a relayer locks the relayer first, then the keys that name it.
    const unknown = unknownRelayers(request.relayer_ids, yield* repo.holdRelayers(request.relayer_ids ?? []))
    if (unknown.length > 0) return yield* BadRequest.of(unknown)
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
    const violations = [...tooWide(request), ...mistypedLimits(request.transaction_limits)]
    if (violations.length > 0) return yield* BadRequest.of(violations)
    const caller = yield* Caller.current
    if (!mayGrant(caller, request)) return yield* new Caller.Forbidden({})
    const created = yield* store(request, caller, now)
    yield* Effect.annotateLogs(Effect.logInfo("API key created"), { key_id: created.value.id, created_by: caller.id })
    return created
  })
})

// The rules of changing an API key: it gets nothing that the caller lacks, and loses nothing that its descendants have.

const parseOptions = { errors: "all", onExcessProperty: "error" } as const

/** What a key has, as the body of its creation. All relayers of a key may have been deleted: then its list is empty. */
const Body = Schema.Struct({
  ...CreateApiKey.fields,
  relayer_ids: Schema.optionalKey(Schema.Array(RelayerId.schema))
})
const encodeRequest = Schema.encodeSync(Body)
const decodeRequest = Schema.decodeUnknownEffect(Body, parseOptions)
const encodePatch = Schema.encodeSync(UpdateApiKey)
const checkPatch = checked(UpdateApiKey)

/** The encoded form as a body has it: amounts are numbers with every digit. */
const asBody = (encoded: unknown) => ExactJson.parse(JSON.stringify(encoded))

/** What of a key can be changed. */
type Powers = Pick<ApiKey, "name" | "scopes" | "relayer_ids" | "expires_at" | "transaction_limits">

const powersOf = ({ name, scopes, relayer_ids, expires_at, transaction_limits }: Powers): Powers => ({
  name,
  scopes,
  ...(relayer_ids === undefined ? {} : { relayer_ids }),
  ...(expires_at === undefined ? {} : { expires_at }),
  ...(transaction_limits === undefined ? {} : { transaction_limits })
})

const patched = Effect.fnUntraced(function* (before: ApiKey, patch: UpdateApiKey) {
  const body = applyMergePatch(asBody(encodeRequest(powersOf(before))), asBody(encodePatch(patch)))
  const { relayer_ids, ...request } = yield* Effect.mapError(decodeRequest(body), ({ issue }) =>
    BadRequest.fromIssue(issue, "body")
  )
  return powersOf({
    ...request,
    ...(relayer_ids === undefined ? {} : { relayer_ids: relayer_ids.map((id) => RelayerId.make(id)) })
  })
})

/** How the powers of a key exceed those of a key that it descends from. */
const excess = (key: Powers, above: Omit<Powers, "name">): ReadonlyArray<Violation> => {
  const { expires_at: latest, relayer_ids, scopes, transaction_limits: most } = above
  const caller = { id: "", scopes, ...(relayer_ids === undefined ? {} : { relayerIds: relayer_ids }) }
  return [
    ...(mayGrant({ id: "", scopes }, { scopes: key.scopes }) ? [] : [{ field: "scopes", message: "" }]),
    ...(mayGrant(caller, { ...key, scopes: [] }) ? [] : [{ field: "relayer_ids", message: "" }]),
    ...beyond(key, latest, most)
  ]
}

/** How a key would outlive another one, or send more. */
const beyond = (
  { expires_at, transaction_limits }: Pick<Powers, "expires_at" | "transaction_limits">,
  latest: DateTime.Utc | undefined,
  most: ApiKey["transaction_limits"]
): ReadonlyArray<Violation> => {
  const isLater = latest !== undefined && (expires_at === undefined || DateTime.isGreaterThan(expires_at, latest))
  const until = latest === undefined ? "" : DateTime.formatIso(latest)
  const missing = { field: "transaction_limits", message: "must be within the limits of the creating key" }
  const violations =
    most === undefined ? [] : transaction_limits === undefined ? [missing] : widened(transaction_limits, most)
  return [
    ...(isLater
      ? [{ field: "expires_at", message: `must not be absent or later than ${until}, when the caller's key expires` }]
      : []),
    ...violations
  ]
}

/** What a change would take from a key, although keys that it has created still have it. */
const stranded = (before: ApiKey, after: Powers, descendants: ReadonlyArray<ApiKey>): ReadonlyArray<Violation> => {
  const ids = new Map<string, Array<string>>()
  for (const key of descendants) {
    const known = new Set(excess(key, before).map(({ field }) => field))
    for (const { field } of excess(key, after)) {
      if (known.has(field)) continue
      const list = ids.get(field) ?? []
      ids.set(field, list)
      if (!list.includes(key.id)) list.push(key.id)
    }
  }
  return [...ids].map(([field, list]) => ({
    field,
    message: `keys that it has created could do more: change or revoke them first: ${list.join(", ")}`
  }))
}

export const makeKeyEditing = Effect.gen(function* () {
  const repo = yield* ApiKeysRepo.make
  const lineage = yield* makeKeyLineageRepo
  const changes = yield* Changes
  const transaction = yield* Transaction.make

  /** Finds a key that the caller may change, and locks its row until the transaction ends. */
  const hold = Effect.fn("ApiKeys.hold")(function* (id: ApiKeyId) {
    const found = yield* repo.findForUpdate(id)
    if (Option.isNone(found)) return yield* new ApiKeyNotFound({})
    if (!mayGrant(yield* Caller.current, found.value.value)) return yield* new Caller.Forbidden({})
    return found.value
  })

  /** The API key that makes the change, locked. Undefined: the administrator or a host program. */
  const holdCaller = Effect.fnUntraced(function* (caller: Caller.Caller, id: ApiKeyId) {
    if (Caller.isAdministrator(caller)) return undefined
    const creator = Option.getOrUndefined(yield* lineage.holdCreator(caller.id))
    // It was deleted while the request was handled.
    if (creator === undefined && caller.isStored === true) return yield* new Caller.Forbidden({})
    if (caller.id === id || creator?.ancestors.includes(id) === true) {
      const message = "is the key of the caller, or one that it descends from: another key has to change it"
      return yield* BadRequest.of([{ field: "key_id", message }])
    }
    return creator
  })

  /** The API key of the caller, not locked. Undefined: the administrator or a host program. */
  const creatorOf = Effect.fnUntraced(function* (caller: Caller.Caller) {
    return Caller.isAdministrator(caller) ? undefined : Option.getOrUndefined(yield* lineage.findCreator(caller.id))
  })

  const refusals = Effect.fn("ApiKeys.refusals")(function* (id: string, powers: Omit<CreateApiKey, "id">) {
    const caller = yield* Caller.current
    const creator = yield* creatorOf(caller)
    const own = caller.id === id || creator?.ancestors.includes(id) === true
    const { scopes = powers.scopes } = caller
    const lacking = powers.scopes.filter((scope) => !mayGrant({ id: "", scopes }, { scopes: [scope] }))
    return [
      ...(own ? [{ field: "", message: "is the key of the caller, or one that it descends from" }] : []),
      ...(lacking.length === 0 ? [] : [{ field: "scopes", message: `the caller lacks ${lacking.join(", ")}` }]),
      ...tooWide(powers),
      ...beyond(powers, creator?.expires_at, creator?.transaction_limits)
    ]
  })

  /** `known`: relayers that exist. Earlier versions of the service let a key name others, and it keeps them. */
  const check = Effect.fnUntraced(function* (
    before: ApiKey,
    after: Powers,
    creator: KeyCreator | undefined,
    known: ReadonlySet<string>
  ) {
    const isPast =
      after.expires_at !== undefined &&
      !Equal.equals(after.expires_at, before.expires_at) &&
      DateTime.isLessThanOrEqualTo(after.expires_at, yield* DateTime.now)
    const violations = [
      ...(isPast ? [{ field: "expires_at", message: "must be in the future" }] : []),
      ...tooWide(after),
      ...unknownRelayers(after.relayer_ids, new Set([...known, ...(before.relayer_ids ?? [])])),
      ...beyond(after, creator?.expires_at, creator?.transaction_limits),
      ...stranded(before, after, yield* repo.descendants(before.id))
    ]
    if (violations.length > 0) return yield* BadRequest.of(violations)
  })

  const update = Effect.fn("ApiKeys.update")(function* (id: ApiKeyId, given: UpdateApiKey, ifMatch?: string) {
    const patch = yield* checkPatch(given)
    const caller = yield* Caller.current
    // Before any key is locked, as in a creation.
    const known = yield* repo.holdRelayers(patch.relayer_ids ?? [])
    const creator = yield* holdCaller(caller, id)
    const held = yield* hold(id)
    if (!isCurrentVersion(ifMatch, held.version)) return yield* new PreconditionFailed({})
    const before = held.value
    const powers = yield* patched(before, patch)
    if (Equal.equals(powersOf(before), powers)) return held
    if (!mayGrant(caller, powers)) return yield* new Caller.Forbidden({})
    // An address that was stored before this check stays until its list is changed.
    const mistyped = mistypedLimits(patch.transaction_limits)
    if (mistyped.length > 0) return yield* BadRequest.of(mistyped)
    yield* check(before, powers, creator, known)
    const { expires_at: _, name: __, relayer_ids: ___, scopes: ____, transaction_limits: _____, ...rest } = before
    const after: ApiKey = { ...rest, ...powers }
    const updated: Versioned<ApiKey> = { value: after, version: yield* repo.update(after) }
    yield* changes.record({ action: "key.updated", id, schema: ApiKey, before, after })
    yield* Effect.annotateLogs(Effect.logInfo("API key updated"), { key_id: id })
    return updated
  }, transaction)

  return { hold, refusals, update }
})
