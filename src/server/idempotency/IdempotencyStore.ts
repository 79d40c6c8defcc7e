// Requests that take effect once. The response of a request is stored in the transaction of its effect, so that a crash
// leaves both or neither (ADR 0005). The table `idempotency_keys` has it, or the claim of a request that is running.
import { Context, DateTime, Duration, Effect, Exit, Layer, Option, Redacted, Schema } from "effect"
import { SecureRandom } from "effect/crypto"
import { createHash, createHmac } from "node:crypto"
import { IdempotencyKeyBusy, IdempotencyKeyReused } from "../../domain/request/Request.ts"
import * as Rows from "../../sql/Rows.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { client, query } from "../../sql/Transaction.ts"
import { Secrets, ServiceSecrets } from "../secrets/Secrets.ts"

// The table `idempotency_keys`: a row holds the stored response of a key, or the claim of a request that is running.

const Headers = Schema.fromJsonString(Schema.Record(Schema.String, Schema.String))

const Finished = Schema.Struct({
  is_running: Schema.Literal(false),
  request_hash: Schema.Uint8Array,
  status: Schema.Int,
  headers: Headers,
  body_sealed: Schema.Uint8Array
})
const Running = Schema.Struct({ is_running: Schema.Literal(true), request_hash: Schema.Uint8Array })
const Row = Schema.Union([Finished, Running])

type SealedResponse = Pick<typeof Finished.Type, "status" | "headers" | "body_sealed">

/** One run of a request with a key. */
interface KeyedRun {
  /** A hash of the caller and the key. */
  readonly id: string
  readonly requestHash: Uint8Array
  /** A UUID of this run alone. */
  readonly claim: string
  readonly at: DateTime.Utc
  /** Responses that were stored before are no longer valid. */
  readonly validSince: DateTime.Utc
}

/** The columns of a stored response, or those of a claim. */
interface State {
  readonly status: number | null
  readonly headers: string | null
  readonly body_sealed: Uint8Array | null
  readonly leaseSeconds: number | null
}

const readRow = Rows.first(Row)
const readLock = Rows.one(Schema.Struct({ locked: Schema.Boolean }))

const encodeHeaders = Schema.encodeSync(Headers)

const makeIdempotencyRepo = Effect.gen(function* () {
  const sql = yield* client

  /** Excludes other transactions of all instances until the running one ends; false if another one holds the lock. */
  const lock = (id: string) =>
    sql`SELECT pg_try_advisory_xact_lock(hashtextextended(${id}, 0)) AS locked`.pipe(
      Effect.flatMap(readLock),
      Effect.map(({ locked }) => locked),
      query("IdempotencyStore.lock")
    )

  /** The valid response, or the claim whose lease has not run out. */
  const find = (id: string, validSince: DateTime.Utc) =>
    sql`
      SELECT claim IS NOT NULL AS is_running, request_hash, status::int4 AS status, headers::text AS headers, body_sealed
      FROM idempotency_keys
      WHERE id = ${id} AND created_at >= ${DateTime.toDate(validSince)} AND (claim IS NULL OR claimed_until > now())`.pipe(
      Effect.flatMap(readRow),
      query("IdempotencyStore.find")
    )

  /** Replaces its own claim, a lease that has run out and a response that is no longer valid, and nothing else. */
  const put = (run: KeyedRun, { status, headers, body_sealed, leaseSeconds }: State) =>
    Effect.map(
      sql`
        INSERT INTO idempotency_keys AS k
          (id, request_hash, created_at, status, headers, body_sealed, claim, claimed_until)
        VALUES (${run.id}, ${run.requestHash}, ${DateTime.toDate(run.at)}, ${status}::smallint,
          ${headers}::text::jsonb, ${body_sealed}::bytea, ${leaseSeconds === null ? null : run.claim}::uuid,
          now() + ${leaseSeconds}::int * interval '1 second')
        ON CONFLICT (id) DO UPDATE SET request_hash = excluded.request_hash, created_at = excluded.created_at,
          status = excluded.status, headers = excluded.headers, body_sealed = excluded.body_sealed,
          claim = excluded.claim, claimed_until = excluded.claimed_until
        WHERE k.claim = ${run.claim}::uuid OR k.claimed_until <= now()
          OR k.created_at < ${DateTime.toDate(run.validSince)}
        RETURNING 1`,
      (rows) => rows.length === 1
    )

  /** Claims the key for `leaseSeconds`; false if another run has claimed it, or finished. */
  const claim = (run: KeyedRun, leaseSeconds: number) =>
    put(run, { status: null, headers: null, body_sealed: null, leaseSeconds }).pipe(query("IdempotencyStore.claim"))

  /** Stores the response and ends the claim; false if another run has claimed the key, or finished. */
  const finish = (run: KeyedRun, { status, headers, body_sealed }: SealedResponse) =>
    put(run, { status, headers: encodeHeaders(headers), body_sealed, leaseSeconds: null }).pipe(
      query("IdempotencyStore.finish")
    )

  /** Ends the claim without a response. */
  const release = ({ id, claim }: KeyedRun) =>
    sql`DELETE FROM idempotency_keys WHERE id = ${id} AND claim = ${claim}::uuid`.pipe(
      Effect.asVoid,
      query("IdempotencyStore.release")
    )

  /** Deletes at most `limit` rows that are older than `before`; returns how many. */
  const prune = (before: DateTime.Utc, limit: number) =>
    sql`
      DELETE FROM idempotency_keys WHERE id = ANY(ARRAY(
        SELECT id FROM idempotency_keys WHERE created_at < ${DateTime.toDate(before)}
        ORDER BY created_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
      )) RETURNING 1`.pipe(
      Effect.map((rows) => rows.length),
      query("IdempotencyStore.prune")
    )

  return { lock, find, claim, finish, release, prune }
})

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
      const repo = yield* makeIdempotencyRepo
      const secrets = yield* Secrets
      const secret = (yield* ServiceSecrets).get("idempotency")
      const random = yield* SecureRandom.SecureRandom
      const transaction = yield* Transaction.makePausable

      const validSince = (at: DateTime.Utc) => DateTime.subtractDuration(at, keptFor)

      const makeRun = Effect.fnUntraced(function* ({ callerId, key, method, url, body }: KeyedRequest) {
        const at = yield* DateTime.now
        const run: KeyedRun = {
          id: sha256(joined(callerId, key)).toString("hex"),
          requestHash: hmac(yield* secret, joined(method, url, body)),
          claim: yield* random.uuidV4(),
          at,
          validSince: validSince(at)
        }
        return run
      })

      const find = Effect.fnUntraced(function* ({ id, requestHash, validSince }: KeyedRun) {
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

      const store = Effect.fnUntraced(function* (run: KeyedRun, { status, headers, body }: StoredResponse) {
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
