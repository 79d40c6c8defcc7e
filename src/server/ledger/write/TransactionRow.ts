// Transactions as the rows of the table `transactions`.
import { Effect, Option, Schema } from "effect"
import type { Array as Arr } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { Figures } from "../../../domain/transaction/Cause.ts"
import { Code } from "../../../domain/transaction/Code.ts"
import { TransactionId } from "../../../domain/transaction/TransactionId.ts"
import type { Place } from "../../../domain/transaction/Place.ts"
import type { Mined, Transaction } from "../../../domain/transaction/Transaction.ts"
import { RelayerId } from "../../../domain/relayer/Relayer.ts"
import * as Rows from "../../../sql/Rows.ts"
import { AttemptJson, attemptOf, attemptsOf } from "./AttemptsRepo.ts"
import type { LedgerNetwork, LedgerRules } from "../LedgerRules.ts"
import { LaneId } from "../StoredLane.ts"
import type { StoredTransaction } from "../StoredTransaction.ts"

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
    t.paid_before::text AS paid_before, t.confirmed_by,
    t.fee::text AS fee, ${millis("created_at")}, ${millis("final_at")},
    CASE WHEN t.request_version > 1 THEN (
      SELECT json_agg(${json(sql`v.request`)} ORDER BY v.version)::text FROM transaction_requests v WHERE v.transaction_id = t.id
    ) END AS older,
    ${attemptsOf(sql)}`
}

/** The columns of the transaction `t` and its lane `l`. */
export const columns = (sql: SqlClient.SqlClient) => columnsWith(sql, (request) => request)

/** The same, with requests that lack their `data`. */
export const columnsWithoutData = (sql: SqlClient.SqlClient) =>
  columnsWith(sql, (request) => sql`(${request}::jsonb - 'data')`)

type Optional<A> = { readonly [K in keyof A]?: Exclude<A[K], undefined> }

/** Without the fields that are undefined. */
const present = <A extends object>(fields: A): Optional<A> =>
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
    ...present({
      clearCode: row.clear_code,
      clearPrice: row.clear_price,
      yields: row.yields,
      paidBefore: row.paid_before,
      cause: row.code === undefined ? undefined : { code: row.code, figures: figuresOf(row) },
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
  ...present({
    externalId: row.external_id,
    apiKeyId: row.api_key_id,
    requestId: row.request_id,
    trace: row.trace,
    confirmedAt: row.state === "confirmed" ? row.final_at : undefined,
    fee: row.fee
  })
})

export const reader = (networks: LedgerRules["Service"]) =>
  Effect.fnUntraced(function* (rows: ReadonlyArray<unknown>) {
    return (yield* read(rows)).map((row) => storedOf(networks.of(row.chain), row))
  })
