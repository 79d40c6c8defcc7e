// Final transactions of the relayers, with an attempt each, as years of use leave them.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as History from "../History.ts"
import type { StellarWorld } from "./World.ts"

/** Bytes of an envelope with one payment and one signature. */
const rawBytes = 200

/** Sequences from 1 on, which are below those of accounts that a ledger makes. The lanes of the relayers exist. */
export const fill = ({ installation, plain }: StellarWorld, count: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const ids = plain.relayers.map(({ id }) => id)
    const each = Math.floor(count / ids.length)
    yield* sql`
      INSERT INTO transactions (
        id, relayer_id, relayer_number, lane_id, request, state, code, code_since, nonce, mined_attempt, valid_until,
        created_at, sent_at, mined_at, final_at
      )
      SELECT ${History.idAt(sql)}, r.id, r.seq, l.id, '{"operations":[{"type":"payment","amount":"1","asset":{"type":"native"}}]}', 'confirmed',
        'confirmed', at, nonce, 1, at, at, at, at, at
      FROM generate_series(1, ${each}::int) nonce
      CROSS JOIN LATERAL (SELECT now() - (${each}::int + 1 - nonce) * interval '1 minute' AS at) moment
      CROSS JOIN relayers r JOIN lanes l ON l.address = r.address
      WHERE r.id = ANY(${ids}::text[])`
    yield* sql`
      INSERT INTO attempts (
        transaction_id, ordinal, kind, request_version, hash, raw, nonce, offer, epoch, signed_at, sends, first_sent_at,
        first_sent_block, last_sent_at, outcome
      )
      SELECT id, 1, 'original', 1, md5(id::text) || md5(number::text), decode(repeat('ab', ${rawBytes}::int), 'hex'), nonce,
        '{"maxTime":1,"seenLedger":1,"fee":"100","out":"1","rate":"100"}', 1, created_at, 1, created_at, 1, created_at, 'accepted'
      FROM transactions WHERE nonce <= ${each}::int`
  }).pipe(Effect.provideService(SqlClient.SqlClient, installation.sql))
