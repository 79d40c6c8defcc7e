// Final transactions of the relayers, with an attempt each, as years of use leave them.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as History from "../History.ts"
import { firstNonce } from "./World.ts"
import type { EvmWorld } from "./World.ts"

/** Bytes of a signed transfer. */
const rawBytes = 116

/** At most `firstNonce` per relayer: they have the nonces below it. */
const insert = Effect.fnUntraced(function* (ids: ReadonlyArray<string>, count: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    INSERT INTO transactions (
      id, relayer_id, relayer_number, lane_id, request, state, code, code_since, nonce, mined_attempt, valid_until,
      created_at, sent_at, mined_at, final_at
    )
    SELECT ${History.idAt(sql)}, r.id, r.seq, l.id, '{"value":"1","gas_limit":"21000"}', 'confirmed', 'confirmed', at, nonce, 1, at,
      at, at, at, at
    FROM generate_series(0, ${Math.floor(count / ids.length) - 1}::int) nonce
    CROSS JOIN LATERAL (SELECT now() - (${firstNonce}::int - nonce) * interval '1 minute' AS at) moment
    CROSS JOIN relayers r JOIN lanes l ON l.address = lower(r.address)
    WHERE r.id = ANY(${ids}::text[])`
  yield* sql`
    INSERT INTO attempts (
      transaction_id, ordinal, kind, request_version, hash, raw, nonce, offer, epoch, signed_at, sends, first_sent_at,
      first_sent_block, last_sent_at, outcome
    )
    SELECT id, 1, 'original', 1, '0x' || md5(id::text) || md5(number::text), decode(repeat('ab', ${rawBytes}::int), 'hex'), nonce,
      '{"type":"eip1559","maxFee":"2000000000","tip":"1000000000","gasLimit":"21000"}', 1, created_at, 1, created_at, 1, created_at, 'accepted'
    FROM transactions WHERE nonce < ${firstNonce}::int`
})

export const fill = ({ installation, wide }: EvmWorld, count: number) =>
  insert(
    wide.relayers.map(({ id }) => id),
    count
  ).pipe(Effect.provideService(SqlClient.SqlClient, installation.sql))
