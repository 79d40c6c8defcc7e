// Inserts many signers and relayers at once, as the service would write them. Triggers and constraints apply.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { authenticateRows } from "../../testkit/authenticateRows.ts"

/** The policies of every relayer of the benchmark. */
export const policies = {
  eip1559_pricing: true,
  gas_price_cap: 100_000_000_000,
  min_balance: 1_000_000_000_000_000,
  whitelist_receivers: ["0x742d35Cc6634C0532925a3b844Bc454e4438f44e", "0x53d284357ec70cE289D6D64134DfAc8E511c8a3D"]
}

/** Prefix of the ids of signers that no relayer uses yet. */
export const freshSigner = "c"

/** Rows per statement. Each batch is inserted in the order of ids, so that it visits the pages of indexes in order. */
const batch = 250_000

/** Gives the rows that were inserted the MACs that the service would have written. Schemas before 18 have none. */
export const authenticate = Effect.fnUntraced(function* (masterKey: Uint8Array) {
  const sql = yield* SqlClient.SqlClient
  const columns = yield* sql`
    SELECT 1 FROM information_schema.columns WHERE table_name = 'relayers' AND column_name = 'mac'`
  if (columns.length === 0) return
  yield* authenticateRows(masterKey)
})

/** The update of every row has left a dead version of it. */
export const compact = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const table of ["relayers", "signers"]) yield* sql`VACUUM (FULL, ANALYZE) ${sql(table)}`
})

/** Inserts signers with the ids `prefix` + 9 digits, from `from` + 1 to `to`. They have no keys, because nothing is signed. */
export const signers = Effect.fnUntraced(function* (prefix: string, from: number, to: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    INSERT INTO signers (id, type, evm_address, solana_address, stellar_address)
    SELECT ${prefix}::text || lpad(n::text, 9, '0'), 'plain', '0x' || left(md5('a' || n) || md5('b' || n), 40),
      left(translate(md5('c' || n) || md5('d' || n), '0', 'z'), 44), 'G' || upper(left(translate(md5('e' || n) || md5('f' || n), '0189', 'WXYZ'), 55))
    FROM generate_series(${from + 1}::int, ${to}::int) n`
})

/** Inserts relayers on sepolia with UUIDs as ids, each with its own signer. A third of them is paused. */
export const relayers = Effect.fnUntraced(function* (from: number, to: number) {
  const sql = yield* SqlClient.SqlClient
  for (let start = from; start < to; start += batch) {
    const end = Math.min(start + batch, to)
    yield* signers("s", start, end)
    yield* sql`
      INSERT INTO relayers (id, name, network_type, network, address, paused, signer_id, policies)
      SELECT id, 'Relayer ' || (n * 7919 % 1000003), 'evm', 'sepolia',
        '0x' || left(md5('a' || n) || md5('b' || n), 40), n % 3 = 0, 's' || lpad(n::text, 9, '0'),
        ${JSON.stringify(policies)}::text::json
      FROM (
        SELECT id, ${start}::int + row_number() OVER (ORDER BY id) AS n
        FROM (SELECT md5('r' || m)::uuid::text AS id FROM generate_series(${start + 1}::int, ${end}::int) m) ids
      ) numbered`
  }
  yield* sql`VACUUM ANALYZE relayers`
  yield* sql`VACUUM ANALYZE signers`
})
