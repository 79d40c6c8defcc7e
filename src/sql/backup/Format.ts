// The format of a backup: lines of JSON. A header, batches of rows, and a footer with counts and a checksum.
import { Schema } from "effect"

/** A later format gets another number, which this version refuses. */
const formatVersion = 1

const TableColumns = Schema.Struct({ name: Schema.String, columns: Schema.Array(Schema.String) })

export const Header = Schema.Struct({
  format: Schema.Literal("effect-relayer backup"),
  format_version: Schema.Literal(formatVersion),
  /** The latest migration of the database that was backed up. */
  schema: Schema.Int,
  /** When the snapshot was taken, as RFC 3339. */
  created_at: Schema.String,
  /** Version of the PostgreSQL server. */
  postgres: Schema.String,
  /** Ids of the master keys that the secrets in this backup are sealed with. The keys themselves are not in it. */
  key_ids: Schema.Array(Schema.String),
  tables: Schema.Array(TableColumns)
})
export type Header = typeof Header.Type

/** Values as PostgreSQL writes them as text, in the order of the header's columns. */
export const Batch = Schema.Struct({
  table: Schema.String,
  rows: Schema.Array(Schema.Array(Schema.NullOr(Schema.String)))
})
export type Batch = typeof Batch.Type

/** The last line. Without it, the file is incomplete. */
export const Footer = Schema.Struct({
  /** Rows per table. */
  rows: Schema.Record(Schema.String, Schema.Int),
  /** SHA-256, in hex, of all bytes before this line. */
  sha256: Schema.String
})
export type Footer = typeof Footer.Type

export const header = (fields: Omit<Header, "format" | "format_version">): Header => ({
  format: "effect-relayer backup",
  format_version: formatVersion,
  ...fields
})
