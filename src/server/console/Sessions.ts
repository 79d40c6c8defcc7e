// Sessions of the console. They are in the database, so that every instance knows them, and that each ends everywhere at once.
import { Clock, Context, DateTime, Duration, Effect, Layer, Option, Redacted, Schema } from "effect"
import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import { consoleKeyId } from "../../domain/access/ApiKey.ts"
import * as Caller from "../../domain/access/Caller.ts"
import {
  callerOfSession,
  defaultSessionLifetimes,
  grantsOfSession,
  isLiveSession,
  maxSessionsPerKey,
  Session,
  SessionNotFound
} from "../../domain/access/Caller.ts"
import type {
  CreateSession,
  CurrentSession,
  ListedSession,
  SessionId,
  SessionLifetimes
} from "../../domain/access/Caller.ts"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import * as Rows from "../../sql/Rows.ts"
import { ApiKeys } from "../access/ApiKeys.ts"
import { makeCountedRecords } from "../access/KeyAuthentication.ts"
import { hashKey, mayGrant } from "../access/KeyChanges.ts"
import { Audit, encodeChange } from "../audit/Audit.ts"
import { Authentication } from "../authentication/Authentication.ts"
import { makeAddressLimit, Strangers } from "../limits/Strangers.ts"
import type { AddressLimitOptions } from "../limits/Strangers.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { client, query } from "../../sql/Transaction.ts"
import { currentOrigin } from "../responses/CurrentRequest.ts"
import type { Origin } from "../responses/CurrentRequest.ts"

// The two halves of a session: the browser keeps one as a cookie, and the page sends the other as `X-Console`. The database has
// hashes of them. Either half alone is worth nothing.

interface Halves {
  readonly cookie: string
  readonly proof: string
}

const newHalf = () => randomBytes(32).toString("base64url")

const makeHalves = (): Halves => ({ cookie: newHalf(), proof: newHalf() })

/** 32 bytes as base64url. */
const half = /^[A-Za-z0-9_-]{43}$/

const sha256 = (...parts: ReadonlyArray<string | Uint8Array>): Buffer => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part)
  return hash.digest()
}

/** Digits of the hash in an id: 128 bits. */
const idDigits = 32

/** The id of the session of a cookie. `undefined` if the value is no cookie of a session. */
export const sessionIdOf = (cookie: string): SessionId | undefined =>
  half.test(cookie) ? sha256("session id", cookie).toString("hex").slice(0, idDigits) : undefined

export const isProof = (text: string | undefined): text is string => text !== undefined && half.test(text)

const hashOfProof = (proof: string): Uint8Array => sha256("proof", proof)

/** Binds a session to its cookie and to the value of its key: a session does not outlive that value, and no row can be made up from another one. */
const bindingOf = (keyHash: Uint8Array, cookie: string): Uint8Array => sha256("binding", keyHash, cookie)

const isEqualHash = (stored: Uint8Array, expected: Uint8Array): boolean =>
  stored.length === expected.length && timingSafeEqual(stored, expected)

/** Both halves as the token of a request, and whether a person caused the request. Only the console's mount makes tokens. */
export interface PresentedHalves extends Halves {
  readonly isByPerson: boolean
}

const tokenPrefix = "console"

export const toToken = ({ cookie, proof, isByPerson }: PresentedHalves): string =>
  [tokenPrefix, isByPerson ? "person" : "page", cookie, proof].join(".")

export const fromToken = (token: Redacted.Redacted): PresentedHalves | undefined => {
  const [first, by, cookie = "", proof = "", ...rest] = Redacted.value(token).split(".")
  const isWhole = first === tokenPrefix && rest.length === 0 && half.test(cookie) && half.test(proof)
  return isWhole ? { cookie, proof, isByPerson: by === "person" } : undefined
}

// The table `console_sessions`.

const { idle_ends_at: _, ...sessionColumns } = Session.fields

const SessionRow = Rows.withoutNulls(
  Schema.Struct({ ...sessionColumns, proof_hash: Schema.Uint8Array, binding: Schema.Uint8Array })
)

/** A session with the hashes that its halves have to match. */
interface StoredSession {
  readonly session: Session
  readonly proofHash: Uint8Array
  readonly binding: Uint8Array
}

const readRow = Rows.first(SessionRow)
const readRows = Rows.all(SessionRow)

const makeSessionsRepo = (lifetimes: SessionLifetimes) =>
  Effect.gen(function* () {
    const sql = yield* client
    const at = (column: string) => sql`to_json(${sql(column)}) #>> '{}' AS ${sql(column)}`
    const shown = sql`id, key_id, read_only, ${at("created_at")}, ${at("last_used_at")}, ${at("expires_at")},
      address AS "from", browser, proof_hash, binding`

    const stored = ({ proof_hash: proofHash, binding, ...session }: typeof SessionRow.Type): StoredSession => {
      const idleEnd = DateTime.addDuration(session.last_used_at, lifetimes.idle)
      return { session: { ...session, idle_ends_at: DateTime.min(idleEnd, session.expires_at) }, proofHash, binding }
    }

    const insert = ({ session, proofHash, binding }: StoredSession) =>
      sql`INSERT INTO console_sessions ${sql.insert({
        id: session.id,
        proof_hash: proofHash,
        binding,
        key_id: session.key_id,
        read_only: session.read_only,
        created_at: DateTime.toDate(session.created_at),
        last_used_at: DateTime.toDate(session.last_used_at),
        expires_at: DateTime.toDate(session.expires_at),
        address: session.from ?? null,
        browser: session.browser ?? null
      })}`.pipe(Effect.asVoid, query("Sessions.insert"))

    const find = (id: SessionId) =>
      sql`SELECT ${shown} FROM console_sessions WHERE id = ${id}`.pipe(
        Effect.flatMap(readRow),
        Effect.map(Option.map(stored)),
        query("Sessions.find")
      )

    /** The newest first. `keyId` undefined: of all keys. */
    const list = (keyId: string | undefined, now: DateTime.Utc) => {
      const unused = DateTime.toDate(DateTime.subtractDuration(now, lifetimes.idle))
      return sql`
        SELECT ${shown} FROM console_sessions
        WHERE (${keyId ?? null}::text IS NULL OR key_id = ${keyId ?? null})
          AND expires_at > ${DateTime.toDate(now)} AND last_used_at > ${unused}
        ORDER BY created_at DESC, id`.pipe(
        Effect.flatMap(readRows),
        Effect.map((rows) => rows.map((row) => stored(row).session)),
        query("Sessions.list")
      )
    }

    /** Those that existed. */
    const remove = (ids: ReadonlyArray<SessionId>) =>
      sql`DELETE FROM console_sessions WHERE id = ANY(${ids}::text[]) RETURNING ${shown}`.pipe(
        Effect.flatMap(readRows),
        Effect.map((rows) => rows.map((row) => stored(row).session)),
        query("Sessions.remove")
      )

    /** Ids of the key's sessions beyond the newest `most`. */
    const surplus = (keyId: string, most: number) =>
      sql`SELECT id FROM console_sessions WHERE key_id = ${keyId} ORDER BY created_at DESC, id OFFSET ${most}`.pipe(
        Effect.flatMap(Rows.ids),
        query("Sessions.surplus")
      )

    const prune = (now: DateTime.Utc) =>
      sql`DELETE FROM console_sessions WHERE expires_at <= ${DateTime.toDate(now)}`.pipe(
        Effect.asVoid,
        query("Sessions.prune")
      )

    const touch = (id: SessionId, now: DateTime.Utc) =>
      sql`
        UPDATE console_sessions SET last_used_at = ${DateTime.toDate(now)}
        WHERE id = ${id} AND last_used_at < ${DateTime.toDate(now)}`.pipe(Effect.asVoid, query("Sessions.touch"))

    return { insert, find, list, remove, surplus, prune, touch }
  })

// Ends sessions, and records in the audit log that they begin, that they end, and that sign-ins are refused.

const RefusedSignIns = Schema.Struct({ count: Schema.Natural })

const makeSessionRecords = Effect.fnUntraced(function* (repo: Effect.Success<ReturnType<typeof makeSessionsRepo>>) {
  const audit = yield* Audit
  const transaction = yield* Transaction.make

  const record = (action: "session.created" | "session.ended", session: Session, origin: Origin) =>
    audit.recordMany([
      encodeChange(
        {
          action,
          id: session.id,
          schema: Session,
          ...(action === "session.created" ? { after: session } : { before: session })
        },
        origin
      )
    ])

  const recordRefused = yield* makeCountedRecords((origin: Origin, count) =>
    audit
      .recordMany([
        encodeChange({ action: "session.refused", id: "sign-in", schema: RefusedSignIns, after: { count } }, origin)
      ])
      .pipe(Effect.ignoreCause({ log: "Warn", message: "cannot record refused sign-ins" }))
  )

  const endAll = Effect.fnUntraced(function* (ids: ReadonlyArray<SessionId>) {
    if (ids.length === 0) return
    const origin = yield* currentOrigin
    for (const session of yield* repo.remove(ids)) {
      // A request without a caller ends a session by its cookie, as the key of that session.
      const keyId = origin.keyId === "program" ? session.key_id : origin.keyId
      yield* record("session.ended", session, { ...origin, keyId })
    }
  })

  /** Ends the sessions of these cookies, without a check of who sent them. */
  const endByCookies = Effect.fn("Sessions.endByCookies")(
    (cookies: ReadonlyArray<string>) => endAll(cookies.flatMap((cookie) => sessionIdOf(cookie) ?? [])),
    transaction
  )

  return { record, recordRefused, endAll, endByCookies }
})

export interface SessionOptions {
  /** The administrator's key of `Services.layer`. */
  readonly administratorKey: Redacted.Redacted
  /** Absent: those of `defaultLifetimes`. */
  readonly lifetimes?: SessionLifetimes
  /** Whether every session is read-only. Absent: false. */
  readonly readOnly?: boolean
}

/** Without a name for the administrator's key, and for a key that is revoked or has expired. */
const nameIn = (names: ReadonlyMap<string, string>, keyId: string): { readonly key_name?: string } => {
  const name = names.get(keyId)
  return name === undefined ? {} : { key_name: name }
}

/** Refused sign-ins of an address. A person mistypes a few times; others try keys. */
const refusedSignIns: AddressLimitOptions = { burst: 10, perSecond: 1 }

/** Seconds. A token is there again then. */
const retryAfter = 1

/** The use of a session is stored at most this often. */
const touchInterval = Duration.minutes(1)

/** Characters of the browser's name that are stored. */
const maxBrowser = 128

/** What a session is made with besides the key. */
interface SignIn extends CreateSession {
  readonly userAgent: string | undefined
  /** Sessions of cookies that the browser has already: they end. */
  readonly previous: ReadonlyArray<string>
}

/** A session that is in force, with its key as it is now. */
interface FoundSession {
  readonly session: Session
  readonly caller: Caller.Caller
}

/** A key, with the hashes of all its values that are valid. */
interface KeyNow {
  readonly caller: Caller.Caller
  readonly hashes: ReadonlyArray<Uint8Array>
}

const powersOf = ({ scopes = ["*"], relayerIds }: Caller.Caller) => ({
  scopes,
  ...(relayerIds === undefined ? {} : { relayer_ids: relayerIds })
})

const makeSessions = Effect.fnUntraced(function* ({
  administratorKey,
  lifetimes = defaultSessionLifetimes,
  readOnly = false
}: SessionOptions) {
  const repo = yield* makeSessionsRepo(lifetimes)
  const { record, recordRefused, endAll, endByCookies } = yield* makeSessionRecords(repo)
  const keys = yield* ApiKeys
  const strangers = yield* Strangers
  const { authenticate } = yield* Authentication
  const transaction = yield* Transaction.make
  const clock = yield* Clock.Clock
  const refused = makeAddressLimit(refusedSignIns, () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6)
  const administrator: KeyNow = { caller: { id: "administrator" }, hashes: [hashKey(administratorKey)] }

  const keyNow = (id: string): Effect.Effect<Option.Option<KeyNow>> =>
    id === administrator.caller.id ? Effect.succeedSome(administrator) : keys.present(id)

  const refuse = Effect.fnUntraced(function* () {
    const origin = yield* currentOrigin
    refused.take(origin.clientAddress ?? undefined)
    yield* recordRefused("", { ...origin, keyId: consoleKeyId })
    return yield* strangers.refuse(new Caller.Unauthorized({ reason: "invalid_token" }))
  })

  const store = Effect.fnUntraced(function* (
    caller: Caller.Caller,
    { key, read_only = false, userAgent, previous }: SignIn
  ) {
    const now = yield* DateTime.now
    const origin = yield* currentOrigin
    const halves = makeHalves()
    const expiresAt = DateTime.addDuration(now, lifetimes.longest)
    const session: Session = {
      id: sessionIdOf(halves.cookie) ?? "",
      key_id: caller.id,
      read_only: readOnly || read_only,
      created_at: now,
      last_used_at: now,
      expires_at: expiresAt,
      idle_ends_at: DateTime.min(DateTime.addDuration(now, lifetimes.idle), expiresAt),
      ...(origin.clientAddress === null ? {} : { from: origin.clientAddress }),
      ...(userAgent === undefined ? {} : { browser: userAgent.slice(0, maxBrowser) })
    }
    yield* repo.prune(now)
    yield* endByCookies(previous)
    yield* repo.insert({
      session,
      proofHash: hashOfProof(halves.proof),
      binding: bindingOf(hashKey(key), halves.cookie)
    })
    yield* endAll(yield* repo.surplus(caller.id, maxSessionsPerKey))
    yield* record("session.created", session, { ...origin, keyId: caller.id })
    return { session, halves }
  }, transaction)

  const shown = ({ session, caller }: FoundSession, names: ReadonlyMap<string, string>): CurrentSession => ({
    id: session.id,
    key_id: session.key_id,
    ...nameIn(names, session.key_id),
    scopes: grantsOfSession(caller, false),
    ...(caller.relayerIds === undefined ? {} : { relayer_ids: caller.relayerIds.map((id) => RelayerId.make(id)) }),
    ...(caller.transactionLimits === undefined ? {} : { has_transaction_limits: true }),
    read_only: session.read_only,
    created_at: session.created_at,
    expires_at: session.expires_at,
    idle_ends_at: session.idle_ends_at
  })

  /** Fails with `TooManyRequests` if the address of the request had too many refused sign-ins. */
  const signIn = Effect.fn("Sessions.signIn")(function* (request: SignIn) {
    const { clientAddress } = yield* currentOrigin
    if (refused.isEmpty(clientAddress ?? undefined)) return yield* new Caller.TooManyRequests({ retryAfter })
    const caller = yield* authenticate(request.key, undefined).pipe(Effect.catchTag("Unauthorized", refuse))
    const { session, halves } = yield* store(caller, request)
    yield* Effect.annotateLogs(Effect.logInfo("a person signed in to the console"), {
      actor: caller.id,
      session: session.id
    })
    const current = shown({ session, caller: callerOfSession(caller, session) }, yield* keys.namesOf([caller.id]))
    return { session: { ...current, proof: Redacted.make(halves.proof) }, halves }
  })

  const touched = (session: Session, now: DateTime.Utc, isByPerson: boolean) => {
    const isDue = DateTime.isGreaterThanOrEqualTo(now, DateTime.addDuration(session.last_used_at, touchInterval))
    return isByPerson && isDue ? repo.touch(session.id, now) : Effect.void
  }

  /** The session of a request; none if it has ended or if a half is wrong. A request by a person prolongs it. */
  const find = Effect.fn("Sessions.find")(function* ({ cookie, proof, isByPerson }: PresentedHalves) {
    const id = sessionIdOf(cookie)
    const stored = id === undefined ? Option.none() : yield* repo.find(id)
    if (Option.isNone(stored)) return Option.none()
    const { proofHash, binding } = stored.value
    const now = yield* DateTime.now
    const session = { ...stored.value.session, read_only: readOnly || stored.value.session.read_only }
    if (!isEqualHash(proofHash, hashOfProof(proof)) || !isLiveSession(session, now)) {
      return Option.none()
    }
    const key = yield* keyNow(session.key_id)
    const isBound = Option.isSome(key) && key.value.hashes.some((hash) => isEqualHash(binding, bindingOf(hash, cookie)))
    if (!isBound) return Option.none()
    yield* touched(session, now, isByPerson)
    return Option.some<FoundSession>({ session, caller: callerOfSession(key.value.caller, session) })
  })

  /** The session of the current request. */
  const current = Effect.gen(function* () {
    const caller = yield* Caller.current
    const stored = caller.sessionId === undefined ? Option.none() : yield* repo.find(caller.sessionId)
    if (Option.isNone(stored)) return yield* new SessionNotFound({})
    const session = { ...stored.value.session, read_only: readOnly || stored.value.session.read_only }
    return shown({ session, caller }, yield* keys.namesOf([session.key_id]))
  }).pipe(Effect.withSpan("Sessions.current"))

  const seesAll = (caller: Caller.Caller) => Caller.hasScope(caller, "api-keys:write")

  /** The newest first: those of the caller's key and, if the caller has `api-keys:write`, those of all keys. */
  const list = Effect.gen(function* () {
    const caller = yield* Caller.current
    const found = yield* repo.list(seesAll(caller) ? undefined : caller.id, yield* DateTime.now)
    const names = yield* keys.namesOf(found.map(({ key_id }) => key_id))
    return found.map((session): ListedSession => ({
      ...session,
      ...nameIn(names, session.key_id),
      current: session.id === caller.sessionId
    }))
  }).pipe(Effect.withSpan("Sessions.list"))

  const mayEnd = Effect.fnUntraced(function* (caller: Caller.Caller, { key_id, id }: Session) {
    if (id === caller.sessionId || key_id === caller.id || Caller.isAdministrator(caller)) return true
    if (key_id === administrator.caller.id) return false
    const key = Option.getOrUndefined(yield* keyNow(key_id))
    return key === undefined || mayGrant(caller, powersOf(key.caller))
  })

  /** Ends a session that the caller may see. Fails with `Forbidden` if the session's key can do more than the caller. */
  const end = Effect.fn("Sessions.end")(function* (id: SessionId) {
    const caller = yield* Caller.current
    const found = yield* repo.find(id)
    if (Option.isNone(found)) return yield* new SessionNotFound({})
    const { session } = found.value
    if (session.key_id !== caller.id && !seesAll(caller)) return yield* new SessionNotFound({})
    if (!(yield* mayEnd(caller, session))) return yield* new Caller.Forbidden({})
    yield* endAll([id])
  }, transaction)

  return { signIn, find, current, list, end, endByCookies }
})

export class Sessions extends Context.Service<Sessions, Effect.Success<ReturnType<typeof makeSessions>>>()(
  "effect-relayer/server/console/Sessions"
) {
  static readonly layer = (options: SessionOptions) => Layer.effect(Sessions, makeSessions(options))
}
