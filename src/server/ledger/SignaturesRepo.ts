// Signed bytes: the table `attempts`, the table `private_bytes` of those that are sealed, and the table `signatures_given` of those that callers got and the service does not send.
import { Data, Duration, Effect, Redacted, Schema } from "effect"
import { Hex } from "effect/encoding"
import type { SqlClient, Statement } from "effect/sql"
import type { LaneKey } from "../../networks/core/Rules.ts"
import type { Attempt, Receipt, Transaction } from "../../networks/core/Transaction.ts"
import { TransactionId } from "../../networks/core/TransactionValues.ts"
import type { Moment } from "../../networks/core/TransactionValues.ts"
import { client, query } from "../../sql/Transaction.ts"
import * as Rows from "../../sql/Rows.ts"
import { unnestRows } from "../../sql/Rows.ts"
import type { UnnestRow } from "../../sql/Rows.ts"
import { Secrets } from "../secrets/Secrets.ts"
import type { SecretPlace } from "../secrets/Secrets.ts"
import { LedgerRules } from "./LedgerEntries.ts"
import type { Account, GivenPlace, GivenSignature, LaneId, LedgerNetwork } from "./LedgerEntries.ts"

/** The attempt, and the receipt that is recorded for it. */
export const AttemptJson = Schema.Struct({
  ordinal: Schema.Int,
  kind: Schema.Literals(["original", "bump", "replace", "noop", "refresh"]),
  generation: Schema.Int,
  requestVersion: Schema.Int,
  hash: Schema.String,
  /** Absent: the first account of the lane. */
  account: Schema.optionalKey(Schema.String),
  /** Sequences are texts: those of stellar are above 2^53. */
  sequence: Schema.optionalKey(Schema.BigIntFromString),
  offer: Schema.Unknown,
  signedAt: Schema.Int,
  sends: Schema.Int,
  firstSent: Schema.optionalKey(Schema.Struct({ at: Schema.Int, height: Schema.Int })),
  lastSentAt: Schema.optionalKey(Schema.Int),
  outcome: Schema.Literals(["unknown", "accepted", "refused"]),
  refusal: Schema.optionalKey(Schema.Unknown),
  receipt: Schema.optionalKey(Schema.Unknown)
})

/** All attempts of the transaction `t` as a JSON array, by ordinal. */
export const attemptsOf = (sql: SqlClient.SqlClient) => {
  const millis = (column: string) => sql`(extract(epoch FROM a.${sql(column)}) * 1000)::bigint`
  return sql`
    (SELECT json_agg(json_strip_nulls(json_build_object(
      'ordinal', a.ordinal, 'kind', a.kind, 'generation', a.generation, 'requestVersion', a.request_version,
      'hash', a.hash, 'account', a.account, 'sequence', a.nonce::text, 'offer', a.offer,
      'signedAt', ${millis("signed_at")}, 'sends', a.sends,
      'firstSent', CASE WHEN a.first_sent_at IS NOT NULL
        THEN json_build_object('at', ${millis("first_sent_at")}, 'height', a.first_sent_block) END,
      'lastSentAt', ${millis("last_sent_at")}, 'outcome', a.outcome, 'refusal', a.refusal, 'receipt', a.receipt
    )) ORDER BY a.ordinal)::text FROM attempts a WHERE a.transaction_id = t.id) AS attempts`
}

/** The attempt, and its receipt if one is recorded. `address`: the first account of the lane. */
export const attemptOf = (
  { rules, offer, refusal, receipt }: LedgerNetwork,
  address: string,
  row: typeof AttemptJson.Type
): { readonly attempt: Attempt; readonly receipt?: Receipt } => {
  const { account = address, sequence, offer: stored, refusal: refused, receipt: mined, ...fields } = row
  const offered = offer.decode(stored)
  return {
    attempt: {
      ...fields,
      place: { account, ...(sequence === undefined ? {} : { sequence }) },
      offer: offered,
      maxFee: rules.maxFeeOf(offered),
      ...(refused === undefined ? {} : { refusal: refusal.decode(refused) })
    },
    ...(mined === undefined ? {} : { receipt: receipt.decode(mined) })
  }
}

const text = (value: number | bigint | undefined): string | null => (value === undefined ? null : String(value))

const answered = ({ refusal, receipt }: LedgerNetwork, { id, attempt, receipt: mined }: Answered): UnnestRow => ({
  transaction_id: id,
  ordinal: String(attempt.ordinal),
  sends: String(attempt.sends),
  first_sent_at: text(attempt.firstSent?.at),
  first_sent_block: text(attempt.firstSent?.height),
  last_sent_at: text(attempt.lastSentAt),
  outcome: attempt.outcome,
  refusal: attempt.refusal === undefined ? null : refusal.text(attempt.refusal),
  receipt: mined === undefined ? null : receipt.text(mined)
})

/** What a broadcast or a receipt changes about an attempt. */
export interface Answered {
  readonly id: TransactionId
  readonly chain: string
  readonly attempt: Attempt
  /** Absent: none is recorded. */
  readonly receipt: Receipt | undefined
}

/** A signature that a commit stores. */
export interface SignedAttempt {
  readonly id: TransactionId
  readonly chain: string
  /** The first account of the lane. */
  readonly address: string
  readonly attempt: Attempt
  readonly bytes: StoredBytes
  readonly epoch: number
}

/** Signed bytes as they are stored. `sealed`: only private providers get them, and nobody else reads them in the database or in a copy of it. */
export type StoredBytes = { readonly raw: Uint8Array } | { readonly sealed: Uint8Array }

/** Their size in bytes, to bound a statement. */
export const storedSize = (bytes: StoredBytes): number => ("raw" in bytes ? bytes.raw : bytes.sealed).length

const signed = ({ offer }: LedgerNetwork, { id, address, attempt, bytes, epoch }: SignedAttempt): UnnestRow => ({
  transaction_id: id,
  ordinal: String(attempt.ordinal),
  kind: attempt.kind,
  generation: String(attempt.generation),
  request_version: String(attempt.requestVersion),
  hash: attempt.hash,
  raw: "raw" in bytes ? `\\x${Hex.encode(bytes.raw)}` : "\\x",
  account: attempt.place.account === address ? null : attempt.place.account,
  nonce: text(attempt.place.sequence),
  offer: offer.text(attempt.offer),
  epoch: String(epoch),
  signed_at: text(attempt.signedAt)
})

/** A moment in a statement, from the text of its milliseconds. */
export const momentOf = (sql: SqlClient.SqlClient, column: string) =>
  sql`to_timestamp(given.${sql(column)}::float8 / 1000)`

/** Attempts that a change of transactions adds, and those that it changes. */
export interface AttemptChanges {
  readonly signed: ReadonlyArray<SignedAttempt>
  readonly answered: ReadonlyArray<Answered>
}

export interface AttemptKey {
  readonly id: TransactionId
  readonly ordinal: number
}

/** The ledger has one of the signatures already. Nothing was inserted. */
export class SignatureTaken extends Data.TaggedError("SignatureTaken") {}

const readHashes = Rows.all(Schema.Struct({ hash: Schema.String }))
const readBytes = Rows.all(Schema.Struct({ id: TransactionId, ordinal: Schema.Int, raw: Schema.Uint8Array }))
const readSealed = Rows.all(Schema.Struct({ id: TransactionId, ordinal: Schema.Int, sealed: Schema.Uint8Array }))

const keyOf = ({ id, ordinal }: AttemptKey): string => `${id}/${ordinal}`

const placeOfBytes = (key: AttemptKey): SecretPlace => ({ table: "private_bytes", id: keyOf(key), column: "raw" })

/** Seals the bytes that only private providers get, and opens them. */
const makePrivateBytes = Effect.gen(function* () {
  const sql = yield* client
  const secrets = yield* Secrets

  const seal = (key: AttemptKey, raw: Uint8Array) => secrets.seal(Redacted.make(Hex.encode(raw)), placeOfBytes(key))

  /** `condition`: on `given.transaction_id`. Undefined: none of the bytes are sealed. */
  const inserting = (attempts: ReadonlyArray<SignedAttempt>, condition: Statement.Fragment) => {
    const rows = attempts.flatMap(({ id, attempt: { ordinal }, bytes }): ReadonlyArray<UnnestRow> =>
      "sealed" in bytes
        ? [
            {
              id: keyOf({ id, ordinal }),
              transaction_id: id,
              ordinal: String(ordinal),
              sealed: `\\x${Hex.encode(bytes.sealed)}`
            }
          ]
        : []
    )
    if (rows.length === 0) return undefined
    return sql`
      INSERT INTO private_bytes (id, transaction_id, ordinal, raw_sealed)
      SELECT id, transaction_id::uuid, ordinal::integer, sealed::bytea FROM ${unnestRows(sql, rows)} WHERE ${condition}`
  }

  /** Those that do not open are left out, and reported: another program changed them, or their master key is not known. */
  const open = Effect.fnUntraced(function* (keys: ReadonlyArray<AttemptKey>) {
    const rows = yield* sql`
      SELECT transaction_id AS id, ordinal, raw_sealed AS sealed FROM private_bytes
      WHERE id = ANY(${keys.map(keyOf)}::text[])`.pipe(Effect.flatMap(readSealed), query("PrivateBytesRepo.open"))
    const opened = yield* Effect.forEach(rows, ({ sealed, ...key }) =>
      secrets.open(sealed, placeOfBytes(key)).pipe(
        Effect.map((hex) => [{ ...key, raw: Uint8Array.from(Buffer.from(Redacted.value(hex), "hex")) }]),
        Effect.catchTag("SecretUnreadable", (cause) =>
          Effect.as(Effect.logError("signed bytes of a private transaction do not open", cause), [])
        )
      )
    )
    return opened.flat()
  })

  return { seal, inserting, open }
})

export const makeAttempts = Effect.gen(function* () {
  const sql = yield* client
  const networks = yield* LedgerRules
  const secret = yield* makePrivateBytes
  const moment = (column: string) => momentOf(sql, column)

  /** `condition`: on `given.transaction_id`. */
  const inserting = (attempts: ReadonlyArray<SignedAttempt>, condition: Statement.Fragment) => sql`
    INSERT INTO attempts (
      transaction_id, ordinal, kind, generation, request_version, hash, raw, account, nonce, offer, epoch, signed_at
    )
    SELECT transaction_id::uuid, ordinal::integer, kind, generation::integer, request_version::integer, hash,
      raw::bytea, account, nonce::bigint, offer::json, epoch::bigint, ${moment("signed_at")}
    FROM ${unnestRows(
      sql,
      attempts.map((one) => signed(networks.of(one.chain), one))
    )} WHERE ${condition} ORDER BY n`

  /** What a broadcast and a receipt change. `condition`: on `given.transaction_id`. */
  const updating = (attempts: ReadonlyArray<Answered>, condition: Statement.Fragment) => sql`
    UPDATE attempts a SET sends = given.sends::integer, first_sent_at = ${moment("first_sent_at")},
      first_sent_block = given.first_sent_block::bigint, last_sent_at = ${moment("last_sent_at")},
      outcome = given.outcome, refusal = given.refusal::json, receipt = given.receipt::json
    FROM ${unnestRows(
      sql,
      attempts.map((one) => answered(networks.of(one.chain), one))
    )}
    WHERE a.transaction_id = given.transaction_id::uuid AND a.ordinal = given.ordinal::integer AND ${condition}`

  /**
   * Parts of a `WITH` that write attempts in the statement that writes their transactions: one round trip less for each commit
   * and each record. Only attempts of transactions in `written`, a table of the same `WITH`, are written.
   */
  const writing = ({ signed, answered }: AttemptChanges, written: string): ReadonlyArray<Statement.Fragment> => {
    // `IS TRUE` keeps PostgreSQL from joining the two tables: without statistics it would compare each row with each other one.
    const condition = sql`(given.transaction_id::uuid IN (SELECT id FROM ${sql(written)})) IS TRUE`
    const sealed = secret.inserting(signed, condition)
    return [
      ...(signed.length === 0 ? [] : [sql`signed AS (${inserting(signed, condition)})`]),
      ...(sealed === undefined ? [] : [sql`sealed AS (${sealed})`]),
      ...(answered.length === 0 ? [] : [sql`answered AS (${updating(answered, condition)})`])
    ]
  }

  /** Whether bytes of two transactions of the chain can be the same. On solana they can: the bytes have no sequence. */
  const canRepeat = (chain: string): boolean => networks.of(chain).rules.repeated !== undefined

  /**
   * Whether a caller already got the signature that the transaction `t` is about to store, for another request. The chain executes the
   * bytes once, so `t` must not count them as its own. False if both have the same identity: `t` takes the signature over. An earlier
   * statement of the same SQL transaction must have locked the lane: a statement that waits for that lock does not see what was given
   * meanwhile.
   */
  const isGiven = (attempts: ReadonlyArray<SignedAttempt>) => {
    const repeatable = attempts.filter(({ chain }) => canRepeat(chain))
    const ids = repeatable.map(({ id }) => id)
    const hashes = repeatable.map(({ attempt }) => attempt.hash)
    return repeatable.length === 0
      ? sql`false`
      : sql`EXISTS (
          SELECT FROM unnest(${ids}::uuid[], ${hashes}::text[]) AS added (id, hash) JOIN signatures_given g ON g.hash = added.hash
          WHERE added.id = t.id AND g.identity IS DISTINCT FROM t.identity
        )`
  }

  const insert = (attempts: ReadonlyArray<SignedAttempt>) =>
    attempts.length === 0
      ? Effect.void
      : inserting(attempts, sql`true`).pipe(Effect.asVoid, query("AttemptsRepo.insert"))

  const bytes = Effect.fnUntraced(function* (attempts: ReadonlyArray<AttemptKey>) {
    const ids = attempts.map(({ id }) => id)
    const ordinals = attempts.map(({ ordinal }) => String(ordinal))
    const found = yield* sql`
      SELECT a.transaction_id AS id, a.ordinal, a.raw
      FROM unnest(${ids}::uuid[], ${ordinals}::integer[]) AS given (id, ordinal)
      JOIN attempts a ON a.transaction_id = given.id AND a.ordinal = given.ordinal`.pipe(
      Effect.flatMap(readBytes),
      query("AttemptsRepo.bytes")
    )
    const sealed = found.filter(({ raw }) => raw.length === 0)
    if (sealed.length === 0) return found
    return [...found.filter(({ raw }) => raw.length > 0), ...(yield* secret.open(sealed))]
  })

  /** The bytes of a signature as they are stored: those that only private providers get are sealed. */
  const storedBytes = (id: TransactionId, transaction: Transaction, attempt: Attempt, raw: Uint8Array, chain: string) =>
    networks.of(chain).rules.destinationOf?.(transaction, attempt) === "private"
      ? Effect.map(secret.seal({ id, ordinal: attempt.ordinal }, raw), (sealed): StoredBytes => ({ sealed }))
      : Effect.succeed<StoredBytes>({ raw })

  /** Those of the hashes that attempts of the lane have. */
  const own = (lane: LaneId, hashes: ReadonlyArray<string>) =>
    sql`
      SELECT a.hash FROM attempts a JOIN transactions t ON t.id = a.transaction_id
      WHERE a.hash = ANY(${hashes}::text[]) AND t.lane_id = ${lane}::bigint`.pipe(
      Effect.flatMap(readHashes),
      Effect.map((rows) => new Set(rows.map(({ hash }) => hash))),
      query("AttemptsRepo.own")
    )

  return { writing, canRepeat, isGiven, insert, bytes, storedBytes, own }
})

// The table `signatures_given`.

const GivenRow = Schema.Struct({ hash: Schema.String, raw: Schema.Uint8Array, relayer_number: Schema.Int })

const readStored = Rows.first(GivenRow)
const readOffers = Rows.all(Schema.Struct({ identity: Schema.String, hash: Schema.String, offer: Schema.Unknown }))
const readPlaces = Rows.all(
  Schema.Struct({ hash: Schema.String, sequence: Schema.BigIntFromString, valid_until: Schema.Finite })
)

/**
 * Seconds after which the last height of a signature is passed, whatever its lane has read: seven days. It is about 150 blocks above the one at
 * which it was given. Signatures of solana alone have one, and its main network has never stood still for a day (19 hours in February 2023,
 * status.solana.com). Of networks of one's own nothing is known: one that stands still for longer forgets signatures that can still land.
 */
const heightsPass = 7 * 86_400

/** Signatures of one account that a lane looks at: those with the lowest sequences come next. */
export const maxGivenPlaces = 100

const readGivenHashes = Rows.all(Schema.Struct({ hash: Schema.String }))

/**
 * Fees and value that signatures that were given can take from the balance of a lane `l`. Null: none can land any more. `height`: one that the chain
 * has passed, if it is above that of the lane.
 */
export const givenCostOf = (sql: SqlClient.SqlClient, height = 0) => sql`(
  SELECT sum(g.fee + g.outflow) FROM signatures_given g WHERE g.chain = l.chain AND g.address = l.address
    AND (g.valid_until > now() OR g.last_height >= greatest(coalesce(l.chain_block, 0), ${height}::bigint))
)`

export const makeGivenSignatures = Effect.gen(function* () {
  const sql = yield* client
  const lane = ({ chain, address }: LaneKey) => sql`l.chain = ${chain} AND l.address = ${address}`
  const moment = (at: Moment | null) => sql`to_timestamp(${at}::float8 / 1000)`

  /** In the present generation of the lane. */
  const find = (key: LaneKey, identity: string) =>
    sql`
      SELECT g.hash, g.raw, g.relayer_number::float8 AS relayer_number FROM lanes l
      JOIN signatures_given g ON g.generation = l.generation AND g.identity = ${identity} WHERE ${lane(key)}`.pipe(
      Effect.flatMap(readStored),
      query("GivenRepo.find")
    )

  /** What attempts with these bytes would offer, as it is stored, by identity. In the present generation of the lane. */
  const offers = (key: LaneKey, ids: ReadonlyArray<string>) =>
    sql`
      SELECT g.identity, g.hash, g.offer FROM lanes l
      JOIN signatures_given g ON g.generation = l.generation AND g.identity = ANY(${ids}::text[])
      WHERE ${lane(key)} AND g.chain = l.chain AND g.address = l.address AND g.offer IS NOT NULL`.pipe(
      Effect.flatMap(readOffers),
      Effect.map((rows) => new Map(rows.map(({ identity, ...given }) => [identity, given]))),
      query("GivenRepo.offers")
    )

  /** False if another row has the identity. The lane exists. */
  const insert = (
    account: Account,
    keyId: string,
    { identity, hash, raw, fee, end, outflow = 0n, sequence }: GivenSignature,
    offer: string | undefined,
    now: Moment
  ) => {
    const { validUntil = null, lastHeight = null } = { validUntil: undefined, lastHeight: undefined, ...end }
    return sql`
      INSERT INTO signatures_given (
        relayer_number, key_id, chain, address, generation, identity, hash, raw, fee, valid_until, last_height, offer, outflow, sequence, created_at
      )
      SELECT ${account.relayerNumber}::bigint, ${keyId}::text, l.chain, l.address, l.generation, ${identity ?? null}::text,
        ${hash}::text, ${`\\x${Hex.encode(raw)}`}::bytea, ${String(fee)}::numeric, ${moment(validUntil)},
        ${lastHeight}::bigint, ${offer ?? null}::jsonb, ${String(outflow)}::numeric,
        ${sequence === undefined ? null : String(sequence)}::numeric, ${moment(now)}
      FROM lanes l WHERE ${lane(account)}
      ON CONFLICT DO NOTHING RETURNING id`.pipe(
      Effect.map((rows) => rows.length === 1),
      query("GivenRepo.insert")
    )
  }

  /** Those of the hashes that were given. */
  const among = (hashes: ReadonlyArray<string>): Effect.Effect<ReadonlySet<string>> =>
    hashes.length === 0
      ? Effect.succeed(new Set())
      : sql`SELECT g.hash FROM signatures_given g WHERE g.hash = ANY(${hashes}::text[])`.pipe(
          Effect.flatMap(readGivenHashes),
          Effect.map((rows) => new Set(rows.map(({ hash }) => hash))),
          query("GivenRepo.among")
        )

  /** Those that can land at `now` at a sequence of the lane's own account that is not used yet, the lowest sequence first. */
  const places = (lane: LaneId, now: Moment) =>
    sql`
      SELECT g.hash, g.sequence::text AS sequence, (extract(epoch FROM g.valid_until) * 1000)::float8 AS valid_until
      FROM lanes l JOIN signatures_given g ON g.chain = l.chain AND g.address = l.address AND g.generation = l.generation
      WHERE l.id = ${lane}::bigint AND g.sequence >= l.settled_nonce AND g.valid_until > ${moment(now)}
      ORDER BY g.sequence, g.id LIMIT ${maxGivenPlaces}`.pipe(
      Effect.flatMap(readPlaces),
      Effect.map((rows) =>
        rows.map(({ hash, sequence, valid_until }): GivenPlace => ({ hash, sequence, validUntil: valid_until }))
      ),
      query("GivenRepo.places")
    )

  /**
   * Deletes at most `limit` rows that were given longer than `age` ago and count nowhere. Returns how many. A lane without transactions reads no
   * height, so that a last height also counts as passed after `heightsPass`.
   */
  const prune = (age: Duration.Input, limit: number) =>
    sql`
      DELETE FROM signatures_given WHERE id = ANY(ARRAY(
        SELECT g.id FROM signatures_given g LEFT JOIN lanes l ON l.chain = g.chain AND l.address = g.address
        WHERE g.created_at < now() - ${Duration.toSeconds(Duration.fromInputUnsafe(age))}::float8 * interval '1 second'
          AND (g.valid_until <= now() OR g.last_height < coalesce(l.chain_block, 0)
            OR (g.last_height IS NOT NULL AND g.created_at < now() - ${heightsPass}::float8 * interval '1 second'))
        ORDER BY g.created_at LIMIT ${limit} FOR UPDATE OF g SKIP LOCKED
      )) RETURNING 1`.pipe(
      Effect.map((rows) => rows.length),
      query("GivenRepo.prune")
    )

  return { find, offers, insert, among, places, prune }
})
