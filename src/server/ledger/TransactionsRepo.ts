// The table `transactions`: transactions as its rows, and every statement that inserts or changes rows for callers and lanes.
import { Data, Effect, Option, Schema } from "effect"
import type { Array as Arr } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import { Code, Figures } from "../../networks/core/Cause.ts"
import { feeOf } from "../../networks/core/Queue.ts"
import { TransactionConflict } from "../../networks/core/Rules.ts"
import { isFinal } from "../../networks/core/Transaction.ts"
import type { Mined, Route, Transaction } from "../../networks/core/Transaction.ts"
import { maxValidity, TransactionId } from "../../networks/core/TransactionValues.ts"
import type { Moment, Place } from "../../networks/core/TransactionValues.ts"
import * as Rows from "../../sql/Rows.ts"
import { rowState, unnestRows } from "../../sql/Rows.ts"
import type { UnnestRow } from "../../sql/Rows.ts"
import { client, onConflict, query, sharedTurn, tryTurn } from "../../sql/Transaction.ts"
import type { Origin } from "../responses/CurrentRequest.ts"
import { canConflict, LaneChanged, LaneId, LedgerRules } from "./LedgerEntries.ts"
import type {
  Account,
  GapSignature,
  LedgerNetwork,
  NewTransaction,
  Signature,
  StoredTransaction
} from "./LedgerEntries.ts"
import { AttemptJson, attemptOf, attemptsOf, makeAttempts, momentOf, SignatureTaken } from "./SignaturesRepo.ts"
import type { AttemptChanges } from "./SignaturesRepo.ts"

// Transactions as the rows of the table `transactions`.

const optional = Schema.optionalKey
const json = (column: unknown): unknown => JSON.parse(String(column))

const Row = Rows.withoutNulls(
  Schema.Struct({
    id: TransactionId,
    version: Schema.Int,
    number: Schema.Int,
    relayer_id: RelayerId,
    relayer_number: Schema.Int,
    lane_id: LaneId,
    chain: Schema.String,
    address: Schema.String,
    generation: Schema.Int,
    origin: Schema.String,
    request: Schema.Unknown,
    older: optional(Schema.Array(Schema.Unknown)),
    facts: optional(Schema.Unknown),
    intent: Schema.Literals(["execute", "cancel", "expire", "clear"]),
    clear_code: optional(Code),
    clear_price: optional(Schema.BigIntFromString),
    state: Schema.Literals(["pending", "signed", "submitted", "mined", "confirmed", "failed", "canceled", "expired"]),
    code: optional(Code),
    code_since: Schema.Int,
    figures: optional(Schema.Unknown),
    priority: Schema.Int,
    nonce: optional(Schema.BigIntFromString),
    channel: optional(Schema.String),
    guest: optional(Schema.String),
    receipt: optional(Schema.Unknown),
    mined_attempt: optional(Schema.Int),
    restored: Schema.Boolean,
    required_nonce: optional(Schema.BigIntFromString),
    external_id: optional(Schema.String),
    api_key_id: optional(Schema.String),
    request_id: optional(Schema.String),
    trace: optional(Schema.String),
    valid_until: Schema.Int,
    not_before: optional(Schema.Int),
    requeues: Schema.Int,
    route: Schema.Literals(["public", "private", "fell_back"]),
    fallback_after: optional(Schema.Int),
    normal_estimates: Schema.Boolean,
    route_since: optional(Schema.Int),
    seen_publicly_at: optional(Schema.Int),
    yields: optional(Schema.Int),
    paid_before: optional(Schema.BigIntFromString),
    confirmed_by: optional(Schema.Int),
    fee: optional(Schema.BigIntFromString),
    created_at: Schema.Int,
    final_at: optional(Schema.Int),
    attempts: optional(Schema.Array(AttemptJson))
  }),
  { request: json, older: json, facts: json, figures: json, receipt: json, attempts: json }
)
type Row = (typeof Row)["Type"]

const read = Rows.allPaced(Row)

const columnsWith = (sql: SqlClient.SqlClient, json: (request: Statement.Fragment) => Statement.Fragment) => {
  const number = (column: string) => sql`t.${sql(column)}::float8 AS ${sql(column)}`
  const millis = (column: string) =>
    sql`(extract(epoch FROM t.${sql(column)}) * 1000)::bigint::float8 AS ${sql(column)}`
  return sql`
    t.id, ${number("version")}, ${number("number")}, t.relayer_id, ${number("relayer_number")}, ${number("lane_id")}, l.chain, l.address,
    t.generation, t.origin, ${json(sql`t.request`)}::text AS request, t.intent, t.clear_code, t.clear_price::text AS clear_price, t.state, t.code, ${millis("code_since")},
    t.figures::text AS figures, t.priority, t.nonce::text AS nonce, t.guest,
    CASE WHEN t.channel_id IS NOT NULL THEN (SELECT c.address FROM lanes c WHERE c.id = t.channel_id) END AS channel,
    t.facts::text AS facts, t.receipt::text AS receipt, t.mined_attempt, t.restored,
    t.required_nonce::text AS required_nonce,
    t.external_id, t.api_key_id, t.request_id, t.trace, ${millis("valid_until")}, ${millis("not_before")}, t.requeues, t.yields,
    t.paid_before::text AS paid_before, t.confirmed_by, t.route, ${number("fallback_after")}, ${millis("route_since")}, ${millis("seen_publicly_at")},
    t.normal_estimates,
    t.fee::text AS fee, ${millis("created_at")}, ${millis("final_at")},
    CASE WHEN t.request_version > 1 THEN (
      SELECT json_agg(${json(sql`v.request`)} ORDER BY v.version)::text FROM transaction_requests v WHERE v.transaction_id = t.id
    ) END AS older,
    ${attemptsOf(sql)}`
}

/** The columns of the transaction `t` and its lane `l`. */
export const transactionColumns = (sql: SqlClient.SqlClient) => columnsWith(sql, (request) => request)

/** The same, with requests that lack their `data`. */
export const transactionColumnsWithoutData = (sql: SqlClient.SqlClient) =>
  columnsWith(sql, (request) => sql`(${request}::jsonb - 'data')`)

type Optional<A> = { readonly [K in keyof A]?: Exclude<A[K], undefined> }

/** Without the fields that are undefined. */
const presentFields = <A extends object>(fields: A): Optional<A> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Optional<A>

const placeOf = ({ address, channel = address, guest, nonce }: Row): Place | undefined => {
  if (guest !== undefined) return { account: guest }
  return nonce === undefined ? undefined : { account: channel, sequence: nonce }
}

const versionsOf = ({ request }: LedgerNetwork, row: Row): Arr.NonEmptyReadonlyArray<unknown> => {
  const [first, ...others] = (row.older ?? []).map((older) => request.decode(older))
  const newest = request.decode(row.request)
  return row.older === undefined || row.older.length === 0 ? [newest] : [first, ...others, newest]
}

const readFigures = Schema.decodeUnknownOption(Figures)

/** None if another version of the service has written figures in a form that this one does not know. */
const figuresOf = ({ figures }: Row): Figures =>
  figures === undefined ? {} : Option.getOrElse(readFigures(figures), () => ({}))

/** The receipt of an attempt, or of bytes of somebody else. */
const minedOf = (
  { receipt }: LedgerNetwork,
  row: Row,
  attempts: ReadonlyArray<ReturnType<typeof attemptOf>>
): Mined | undefined => {
  if (row.mined_attempt === undefined) {
    return row.receipt === undefined ? undefined : { receipt: receipt.decode(row.receipt) }
  }
  const found = attempts.find(({ attempt }) => attempt.ordinal === row.mined_attempt)?.receipt
  return found === undefined ? undefined : { ordinal: row.mined_attempt, receipt: found }
}

const routeOf = ({
  route,
  fallback_after: fallbackAfter,
  route_since: since,
  seen_publicly_at: seenPublicly,
  normal_estimates
}: Row): Route | undefined =>
  route === "public"
    ? undefined
    : {
        kind: route,
        ...presentFields({ fallbackAfter, since, seenPublicly }),
        ...(normal_estimates ? { estimates: "normal" } : {})
      }

const transactionOf = (network: LedgerNetwork, row: Row): Transaction => {
  const attempts = (row.attempts ?? []).map((attempt) => attemptOf(network, row.address, attempt))
  return {
    number: row.number,
    relayerNumber: row.relayer_number,
    origin: row.origin,
    generation: row.generation,
    versions: versionsOf(network, row),
    facts: network.facts.decode(row.facts ?? {}),
    intent: row.intent,
    state: row.state,
    causeSince: row.code_since,
    priority: row.priority,
    restored: row.restored,
    validUntil: row.valid_until,
    requeues: row.requeues,
    createdAt: row.created_at,
    attempts: attempts.map(({ attempt }) => attempt),
    ...presentFields({
      clearCode: row.clear_code,
      clearPrice: row.clear_price,
      yields: row.yields,
      paidBefore: row.paid_before,
      cause: row.code === undefined ? undefined : { code: row.code, figures: figuresOf(row) },
      route: routeOf(row),
      place: placeOf(row),
      mined: minedOf(network, row, attempts),
      confirmedBy: row.confirmed_by,
      requiredSequence: row.required_nonce,
      notBefore: row.not_before
    })
  }
}

const storedOf = (network: LedgerNetwork, row: Row): StoredTransaction => ({
  id: row.id,
  version: row.version,
  laneId: row.lane_id,
  relayerId: row.relayer_id,
  chain: row.chain,
  from: row.address,
  transaction: transactionOf(network, row),
  ...presentFields({
    externalId: row.external_id,
    apiKeyId: row.api_key_id,
    requestId: row.request_id,
    trace: row.trace,
    confirmedAt: row.state === "confirmed" ? row.final_at : undefined,
    fee: row.fee
  })
})

export const transactionReader = (networks: LedgerRules["Service"]) =>
  Effect.fnUntraced(function* (rows: ReadonlyArray<unknown>) {
    return (yield* read(rows)).map((row) => storedOf(networks.of(row.chain), row))
  })

const encodeFigures = Schema.encodeSync(Figures)

const text = (value: number | bigint | undefined): string | null => (value === undefined ? null : String(value))

/** What changes in a row while a transaction is open. `stored` is the transaction after the change, with the version that the row had before it. */
const columnsOf = ({ receipt }: LedgerNetwork, stored: StoredTransaction, now: Moment) => {
  const { id, version, fee, from, transaction } = stored
  const { cause, mined, place, attempts } = transaction
  return {
    id,
    version: String(version),
    generation: String(transaction.generation),
    intent: transaction.intent,
    clear_code: transaction.clearCode ?? null,
    clear_price: text(transaction.clearPrice),
    state: transaction.state,
    code: cause?.code ?? null,
    code_since: String(transaction.causeSince),
    figures: cause === undefined ? null : JSON.stringify(encodeFigures(cause.figures)),
    nonce: text(place?.sequence),
    channel: place === undefined || place.sequence === undefined || place.account === from ? null : place.account,
    guest: place !== undefined && place.sequence === undefined ? place.account : null,
    receipt: mined === undefined || mined.ordinal !== undefined ? null : receipt.text(mined.receipt),
    // Bytes that had an effect are never accepted again. Without an effect, the same request may come again.
    has_effect: String(!isFinal(transaction) || mined !== undefined),
    mined_attempt: text(mined?.ordinal),
    restored: String(transaction.restored),
    requeues: String(transaction.requeues),
    yields: text(transaction.yields),
    paid_before: text(transaction.paidBefore),
    route: transaction.route?.kind ?? "public",
    route_since: text(transaction.route?.since),
    seen_publicly_at: text(transaction.route?.seenPublicly),
    confirmed_by: text(transaction.confirmedBy),
    fee: fee === undefined ? null : String(feeOf(transaction, fee)),
    sent_at: text(attempts.find(({ firstSent }) => firstSent !== undefined)?.firstSent?.at),
    mined_at: mined === undefined ? null : String(now),
    final_at: isFinal(transaction) ? String(now) : null
  }
}

/** Identifies a state of a row. */
export const RowState = Schema.Struct({ id: TransactionId, version: Schema.Int })
export type RowState = typeof RowState.Type

const readStates = Rows.all(RowState)

/** A statement that takes the locks for a write. If it returns no row, nothing is written. */
export type Gate = Statement.Fragment

/** The gate of a write returned no row. */
export class GateClosed extends Data.TaggedError("GateClosed") {}

/** One row without an id if the gate is open and nothing was written. */
const readWritten = Rows.all(Schema.Struct({ id: Schema.NullOr(TransactionId) }))

/** Another request was accepted since the check. */
const sameBytes = "already_accepted: another transaction has the same bytes"
const sameSequence = "sequence_in_use: another open transaction uses the same sequence"

export const make = Effect.gen(function* () {
  const sql = yield* client
  const networks = yield* LedgerRules
  const readRows = transactionReader(networks)
  const attempts = yield* makeAttempts
  const moment = (column: string) => momentOf(sql, column)

  // A row of an older generation can have the bytes of one of its new generation: then it gives up its identity.
  const isUnique = sql`(t.identity IS NULL OR t.generation = given.generation::integer OR NOT EXISTS (
    SELECT FROM transactions o WHERE o.generation = given.generation::integer AND o.identity = t.identity
  ))`

  /** In the order of their numbers. Ids that do not exist are left out. */
  const find = (ids: ReadonlyArray<TransactionId>) =>
    ids.length === 0
      ? Effect.succeed([])
      : sql`
          SELECT ${transactionColumns(sql)} FROM transactions t JOIN lanes l ON l.id = t.lane_id
          WHERE t.id = ANY(${ids}::uuid[]) ORDER BY t.number`.pipe(
          Effect.flatMap(readRows),
          query("TransactionsRepo.find")
        )

  /** Locks the row of a relayer's transaction until the transaction ends. */
  const hold = (relayerNumber: number, id: TransactionId) =>
    sql`
      SELECT 1 FROM transactions t WHERE t.id = ${id}::uuid AND t.relayer_number = ${relayerNumber}::bigint
      FOR NO KEY UPDATE`.pipe(
      Effect.flatMap((rows) => find(rows.length === 0 ? [] : [id])),
      Effect.map(([row]) => Option.fromUndefinedOr(row)),
      query("TransactionsRepo.hold")
    )

  /** Locks the rows, in the order of their numbers, until the transaction ends. */
  const lock = (ids: ReadonlyArray<TransactionId>) =>
    sql`
      SELECT t.id, t.version::float8 AS version FROM transactions t WHERE t.id = ANY(${ids}::uuid[])
      ORDER BY t.number FOR NO KEY UPDATE`.pipe(Effect.flatMap(readStates), query("TransactionsRepo.lock"))

  /** What can change in a row `t`, except the request, by the columns of `given`. */
  const values = sql`
    generation = given.generation::integer, intent = given.intent,
    clear_code = given.clear_code, clear_price = given.clear_price::numeric, state = given.state, code = given.code, code_since = ${moment("code_since")},
    figures = given.figures::json, nonce = given.nonce::bigint, guest = given.guest, receipt = given.receipt::json,
    channel_id = CASE WHEN given.channel IS NOT NULL THEN (
      SELECT c.id FROM lanes c WHERE c.parent_id = t.lane_id AND c.address = given.channel
    ) END,
    identity = CASE WHEN given.has_effect::boolean AND ${isUnique} THEN t.identity END,
    mined_attempt = given.mined_attempt::integer, restored = given.restored::boolean,
    requeues = given.requeues::smallint, yields = given.yields::smallint, paid_before = given.paid_before::numeric,
    route = given.route, route_since = ${moment("route_since")},
    seen_publicly_at = ${moment("seen_publicly_at")}, confirmed_by = given.confirmed_by::smallint, fee = given.fee::numeric, sent_at = ${moment("sent_at")},
    mined_at = CASE WHEN given.mined_at IS NOT NULL THEN coalesce(t.mined_at, ${moment("mined_at")}) END,
    final_at = coalesce(t.final_at, ${moment("final_at")}), version = t.version + 1`

  /** The columns of `given` of a transaction, which has the version that its row had when it was read. */
  const changeOf = (stored: StoredTransaction, now: Moment) => columnsOf(networks.of(stored.chain), stored, now)

  /**
   * Locks the rows in the order of their numbers, and writes what can change, except the request, with their attempts. Each
   * transaction has the version that its row had when it was read. Returns those that were written. Rows with another version stay as
   * they were, and so do rows whose new signature a caller already got by `sign-transaction`. The gate is part of the statement, which
   * saves a round trip, and it is passed before any row is locked.
   */
  const update = (
    changed: ReadonlyArray<StoredTransaction>,
    of: AttemptChanges,
    now: Moment,
    gate: Gate = sql`SELECT 1`
  ) => {
    const written = sql`
      gate AS MATERIALIZED (${gate}),
      given AS (
        SELECT given.* FROM ${unnestRows(
          sql,
          changed.map((stored) => changeOf(stored, now))
        )}
        JOIN transactions t ON t.id = given.id::uuid
        WHERE (SELECT count(*) FROM gate) = 1 AND NOT ${attempts.isGiven(of.signed)} ORDER BY t.number FOR NO KEY UPDATE OF t
      ),
      written AS (
        UPDATE transactions t SET ${values}
        FROM given WHERE t.id = given.id::uuid AND t.version = given.version::bigint
        RETURNING t.id
      )`
    const parts = [written, ...attempts.writing(of, "written")]
    return sql`WITH ${sql.join(", ", false)(parts)} SELECT written.id FROM gate LEFT JOIN written ON true`.pipe(
      Effect.flatMap(readWritten),
      Effect.filterOrFail(
        (rows) => rows.length > 0,
        () => new GateClosed()
      ),
      Effect.map((rows) => new Set(rows.flatMap(({ id }) => id ?? []))),
      onConflict("attempts_signature_key", () => new SignatureTaken()),
      query("TransactionsRepo.update")
    )
  }

  /** Keeps the newest request as a former version. The row is locked. */
  const addRequest = (
    { id, chain }: StoredTransaction,
    request: unknown,
    validUntil: Moment,
    { identity, exclusive }: Pick<NewTransaction, "identity" | "exclusive">
  ) =>
    sql`
      WITH kept AS (
        INSERT INTO transaction_requests (transaction_id, version, request)
        SELECT t.id, t.request_version, t.request FROM transactions t WHERE t.id = ${id}::uuid
      )
      UPDATE transactions t SET request = ${networks.of(chain).request.text(request)}::text::json, request_version = t.request_version + 1,
        valid_until = to_timestamp(${validUntil}::float8 / 1000), identity = ${identity ?? null}::text,
        exclusive = ${exclusive ?? null}::text
      WHERE t.id = ${id}::uuid`.pipe(
      onConflict("transactions_identity_key", () => new TransactionConflict({ error: sameBytes })),
      onConflict("transactions_exclusive_key", () => new TransactionConflict({ error: sameSequence })),
      Effect.asVoid,
      query("TransactionsRepo.addRequest")
    )

  /** What stays pending keeps its identity in the new generation, so that the same bytes are not accepted again. */
  const moveIdentities = (lane: LaneId, generation: number) =>
    sql`
      UPDATE transactions SET generation = ${generation}
      WHERE lane_id = ${lane}::bigint AND state = 'pending' AND identity IS NOT NULL`.pipe(
      Effect.asVoid,
      query("TransactionsRepo.moveIdentities")
    )

  return { find, hold, lock, values, changeOf, update, addRequest, moveIdentities }
})

// Inserts accepted transactions into the table `transactions`.

/** A transaction of a request. */
export interface Acceptance {
  readonly account: Account
  readonly transaction: NewTransaction
  /** Identifies the body. */
  readonly bodyHash: string
  readonly origin: Origin
  /** `traceparent`. */
  readonly trace: string | undefined
  readonly now: Moment
}

const Inserted = Schema.Struct({ id: TransactionId, number: Schema.Int, lane_id: LaneId, generation: Schema.Int })
export type Inserted = typeof Inserted.Type

export const readInserted = Rows.all(Inserted)
const readRelayer = Rows.first(Schema.Struct({ paused: Schema.Boolean }))

const textOrNull = (value: number | bigint | undefined) => (value === undefined ? null : String(value))

const givenOf = (
  network: LedgerNetwork,
  { account, transaction, bodyHash, origin, trace, now }: Acceptance
): UnnestRow => ({
  id: transaction.id,
  relayer_id: account.relayerId,
  relayer_number: String(account.relayerNumber),
  chain: account.chain,
  address: account.address,
  request: network.request.text(transaction.request),
  facts: network.facts.text(transaction.facts),
  identity: transaction.identity ?? null,
  exclusive: transaction.exclusive ?? null,
  body_hash: bodyHash,
  priority: String(transaction.priority),
  required_nonce: textOrNull(transaction.requiredSequence),
  external_id: transaction.externalId ?? null,
  api_key_id: origin.keyId,
  request_id: origin.requestId,
  trace: trace ?? null,
  valid_until: String(transaction.validUntil),
  not_before: textOrNull(transaction.notBefore),
  fee: textOrNull(transaction.fee),
  route: transaction.route?.kind ?? "public",
  fallback_after: textOrNull(transaction.route?.fallbackAfter),
  normal_estimates: String(transaction.route?.estimates === "normal"),
  now: String(now)
})

/** The parts of statements that insert accepted transactions. */
export const makeInsertion = Effect.gen(function* () {
  const sql = yield* client
  const networks = yield* LedgerRules
  const moment = (column: string) => momentOf(sql, column)

  /**
   * The rows, and the relayers that may send: not those that are paused or do not exist. `waits`: for relayers
   * that are being changed; otherwise they are left out. `FOR SHARE` reads a relayer anew that was changed after the statement
   * began, and keeps it as it is until the transaction ends. `FOR KEY SHARE` would do neither for a pause. Turns are taken of the given numbers,
   * before the table is read: as a condition on `relayers`, a plan that reads the whole table would take the turns of all relayers.
   */
  const sendingOf = (rows: ReadonlyArray<UnnestRow>, waits: boolean) => sql`
    given AS MATERIALIZED (SELECT * FROM ${unnestRows(sql, rows)}),
    asked AS MATERIALIZED (SELECT DISTINCT relayer_number::bigint AS seq FROM given),
    turns AS MATERIALIZED (SELECT seq FROM asked ${waits ? sql`` : sql`WHERE ${tryTurn(sql, sql`seq`)}`}),
    sending AS (
      SELECT r.seq, r.notification_id AS notified, ${rowState(sql, "r")} AS state FROM relayers r
      WHERE r.seq IN (SELECT seq FROM turns) AND NOT r.paused FOR SHARE ${waits ? sql`` : sql`SKIP LOCKED`}
    )`

  /** Inserts rows that fit, in their order. Those whose account belongs to the lane of another one are left out. */
  const insertSending = (fits: Statement.Fragment) => sql`
    INSERT INTO transactions (
      id, relayer_id, relayer_number, lane_id, generation, request, facts, identity, exclusive, body_hash, state, code, code_since, figures, priority,
      required_nonce, external_id, api_key_id, request_id, trace, valid_until, not_before, fee, route, fallback_after,
      normal_estimates, created_at
    )
    SELECT given.id::uuid, relayer_id, relayer_number::bigint, l.id, l.generation, request::json, facts::json, identity, exclusive, body_hash, 'pending',
      'queued', ${moment("now")}, '{}', priority::smallint, required_nonce::bigint, external_id, api_key_id, request_id,
      trace, ${moment("valid_until")}, ${moment("not_before")}, fee::numeric, route, fallback_after::bigint,
      normal_estimates::boolean, ${moment("now")}
    FROM given JOIN sending ON sending.seq = given.relayer_number::bigint AND ${fits}
    JOIN lanes l ON l.chain = given.chain AND l.address = given.address AND l.parent_id IS NULL
    ORDER BY n`

  const rowOf = (acceptance: Acceptance) => givenOf(networks.of(acceptance.account.chain), acceptance)
  const inserted = sql`id, number::float8 AS number, lane_id::float8 AS lane_id, generation`

  return { sendingOf, insertSending, rowOf, inserted }
})

export const makeNewTransactions = Effect.gen(function* () {
  const sql = yield* client
  const { sendingOf, insertSending, rowOf, inserted } = yield* makeInsertion

  /** Left out are also those whose `external_id`, `identity` or `exclusive` another transaction has. */
  const insert = (acceptances: ReadonlyArray<Acceptance>, waits: boolean) =>
    sql`
      WITH ${sendingOf(acceptances.map(rowOf), waits)}
      ${insertSending(sql`true`)}
      ${acceptances.some(({ transaction }) => canConflict(transaction)) ? sql`ON CONFLICT DO NOTHING` : sql``}
      RETURNING ${inserted}`.pipe(Effect.flatMap(readInserted), query("NewTransactionsRepo.insert"))

  /** Whether the relayer is paused. It stays as it is until the transaction ends. None if it does not exist. */
  const holdRelayer = (relayerNumber: number) => {
    const number = sql`${relayerNumber}::bigint`
    return sql`
      WITH turn AS MATERIALIZED (SELECT ${sharedTurn(sql, number)})
      SELECT r.paused FROM turn CROSS JOIN relayers r WHERE r.seq = ${number} FOR SHARE OF r`.pipe(
      Effect.flatMap(readRelayer),
      query("NewTransactionsRepo.holdRelayer")
    )
  }

  return { insert, holdRelayer }
})

// Inserts no-ops for sequences that nothing uses into the table `transactions`.

export const makeFillers = Effect.gen(function* () {
  const sql = yield* client
  const networks = yield* LedgerRules
  const moment = (column: string) => momentOf(sql, column)

  /** Fails if one of the nonces is used. `owner`: its relayer is shown for them. */
  const insert = (lane: LaneId, owner: StoredTransaction, gaps: ReadonlyArray<GapSignature>, now: Moment) => {
    const rows = gaps.map(({ id, request, attempt, cause }) => ({
      id,
      relayer_id: owner.relayerId,
      relayer_number: String(owner.transaction.relayerNumber),
      generation: String(attempt.generation),
      request: networks.of(owner.chain).request.text(request),
      code: cause.code,
      nonce: String(attempt.place.sequence),
      now: String(now),
      valid_until: String(now + maxValidity)
    }))
    return sql`
      INSERT INTO transactions (
        id, relayer_id, relayer_number, lane_id, generation, origin, request, intent, clear_code, state, code, code_since,
        figures, nonce, valid_until, created_at
      )
      SELECT id::uuid, relayer_id, relayer_number::bigint, ${lane}::bigint, generation::integer, 'gap', request::json,
        'clear', 'gap_filled', 'signed', code, ${moment("now")}, '{}', nonce::bigint, ${moment("valid_until")},
        ${moment("now")}
      FROM ${unnestRows(sql, rows)} ORDER BY n`.pipe(
      onConflict("transactions_nonce_key", () => new LaneChanged({ laneId: lane })),
      Effect.asVoid,
      query("FillersRepo.insert")
    )
  }

  /** A row without bytes, for the sequence after that of a signature: the bytes of the signature use it, too. */
  const insertNext = (lane: LaneId, { stored, attempt, next }: Signature, now: Moment) =>
    next === undefined
      ? Effect.void
      : sql`
          INSERT INTO transactions (
            id, relayer_id, relayer_number, lane_id, generation, origin, request, intent, clear_code, state, code, code_since,
            figures, nonce, valid_until, created_at
          )
          SELECT ${next.id}::uuid, ${stored.relayerId}, ${String(stored.transaction.relayerNumber)}::bigint, ${lane}::bigint,
            ${String(attempt.generation)}::integer, ${next.origin}, ${networks.of(stored.chain).request.text(next.request)}::json,
            'clear', 'gap_filled', 'submitted', 'waits_for_predecessors', to_timestamp(${now}::float8 / 1000), '{}',
            ${String((attempt.place.sequence ?? 0n) + 1n)}::bigint, to_timestamp(${now + maxValidity}::float8 / 1000),
            to_timestamp(${now}::float8 / 1000)`.pipe(
          onConflict("transactions_nonce_key", () => new LaneChanged({ laneId: lane })),
          Effect.asVoid,
          query("FillersRepo.insertNext")
        )

  return { insert, insertNext }
})
