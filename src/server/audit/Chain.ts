// The chain of the audit log: the hash of a record covers the record and the hash of the record before it.
import { Schema } from "effect"
import { createHash, timingSafeEqual } from "node:crypto"

/** A record as it is hashed. The fields are text, so that the hash does not depend on the format of numbers and dates. */
export const ChainedRow = Schema.Struct({
  id: Schema.String,
  /** Microseconds since 1970. */
  at_micros: Schema.String,
  key_id: Schema.String,
  action: Schema.String,
  resource: Schema.String,
  resource_id: Schema.String,
  request_id: Schema.NullOr(Schema.String),
  /** Null also in records that are older than this column. */
  client_address: Schema.NullOr(Schema.String),
  before: Schema.NullOr(Schema.String),
  after: Schema.NullOr(Schema.String)
})
export type ChainedRow = typeof ChainedRow.Type

export interface Link {
  readonly position: number
  readonly hash: Uint8Array
}

/** The link before the first record. */
export const origin: Link = { position: 0, hash: new Uint8Array(32) }

/**
 * The hash is SHA-256 over the previous hash and the record, as a JSON array of texts. The client's address is only there if it
 * is known, so that the hashes of older records stay the same.
 */
const next = (row: ChainedRow, before: Link): Link => {
  const position = before.position + 1
  const { id, at_micros, key_id, action, resource, resource_id, request_id, client_address } = row
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
    row.after,
    ...(client_address === null ? [] : [client_address])
  ])
  return { position, hash: createHash("sha256").update(before.hash).update(text).digest() }
}

/** The links of `rows`, in the order of the rows, after `head`. */
export const chain = (rows: ReadonlyArray<ChainedRow>, head: Link = origin): ReadonlyArray<Link> => {
  const links: Array<Link> = []
  let last = head
  for (const row of rows) links.push((last = next(row, last)))
  return links
}

/** A hash that is missing or too short is different. */
const isSame = (row: Link, expected: Link): boolean =>
  row.position === expected.position &&
  row.hash.length === expected.hash.length &&
  timingSafeEqual(row.hash, expected.hash)

/** The position of the first row whose link does not match its content; `undefined` if all match. */
export const firstBroken = (rows: ReadonlyArray<ChainedRow & Link>, head: Link = origin): number | undefined => {
  let last = head
  for (const row of rows) {
    const expected = next(row, last)
    if (!isSame(row, expected)) return expected.position
    last = expected
  }
  return undefined
}
