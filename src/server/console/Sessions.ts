// Sessions of the console. They are in the database, so that every instance knows them, and that each ends everywhere at once.
import { Clock, Context, DateTime, Duration, Effect, Layer, Option, Redacted } from "effect"
import { ApiKeys } from "../access/ApiKeys.ts"
import { hashKey } from "../access/Key.ts"
import { covers } from "../access/KeyCreation.ts"
import { Authentication } from "../authentication/Authentication.ts"
import { consoleKeyId } from "../../domain/access/ApiKey.ts"
import * as Caller from "../../domain/access/Caller.ts"
import {
  callerOfSession,
  defaultSessionLifetimes,
  grantsOfSession,
  isLiveSession,
  maxSessionsPerKey,
  SessionNotFound
} from "../../domain/access/Caller.ts"
import type {
  CreateSession,
  CurrentSession,
  ListedSession,
  NewSession,
  Session,
  SessionId,
  SessionLifetimes
} from "../../domain/access/Caller.ts"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { makeAddressLimit, Strangers } from "../limits/Strangers.ts"
import type { AddressLimitOptions } from "../limits/Strangers.ts"
import { currentOrigin } from "../responses/CurrentRequest.ts"
import * as SessionHalves from "./SessionHalves.ts"
import type { Halves, Presented } from "./SessionHalves.ts"
import * as SessionRecords from "./SessionRecords.ts"
import * as SessionsRepo from "./SessionsRepo.ts"

export interface Options {
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
export interface SignIn extends CreateSession {
  readonly userAgent: string | undefined
  /** Sessions of cookies that the browser has already: they end. */
  readonly previous: ReadonlyArray<string>
}

/** A session that is in force, with its key as it is now. */
export interface Found {
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

export class Sessions extends Context.Service<
  Sessions,
  {
    /** Fails with `TooManyRequests` if the address of the request had too many refused sign-ins. */
    signIn(
      request: SignIn
    ): Effect.Effect<
      { readonly session: NewSession; readonly halves: Halves },
      Caller.Unauthorized | Caller.Forbidden | Caller.TooManyRequests
    >
    /** The session of a request; none if it has ended or if a half is wrong. A request by a person prolongs it. */
    find(presented: Presented): Effect.Effect<Option.Option<Found>>
    /** The session of the current request. */
    readonly current: Effect.Effect<CurrentSession, SessionNotFound>
    /** The newest first: those of the caller's key and, if the caller has `api-keys:write`, those of all keys. */
    readonly list: Effect.Effect<ReadonlyArray<ListedSession>>
    /** Ends a session that the caller may see. Fails with `Forbidden` if the session's key can do more than the caller. */
    end(id: SessionId): Effect.Effect<void, SessionNotFound | Caller.Forbidden>
    /** Ends the sessions of these cookies, without a check of who sent them. */
    endByCookies(cookies: ReadonlyArray<string>): Effect.Effect<void>
  }
>()("effect-relayer/server/console/Sessions") {
  static readonly layer = ({ administratorKey, lifetimes = defaultSessionLifetimes, readOnly = false }: Options) =>
    Layer.effect(
      Sessions,
      Effect.gen(function* () {
        const repo = yield* SessionsRepo.make(lifetimes)
        const { record, recordRefused, endAll, endByCookies } = yield* SessionRecords.make(repo)
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
          const halves = SessionHalves.make()
          const expiresAt = DateTime.addDuration(now, lifetimes.longest)
          const session: Session = {
            id: SessionHalves.idOf(halves.cookie) ?? "",
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
            proofHash: SessionHalves.proofHash(halves.proof),
            binding: SessionHalves.binding(hashKey(key), halves.cookie)
          })
          yield* endAll(yield* repo.surplus(caller.id, maxSessionsPerKey))
          yield* record("session.created", session, { ...origin, keyId: caller.id })
          return { session, halves }
        }, transaction)

        const shown = ({ session, caller }: Found, names: ReadonlyMap<string, string>): CurrentSession => ({
          id: session.id,
          key_id: session.key_id,
          ...nameIn(names, session.key_id),
          scopes: grantsOfSession(caller, false),
          ...(caller.relayerIds === undefined
            ? {}
            : { relayer_ids: caller.relayerIds.map((id) => RelayerId.make(id)) }),
          read_only: session.read_only,
          created_at: session.created_at,
          expires_at: session.expires_at,
          idle_ends_at: session.idle_ends_at
        })

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

        const find = Effect.fn("Sessions.find")(function* ({ cookie, proof, isByPerson }: Presented) {
          const id = SessionHalves.idOf(cookie)
          const stored = id === undefined ? Option.none() : yield* repo.find(id)
          if (Option.isNone(stored)) return Option.none()
          const { proofHash, binding } = stored.value
          const now = yield* DateTime.now
          const session = { ...stored.value.session, read_only: readOnly || stored.value.session.read_only }
          if (!SessionHalves.isEqual(proofHash, SessionHalves.proofHash(proof)) || !isLiveSession(session, now)) {
            return Option.none()
          }
          const key = yield* keyNow(session.key_id)
          const isBound =
            Option.isSome(key) &&
            key.value.hashes.some((hash) => SessionHalves.isEqual(binding, SessionHalves.binding(hash, cookie)))
          if (!isBound) return Option.none()
          yield* touched(session, now, isByPerson)
          return Option.some<Found>({ session, caller: callerOfSession(key.value.caller, session) })
        })

        const current = Effect.gen(function* () {
          const caller = yield* Caller.current
          const stored = caller.sessionId === undefined ? Option.none() : yield* repo.find(caller.sessionId)
          if (Option.isNone(stored)) return yield* new SessionNotFound({})
          const session = { ...stored.value.session, read_only: readOnly || stored.value.session.read_only }
          return shown({ session, caller }, yield* keys.namesOf([session.key_id]))
        }).pipe(Effect.withSpan("Sessions.current"))

        const seesAll = (caller: Caller.Caller) => Caller.hasScope(caller, "api-keys:write")

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
          return key === undefined || covers(caller, powersOf(key.caller))
        })

        const end = Effect.fn("Sessions.end")(function* (id: SessionId) {
          const caller = yield* Caller.current
          const found = yield* repo.find(id)
          if (Option.isNone(found)) return yield* new SessionNotFound({})
          const { session } = found.value
          if (session.key_id !== caller.id && !seesAll(caller)) return yield* new SessionNotFound({})
          if (!(yield* mayEnd(caller, session))) return yield* new Caller.Forbidden({})
          yield* endAll([id])
        }, transaction)

        return Sessions.of({ signIn, find, current, list, end, endByCookies })
      })
    )
}
