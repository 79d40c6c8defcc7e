// Inserts accepted transactions into the table `transactions`.
import { Effect, Schema } from "effect"
import { TransactionId } from "../../../domain/transaction/TransactionId.ts"
import type { Moment } from "../../../domain/transaction/Moment.ts"
import { client, query } from "../../../sql/Query.ts"
import * as Rows from "../../../sql/Rows.ts"
import { unnestRows } from "../../../sql/Rows.ts"
import type { UnnestRow } from "../../../sql/Rows.ts"
import { sharedTurn, tryTurn } from "../../../sql/Transaction.ts"
import type { Origin } from "../../responses/CurrentRequest.ts"
import { momentOf } from "../write/AttemptsRepo.ts"
import type { Account, NewTransaction } from "../NewTransaction.ts"
import { LedgerRules } from "../LedgerRules.ts"
import type { LedgerNetwork } from "../LedgerRules.ts"
import { LaneId } from "../StoredLane.ts"

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

const readInserted = Rows.all(Inserted)
const readRelayer = Rows.first(Schema.Struct({ paused: Schema.Boolean }))

const text = (value: number | bigint | undefined) => (value === undefined ? null : String(value))

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
  required_nonce: text(transaction.requiredSequence),
  external_id: transaction.externalId ?? null,
  api_key_id: origin.keyId,
  request_id: origin.requestId,
  trace: trace ?? null,
  valid_until: String(transaction.validUntil),
  not_before: text(transaction.notBefore),
  fee: text(transaction.fee),
  now: String(now)
})

/** Has what another transaction may have, too. The rest is inserted faster without a look for conflicts. */
const canConflict = ({ transaction: { externalId, identity, exclusive } }: Acceptance): boolean =>
  externalId !== undefined || identity !== undefined || exclusive !== undefined

export const make = Effect.gen(function* () {
  const sql = yield* client
  const networks = yield* LedgerRules
  const moment = (column: string) => momentOf(sql, column)

  /**
   * Inserts them in their order. Left out are those of relayers that are paused or do not exist, those whose account belongs to the
   * lane of another one, and those whose `external_id`, `identity` or `exclusive` another transaction has. `waits`: for relayers
   * that are being changed; otherwise their transactions are left out. `FOR SHARE` reads a relayer anew that was changed after the statement
   * began, and keeps it as it is until the transaction ends. `FOR KEY SHARE` would do neither for a pause. Turns are taken of the given numbers,
   * before the table is read: as a condition on `relayers`, a plan that reads the whole table would take the turns of all relayers.
   */
  const insert = (acceptances: ReadonlyArray<Acceptance>, waits: boolean) =>
    sql`
      WITH given AS (SELECT * FROM ${unnestRows(
        sql,
        acceptances.map((one) => givenOf(networks.of(one.account.chain), one))
      )}),
      asked AS MATERIALIZED (SELECT DISTINCT relayer_number::bigint AS seq FROM given),
      turns AS MATERIALIZED (SELECT seq FROM asked ${waits ? sql`` : sql`WHERE ${tryTurn(sql, sql`seq`)}`}),
      sending AS (
        SELECT r.seq FROM relayers r
        WHERE r.seq IN (SELECT seq FROM turns) AND NOT r.paused FOR SHARE ${waits ? sql`` : sql`SKIP LOCKED`}
      )
      INSERT INTO transactions (
        id, relayer_id, relayer_number, lane_id, generation, request, facts, identity, exclusive, body_hash, state, code, code_since, figures, priority,
        required_nonce, external_id, api_key_id, request_id, trace, valid_until, not_before, fee, created_at
      )
      SELECT given.id::uuid, relayer_id, relayer_number::bigint, l.id, l.generation, request::json, facts::json, identity, exclusive, body_hash, 'pending',
        'queued', ${moment("now")}, '{}', priority::smallint, required_nonce::bigint, external_id, api_key_id, request_id,
        trace, ${moment("valid_until")}, ${moment("not_before")}, fee::numeric, ${moment("now")}
      FROM given JOIN sending ON sending.seq = given.relayer_number::bigint
      JOIN lanes l ON l.chain = given.chain AND l.address = given.address AND l.parent_id IS NULL
      ORDER BY n
      ${acceptances.some(canConflict) ? sql`ON CONFLICT DO NOTHING` : sql``}
      RETURNING id, number::float8 AS number, lane_id::float8 AS lane_id, generation`.pipe(
      Effect.flatMap(readInserted),
      query("NewTransactionsRepo.insert")
    )

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
