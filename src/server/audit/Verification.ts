// Verifies the chain of the audit log.
import { Effect } from "effect"
import { Hex } from "effect/encoding"
import type { AuditAnchor, AuditVerification } from "../../domain/audit/Audit.ts"
import type { AuditRepo } from "./AuditRepo.ts"
import { firstBroken } from "./Chain.ts"
import type { Link } from "./Chain.ts"

/** Records that are read with one query. */
const batch = 1000

const headOf = (head: Link | undefined) =>
  head === undefined ? {} : { head: { position: head.position, hash: Hex.encode(head.hash) } }

/** Reads all linked records. If `anchor` has a position and a hash, the record at that position must have that hash. */
export const verify = Effect.fnUntraced(function* (
  repo: AuditRepo["Service"],
  anchor: AuditAnchor
): Effect.fn.Return<AuditVerification> {
  let head: Link | undefined
  let isAnchored = anchor.position === undefined
  while (true) {
    const rows = yield* repo.rows(head?.position ?? 0, batch)
    const broken_at = firstBroken(rows, head)
    if (broken_at !== undefined) return { valid: false, checked: broken_at - 1, broken_at }
    isAnchored ||= rows.some((row) => row.position === anchor.position && Hex.encode(row.hash) === anchor.hash)
    head = rows.at(-1) ?? head
    if (rows.length < batch) break
  }
  const checked = head?.position ?? 0
  if (isAnchored) return { valid: true, checked, ...headOf(head) }
  return { valid: false, checked, ...headOf(head), broken_at: Math.min(anchor.position ?? 0, checked + 1) }
})
