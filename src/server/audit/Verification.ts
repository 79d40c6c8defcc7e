// Verifies the chain of the audit log from where it begins, a slice at a time: a later call continues a long verification.
import { DateTime, Effect, Option, Schema } from "effect"
import { Hex } from "effect/encoding"
import { createHmac, timingSafeEqual } from "node:crypto"
import type { AuditHead, AuditVerification } from "../../domain/audit/Audit.ts"
import * as Rows from "../../sql/Rows.ts"
import { pacedAtShare } from "../../sql/Rows.ts"
import { client, query } from "../../sql/Transaction.ts"
import { ServiceSecrets } from "../secrets/Secrets.ts"
import type { AuditRepo } from "./AuditRepo.ts"
import { firstBroken, origin } from "./Chain.ts"
import type { ChainedRow, Link } from "./Chain.ts"

// The table `audit_checkpoints`, and the records that a checkpoint stands for.

const CheckpointRow = Schema.Struct({
  position: Rows.Integer,
  hash: Schema.Uint8Array,
  at: Schema.DateTimeUtcFromDate,
  mac: Schema.Uint8Array,
  pruned_at: Schema.NullOr(Schema.DateTimeUtcFromDate)
})
export type CheckpointRow = typeof CheckpointRow.Type

const readRows = Rows.all(CheckpointRow)
const readFirst = Rows.first(CheckpointRow)

export const makeAuditCheckpointsRepo = Effect.gen(function* () {
  const sql = yield* client
  const columns = sql`SELECT position, hash, at, mac, pruned_at FROM audit_checkpoints`

  /** Does nothing if there is a checkpoint at this position. */
  const insert = ({ position, hash, at, mac }: Omit<CheckpointRow, "pruned_at">) =>
    sql`
      INSERT INTO audit_checkpoints (position, hash, at, mac)
      VALUES (${position}, ${hash}, ${DateTime.toDate(at)}, ${mac}) ON CONFLICT (position) DO NOTHING`.pipe(
      Effect.asVoid,
      query("Verification.insert")
    )

  /** The newest first. */
  const all = sql`${columns} ORDER BY position DESC`.pipe(Effect.flatMap(readRows), query("Verification.all"))

  const find = (position: number) =>
    sql`${columns} WHERE position = ${position}`.pipe(Effect.flatMap(readFirst), query("Verification.find"))

  const last = sql`${columns} ORDER BY position DESC LIMIT 1`.pipe(
    Effect.flatMap(readFirst),
    query("Verification.last")
  )

  const lastPruned = sql`${columns} WHERE pruned_at IS NOT NULL ORDER BY position DESC LIMIT 1`.pipe(
    Effect.flatMap(readFirst),
    query("Verification.lastPruned")
  )

  /** From now on, the log begins after this position. */
  const markPruned = (position: number, at: DateTime.Utc) =>
    sql`
      UPDATE audit_checkpoints SET pruned_at = ${DateTime.toDate(at)}
      WHERE position = ${position} AND pruned_at IS NULL`.pipe(Effect.asVoid, query("Verification.markPruned"))

  /** Deletes at most `limit` records that were pruned. Returns how many. */
  const deletePruned = (limit: number) =>
    sql`
      DELETE FROM audit WHERE id = ANY(ARRAY(
        SELECT id FROM audit
        WHERE position <= (SELECT max(position) FROM audit_checkpoints WHERE pruned_at IS NOT NULL)
        ORDER BY position LIMIT ${limit} FOR UPDATE SKIP LOCKED
      )) RETURNING 1`.pipe(
      Effect.map((rows) => rows.length),
      query("Verification.deletePruned")
    )

  return { insert, all, find, last, lastPruned, markPruned, deletePruned }
})

// Where the chain of the audit log begins: at its first record, or after the last checkpoint whose records were pruned.

export interface ChainStart extends Link {
  /** False: it is a checkpoint that the service has not written. */
  readonly isGenuine: boolean
}

type Checkpoint = Link & { readonly at: DateTime.Utc }

const checkpointMac = (secret: string, { position, hash, at }: Checkpoint) =>
  createHmac("sha256", secret)
    .update(JSON.stringify([position, Buffer.from(hash).toString("hex"), at.epochMilliseconds]))
    .digest()

export const makeChainBase = Effect.gen(function* () {
  const repo = yield* makeAuditCheckpointsRepo
  const secrets = yield* ServiceSecrets

  /** Authenticates a checkpoint, so that write access to the database is not enough to make one. */
  const sign = (checkpoint: Checkpoint) =>
    Effect.map(secrets.get("audit_checkpoints"), (secret) => checkpointMac(secret, checkpoint))

  const checked = (row: CheckpointRow) =>
    Effect.map(sign(row), (mac): ChainStart => ({
      position: row.position,
      hash: row.hash,
      isGenuine: mac.length === row.mac.length && timingSafeEqual(mac, row.mac)
    }))

  const get = Effect.flatMap(
    repo.lastPruned,
    Option.match({ onNone: () => Effect.succeed<ChainStart>({ ...origin, isGenuine: true }), onSome: checked })
  )

  /** The newest checkpoint, unless its records were pruned. The log must contain it. */
  const last = Effect.flatMap(
    Effect.map(
      repo.last,
      Option.filter(({ pruned_at }) => pruned_at === null)
    ),
    Option.match({ onNone: () => Effect.succeedNone, onSome: (row) => Effect.asSome(checked(row)) })
  )

  return { get, last, sign }
})

/** The most that one query reads and one run hashes: less than two milliseconds of the event loop, and of the database. */
const piece = { rows: 50, bytes: 65_536 }

/** The part of the time in which pieces are verified; the rest is for other requests. */
const share = 0.25

/** The most that one request verifies, in about a second. */
const slice = { rows: 5000, bytes: 8_388_608 }

/** Milliseconds after which a request ends, even if its slice does not, as on a busy machine: far below its time limit. */
const longestMs = 3000

export interface VerifyOptions {
  /** The chain begins after it. */
  readonly base: ChainStart
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
  options: VerifyOptions
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
    bytes >= slice.bytes || head.position - start.position >= slice.rows || performance.now() - startedAt > longestMs

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
