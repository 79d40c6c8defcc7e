// Rows that were written before their tables had a MAC.
import { Effect, Schema } from "effect"
import { client, query } from "../../sql/Query.ts"
import * as Rows from "../../sql/Rows.ts"
import { signer } from "./SealedRepo.ts"

/** A table with a MAC. `content` is an expression of SQL that returns what the feature authenticates, as JSON. */
export interface AuthenticatedTable {
  readonly table: string
  readonly content: string
}

export const authenticatedTables: ReadonlyArray<AuthenticatedTable> = [
  { table: "signers", content: signer },
  {
    table: "relayers",
    content:
      "jsonb_build_object('network_type', network_type, 'network', network, 'signer_id', signer_id, 'address', address)"
  },
  { table: "networks", content: "jsonb_build_object('definition', definition)" }
]

const Unauthenticated = Schema.Struct({ id: Schema.String, content: Schema.Unknown })
export type Unauthenticated = typeof Unauthenticated.Type

const readRows = Rows.all(Unauthenticated)

export interface Authenticated {
  readonly id: string
  readonly mac: string
}

export const make = Effect.gen(function* () {
  const sql = yield* client

  /** Rows without a MAC, ordered by id, after the id `after`. */
  const find = ({ table, content }: AuthenticatedTable, after: string, limit: number) =>
    sql`
      SELECT id, ${sql.literal(content)} AS content FROM ${sql(table)}
      WHERE mac IS NULL AND id > ${after} ORDER BY id LIMIT ${limit}`.pipe(
      Effect.flatMap(readRows),
      query("UnauthenticatedRepo.find")
    )

  /** Rows that got a MAC meanwhile keep it: another instance may have changed them since. */
  const authenticate = ({ table }: AuthenticatedTable, rows: ReadonlyArray<Authenticated>) =>
    sql`
      UPDATE ${sql(table)} t SET mac = given.mac
      FROM unnest(${rows.map(({ id }) => id)}::text[], ${rows.map(({ mac }) => mac)}::text[]) given (id, mac)
      WHERE t.id = given.id AND t.mac IS NULL`.pipe(Effect.asVoid, query("UnauthenticatedRepo.authenticate"))

  return { find, authenticate }
})
