// The table `transaction_authorities`: accounts whose authorizations open transactions carry.
import { Effect } from "effect"
import type { TransactionId } from "../../networks/core/TransactionValues.ts"
import { unnestRows } from "../../sql/Rows.ts"
import { client, onConflict, query } from "../../sql/Transaction.ts"

/** An authorization of the account is in the request of the transaction. */
export interface Carried {
  readonly chain: string
  /** In the canonical form of the network. */
  readonly authority: string
  readonly id: TransactionId
}

export const make = Effect.gen(function* () {
  const sql = yield* client

  /**
   * Rows of final transactions give way, and those that the transaction has already stay. `taken`: what it fails with if another open
   * transaction has one of the accounts. The order of the accounts keeps two of these from waiting for each other.
   */
  const add = <E>(carried: ReadonlyArray<Carried>, taken: () => E) => {
    if (carried.length === 0) return Effect.void
    const rows = carried.map(({ chain, authority, id }) => ({ chain, authority, id }))
    const given = unnestRows(sql, rows)
    const freed = sql`
      DELETE FROM transaction_authorities a WHERE a.ctid IN (
        SELECT a.ctid FROM transaction_authorities a
        JOIN ${given} ON given.chain = a.chain AND given.authority = a.authority
        JOIN transactions t ON t.id = a.transaction_id
        WHERE t.final_at IS NOT NULL ORDER BY a.chain, a.authority FOR UPDATE OF a
      )`
    const inserted = sql`
      INSERT INTO transaction_authorities (chain, authority, transaction_id)
      SELECT DISTINCT given.chain, given.authority, given.id::uuid FROM ${given}
      WHERE NOT EXISTS (
        SELECT FROM transaction_authorities a
        WHERE a.chain = given.chain AND a.authority = given.authority AND a.transaction_id = given.id::uuid
      )
      ORDER BY 1, 2`
    return Effect.andThen(freed, inserted).pipe(
      onConflict("transaction_authorities_authority_key", taken),
      Effect.asVoid,
      query("AuthoritiesRepo.add")
    )
  }

  return { add }
})
