// The chain of the audit log: each record's hash is of the record and of the hash before it.
import { createHash, timingSafeEqual } from "node:crypto"

/** A record as it is hashed: texts, so that nothing depends on how a number or a moment is written. */
export interface ChainedRow {
  readonly id: string
  /** Microseconds since 1970. */
  readonly at_micros: string
  readonly key_id: string
  readonly action: string
  readonly resource: string
  readonly resource_id: string
  readonly request_id: string | null
  readonly before: string | null
  readonly after: string | null
}

export interface Link {
  readonly position: number
  readonly hash: Uint8Array
}

/** Before the first record. */
const origin: Link = { position: 0, hash: new Uint8Array(32) }

/** SHA-256 of the hash before and of the record, as a JSON array of texts. */
const next = (row: ChainedRow, before: Link): Link => {
  const position = before.position + 1
  const { id, at_micros, key_id, action, resource, resource_id, request_id } = row
  const text = JSON.stringify([
    String(position),
    id,
    at_micros,
    key_id,
    action,
    resource,
    resource_id,
    request_id,
    row.before,
    row.after
  ])
  return { position, hash: createHash("sha256").update(before.hash).update(text).digest() }
}

/** The links of `rows`, in their order, after `head`. */
export const chain = (rows: ReadonlyArray<ChainedRow>, head: Link = origin): ReadonlyArray<Link> => {
  const links: Array<Link> = []
  let last = head
  for (const row of rows) links.push((last = next(row, last)))
  return links
}

/** The first of `rows` that is not the one that was linked there; undefined where all are. */
export const firstBroken = (rows: ReadonlyArray<ChainedRow & Link>, head: Link = origin): number | undefined => {
  let last = head
  for (const row of rows) {
    const expected = next(row, last)
    if (row.position !== expected.position || !timingSafeEqual(row.hash, expected.hash)) return expected.position
    last = expected
  }
  return undefined
}
