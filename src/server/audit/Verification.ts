// Verifies the chain of the audit log, a slice per request: a verification of a long log continues with the next request.
import { Effect, Option } from "effect"
import { Hex } from "effect/encoding"
import type { AuditHead, AuditVerification } from "../../domain/audit/Audit.ts"
import { pacedAtShare } from "../../sql/Rows.ts"
import type { AuditRepo } from "./AuditRepo.ts"
import { firstBroken } from "./Chain.ts"
import type { ChainedRow, Link } from "./Chain.ts"
import type { Base } from "./ChainBase.ts"

/** The most that one query reads and one run hashes: less than two milliseconds of the event loop, and of the database. */
const piece = { rows: 50, bytes: 65_536 }

/** The part of the time in which pieces are verified; the rest is for other requests. */
const share = 0.25

/** The most that one request verifies, in about a second. */
const slice = { rows: 5000, bytes: 8_388_608 }

/** Milliseconds after which a request ends, even if its slice does not, as on a busy machine: far below its time limit. */
const longest = 3000

export interface Options {
  /** The chain begins after it. */
  readonly base: Base
  /** A verified head after which the verification continues. Absent, or of a pruned record: after `base`. */
  readonly from: AuditHead | undefined
  /** Heads that the log must contain, unless their records were pruned. */
  readonly heads: ReadonlyArray<AuditHead>
}

export const headOf = ({ position, hash }: Link): AuditHead => ({ position, hash: Hex.encode(hash) })

const linkOf = ({ position, hash }: AuditHead): Link => ({ position, hash: Buffer.from(hash, "hex") })

const sizeOf = ({ before, after }: ChainedRow) => (before?.length ?? 0) + (after?.length ?? 0)

/** The first position at which the log differs from one of the heads; `undefined` if it contains all. */
const firstMissing = Effect.fnUntraced(function* (repo: AuditRepo, base: Link, heads: ReadonlyArray<AuditHead>) {
  const missing: Array<number> = []
  for (const { position, hash } of heads) {
    const found = position === base.position ? Option.some(Hex.encode(base.hash)) : yield* repo.hashAt(position)
    if (Option.getOrUndefined(found) === hash) continue
    missing.push(Math.min(position, Math.max(base.position, yield* repo.last) + 1))
  }
  return missing.length === 0 ? undefined : Math.min(...missing)
})

const verifyPiece = (repo: AuditRepo, head: Link) =>
  Effect.map(repo.rows(head.position, piece), (rows) => ({ rows, broken_at: firstBroken(rows, head) })).pipe(
    pacedAtShare(share)
  )

export const verify = Effect.fnUntraced(function* (
  repo: AuditRepo,
  options: Options
): Effect.fn.Return<AuditVerification> {
  const { base } = options
  if (!base.isGenuine) return { valid: false, checked: 0, broken_at: base.position }
  const isKept = ({ position }: AuditHead) => position >= base.position
  const from = options.from !== undefined && isKept(options.from) ? options.from : undefined
  const heads = options.heads.filter(isKept)
  const start = from === undefined ? base : linkOf(from)
  const lost = yield* firstMissing(repo, base, from === undefined ? [] : [from])
  if (lost !== undefined) return { valid: false, checked: 0, broken_at: lost }

  const startedAt = performance.now()
  const isSliceDone = (head: Link, bytes: number) =>
    bytes >= slice.bytes || head.position - start.position >= slice.rows || performance.now() - startedAt > longest

  let head = start
  let bytes = 0
  let isAtEnd = false
  while (!isAtEnd && !isSliceDone(head, bytes)) {
    const { rows, broken_at } = yield* verifyPiece(repo, head)
    if (broken_at !== undefined) return { valid: false, checked: broken_at - 1 - start.position, broken_at }
    bytes += rows.reduce((sum, row) => sum + sizeOf(row), 0)
    head = rows.at(-1) ?? head
    isAtEnd = rows.length === 0
  }
  const checked = head.position - start.position
  const shown = head.position === 0 ? {} : { head: headOf(head) }
  const due = isAtEnd ? heads : heads.filter(({ position }) => position <= head.position)
  const broken_at = yield* firstMissing(repo, base, due)
  if (broken_at !== undefined) return { valid: false, checked, ...shown, broken_at }
  return { valid: true, checked, ...shown, ...(isAtEnd ? {} : { next: `${head.position}:${Hex.encode(head.hash)}` }) }
})
