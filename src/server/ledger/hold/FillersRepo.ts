// Inserts no-ops for sequences that nothing uses into the table `transactions`.
import { Effect } from "effect"
import type { Moment } from "../../../domain/transaction/Moment.ts"
import { maxValidity } from "../../../domain/transaction/Numbers.ts"
import { client, onConflict, query } from "../../../sql/Query.ts"
import { unnestRows } from "../../../sql/Rows.ts"
import { momentOf } from "../write/AttemptsRepo.ts"
import { LaneChanged } from "./HeldLane.ts"
import type { GapSignature } from "./HeldLane.ts"
import { LedgerRules } from "../LedgerRules.ts"
import type { LaneId } from "../StoredLane.ts"
import type { StoredTransaction } from "../StoredTransaction.ts"

export const make = Effect.gen(function* () {
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

  return { insert }
})
