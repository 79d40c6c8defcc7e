// Final transactions of the relayers, with an attempt each, as years of use leave them.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as History from "../History.ts"
import * as Memos from "./Memos.ts"
import { firstPlace, wide } from "./World.ts"
import type { SolanaWorld } from "./World.ts"

/** Bytes of a signed memo. */
const rawBytes = 250

const facts = JSON.stringify({ isPrebuilt: false, isRefreshable: true })

const offer = JSON.stringify({
  blockhash: "4".repeat(44),
  bound: 1000,
  signedSlot: 900,
  computeUnitLimit: 1000,
  computeUnitPrice: "0",
  fee: "5000",
  out: "0"
})

const receipt = JSON.stringify({ slot: 901, isSuccess: true, paid: "5000" })

/** At most `firstPlace` per relayer: they have the places below it. Hashes are as long as signatures. */
const insert = Effect.fnUntraced(function* (ids: ReadonlyArray<string>, count: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    INSERT INTO transactions (
      id, relayer_id, relayer_number, lane_id, request, facts, state, code, code_since, nonce, mined_attempt, valid_until,
      created_at, sent_at, mined_at, final_at
    )
    SELECT ${History.idAt(sql)}, r.id, r.seq, l.id, ${Memos.request}::json, ${facts}::json, 'confirmed', 'confirmed', at, nonce, 1, at,
      at, at, at, at
    FROM generate_series(0, ${Math.floor(count / ids.length) - 1}::int) nonce
    CROSS JOIN LATERAL (SELECT now() - (${firstPlace}::int - nonce) * interval '1 minute' AS at) moment
    CROSS JOIN relayers r JOIN lanes l ON l.address = r.address AND l.chain = ${`solana:${wide.name}`}
    WHERE r.id = ANY(${ids}::text[])`
  yield* sql`
    INSERT INTO attempts (
      transaction_id, ordinal, kind, request_version, hash, raw, nonce, offer, receipt, epoch, signed_at, sends, first_sent_at,
      first_sent_block, last_sent_at, outcome
    )
    SELECT id, 1, 'original', 1, left(md5(id::text) || md5(number::text) || md5(nonce::text), 88),
      decode(repeat('ab', ${rawBytes}::int), 'hex'), nonce, ${offer}::json, ${receipt}::json, 1, created_at, 1, created_at, 1,
      created_at, 'accepted'
    FROM transactions WHERE nonce < ${firstPlace}::int`
})

export const fill = ({ installation, wide: { relayers } }: SolanaWorld, count: number) =>
  insert(
    relayers.map(({ id }) => id),
    count
  ).pipe(Effect.provideService(SqlClient.SqlClient, installation.sql))
