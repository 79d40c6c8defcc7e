// The rules of changing an API key: it gets nothing that the caller lacks, and loses nothing that its descendants have.
import { DateTime, Effect, Equal, Option, Schema } from "effect"
import { widened } from "../../domain/transaction/TransactionLimits.ts"
import { ApiKey, ApiKeyNotFound, CreateApiKey, UpdateApiKey } from "../../domain/access/ApiKey.ts"
import type { ApiKeyId } from "../../domain/access/ApiKey.ts"
import * as Caller from "../../domain/access/Caller.ts"
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
import * as Transaction from "../../sql/Transaction.ts"
import { Changes } from "../changes/Changes.ts"
import * as ApiKeysRepo from "./ApiKeysRepo.ts"
import * as KeyLineageRepo from "./KeyLineageRepo.ts"
import type { Creator } from "./KeyLineageRepo.ts"
import * as KeyCreation from "./KeyCreation.ts"

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
    ...(KeyCreation.covers({ id: "", scopes }, { scopes: key.scopes }) ? [] : [{ field: "scopes", message: "" }]),
    ...(KeyCreation.covers(caller, { ...key, scopes: [] }) ? [] : [{ field: "relayer_ids", message: "" }]),
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

export const make = Effect.gen(function* () {
  const repo = yield* ApiKeysRepo.make
  const lineage = yield* KeyLineageRepo.make
  const changes = yield* Changes
  const transaction = yield* Transaction.make

  /** Finds a key that the caller may change, and locks its row until the transaction ends. */
  const hold = Effect.fn("ApiKeys.hold")(function* (id: ApiKeyId) {
    const found = yield* repo.findForUpdate(id)
    if (Option.isNone(found)) return yield* new ApiKeyNotFound({})
    if (!KeyCreation.covers(yield* Caller.current, found.value.value)) return yield* new Caller.Forbidden({})
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
    const lacking = powers.scopes.filter((scope) => !KeyCreation.covers({ id: "", scopes }, { scopes: [scope] }))
    return [
      ...(own ? [{ field: "", message: "is the key of the caller, or one that it descends from" }] : []),
      ...(lacking.length === 0 ? [] : [{ field: "scopes", message: `the caller lacks ${lacking.join(", ")}` }]),
      ...KeyCreation.tooWide(powers),
      ...beyond(powers, creator?.expires_at, creator?.transaction_limits)
    ]
  })

  const check = Effect.fnUntraced(function* (before: ApiKey, after: Powers, creator: Creator | undefined) {
    const isPast =
      after.expires_at !== undefined &&
      !Equal.equals(after.expires_at, before.expires_at) &&
      DateTime.isLessThanOrEqualTo(after.expires_at, yield* DateTime.now)
    const violations = [
      ...(isPast ? [{ field: "expires_at", message: "must be in the future" }] : []),
      ...KeyCreation.tooWide(after),
      ...beyond(after, creator?.expires_at, creator?.transaction_limits),
      ...stranded(before, after, yield* repo.descendants(before.id))
    ]
    if (violations.length > 0) return yield* BadRequest.of(violations)
  })

  /** `powersAfter` is what the key is to have, given what it has. */
  const change = Effect.fnUntraced(function* <E>(
    id: ApiKeyId,
    powersAfter: (before: ApiKey) => Effect.Effect<Powers, E>,
    ifMatch?: string
  ) {
    const caller = yield* Caller.current
    const creator = yield* holdCaller(caller, id)
    const held = yield* hold(id)
    if (!isCurrentVersion(ifMatch, held.version)) return yield* new PreconditionFailed({})
    const before = held.value
    const powers = yield* powersAfter(before)
    if (Equal.equals(powersOf(before), powers)) return held
    if (!KeyCreation.covers(caller, powers)) return yield* new Caller.Forbidden({})
    yield* check(before, powers, creator)
    const { expires_at: _, name: __, relayer_ids: ___, scopes: ____, transaction_limits: _____, ...rest } = before
    const after: ApiKey = { ...rest, ...powers }
    const updated: Versioned<ApiKey> = { value: after, version: yield* repo.update(after) }
    yield* changes.record({ action: "key.updated", id, schema: ApiKey, before, after })
    yield* Effect.annotateLogs(Effect.logInfo("API key updated"), { key_id: id })
    return updated
  })

  const update = Effect.fn("ApiKeys.update")(function* (id: ApiKeyId, given: UpdateApiKey, ifMatch?: string) {
    const patch = yield* checkPatch(given)
    return yield* change(id, (before) => patched(before, patch), ifMatch)
  }, transaction)

  const define = Effect.fn("ApiKeys.define")(function* (id: ApiKeyId, request: CreateApiKey) {
    const { relayer_ids, ...rest } = request
    const named = relayer_ids === undefined ? {} : { relayer_ids: relayer_ids.map((id) => RelayerId.make(id)) }
    return yield* change(id, () => Effect.succeed(powersOf({ ...rest, ...named })))
  }, transaction)

  return { hold, refusals, update, define }
})
