// The table `networks`.
import { Effect, Schema } from "effect"
import { NetworkDefinition, NetworkId, NetworkInUse } from "../../domain/network/Network.ts"
import { parse } from "../../domain/request/ExactJson.ts"
import type { Unreadable } from "../../domain/request/Page.ts"
import { client, onForeignKey, query } from "../../sql/Query.ts"
import * as Rows from "../../sql/Rows.ts"
import { managedBy, managedByColumn, maxNumberedBytes, versionColumn } from "../../sql/Rows.ts"
import { builtin } from "./builtin.ts"
import { RowMacs, splitVerified } from "../secrets/RowMacs.ts"
import { ownParent } from "./NetworkResolver.ts"
import type { StoredNetwork, StoredNetworks } from "./NetworkResolver.ts"

const Row = Rows.withoutNulls(
  Schema.Struct({
    id: NetworkId,
    definition: NetworkDefinition,
    version: Schema.String,
    rpc_urls_sealed: Schema.optionalKey(Schema.Uint8Array)
  }),
  { definition: (column) => parse(String(column)) }
)
const readRows = Rows.all(Row)

const readOwners = Rows.all(Schema.Struct({ id: NetworkId, managed_by: Schema.String }))

const readNetworkIds = Rows.all(Schema.Struct({ id: NetworkId }))

const readUsers = Rows.all(Schema.Struct({ kind: Schema.Literals(["relayers", "networks"]), id: Schema.String }))

/** Allows one change at a time in all instances. */
const changing = 7_226_801_142n

/** JSON of the unmasked RPC URLs. `undefined`: none. */
interface SealedUrls {
  readonly sealed: Uint8Array | undefined
}

/** A page of the team's own networks, and the changes of built-in ones. */
export interface PageSelection {
  readonly perPage: number
  readonly offset: number
  readonly overrides: ReadonlyArray<NetworkId>
}

interface OwnPage extends StoredNetworks {
  /** The page, in creation order. */
  readonly ids: ReadonlyArray<NetworkId>
  readonly total: number
  /** There are no rows, because they are too large together. */
  readonly isCut: boolean
  /** Rows that were changed in the database, and those that inherit from them. */
  readonly unreadable: ReadonlyArray<Unreadable>
}

/** Takes out the rows that inherit from rows that are not there. */
const withoutOrphans = (rows: ReadonlyArray<StoredNetwork>, gone: ReadonlyArray<Unreadable>) => {
  const missing = new Map(gone.map((row) => [row.id, row]))
  const isOrphan = ({ definition }: StoredNetwork) => missing.has(String(ownParent(definition)))
  for (let found = rows.filter(isOrphan); found.some(({ id }) => !missing.has(id)); found = rows.filter(isOrphan)) {
    for (const { id } of found) missing.set(id, { id, reason: `${id} inherits from a network that cannot be read` })
  }
  return { rows: rows.filter(({ id }) => !missing.has(id)), unreadable: [...missing.values()] }
}

/** The relayers and networks that use a network. */
export interface Users {
  readonly relayers: ReadonlyArray<string>
  readonly networks: ReadonlyArray<string>
}

type Found = ReadonlyArray<Readonly<Record<string, unknown>>>

export const make = Effect.gen(function* () {
  const sql = yield* client
  const isOwn = sql`NOT ${sql.in(
    "id",
    builtin.map(({ id }) => id)
  )}`

  /** Follows a `seed` of ids: the ids of their rows, and of all rows that they inherit from. */
  const line = sql`line AS (
    SELECT t.id, t.definition->>'from' AS parent FROM networks t JOIN seed ON seed.id = t.id
    UNION
    SELECT t.id, t.definition->>'from'
    FROM line JOIN networks t ON t.id = split_part(line.id, ':', 1) || ':' || line.parent
  )`

  /** Holds the lock until the transaction ends. */
  const lock = sql`SELECT pg_advisory_xact_lock(${changing})`.pipe(Effect.asVoid, query("NetworksRepo.lock"))

  const macs = yield* RowMacs

  const rowOf = (id: string, definition: string) => ({
    table: "networks",
    id,
    content: { definition: JSON.parse(definition) as unknown }
  })

  /** A changed definition could lead relayers to another chain, or to providers of somebody else. */
  const verifyOne = ({ id, definition, mac }: Readonly<Record<string, unknown>>) =>
    macs.verify(rowOf(String(id), String(definition)), String(mac))

  const verify = (rows: Found) => Effect.forEach(rows, verifyOne, { discard: true })

  /** A configuration may own a built-in network that has no row, because nothing of it is changed. */
  const select = (ids: ReadonlyArray<NetworkId>) => sql`
    WITH RECURSIVE seed AS (SELECT id FROM networks WHERE ${sql.in("id", ids)}), ${line}
    SELECT t.id, t.definition::text AS definition, ${versionColumn(sql)}, t.rpc_urls_sealed, t.mac,
      ${managedByColumn(sql, "networks")}
    FROM networks t WHERE t.id IN (SELECT id FROM line)
    UNION ALL
    SELECT t.id, NULL, NULL, NULL, NULL, ${managedBy(sql, "networks")}
    FROM (${ownedOf(ids)}) t WHERE NOT EXISTS (SELECT 1 FROM networks n WHERE n.id = t.id)`

  const ownedOf = (ids: ReadonlyArray<NetworkId>) =>
    sql`SELECT id FROM managed_objects WHERE kind = 'networks' AND ${sql.in("id", ids)}`

  const stored =
    (check: (rows: Found) => Effect.Effect<unknown>) =>
    (found: Found): Effect.Effect<StoredNetworks> =>
      Effect.gen(function* () {
        const present = found.filter(({ definition }) => definition !== null)
        yield* check(present)
        const owned = yield* readOwners(found.filter(({ managed_by }) => managed_by !== null))
        return { rows: yield* readRows(present), owners: new Map(owned.map((row) => [row.id, row.managed_by])) }
      })

  /** The rows of these networks, and of all networks that they inherit from. */
  const find = (ids: ReadonlyArray<NetworkId>) =>
    select(ids).pipe(Effect.flatMap(stored(verify)), query("NetworksRepo.find"))

  /** The same, even if rows were changed in the database. */
  const findForDelete = (ids: ReadonlyArray<NetworkId>) =>
    select(ids).pipe(Effect.flatMap(stored(() => Effect.void)), query("NetworksRepo.findForDelete"))

  const ownersOf = (ids: ReadonlyArray<NetworkId>) =>
    sql`SELECT t.id, ${managedByColumn(sql, "networks")} FROM (${ownedOf(ids)}) t`.pipe(
      Effect.flatMap(readOwners),
      Effect.map((rows) => new Map(rows.map((row) => [row.id, row.managed_by])))
    )

  /** One statement, so that all rows are of one moment, and one for their owners. Without sealed columns. */
  const page = ({ perPage, offset, overrides }: PageSelection) =>
    Effect.gen(function* () {
      const found = yield* sql`
        WITH RECURSIVE page AS (
          SELECT id FROM networks WHERE ${isOwn} ORDER BY seq LIMIT ${perPage} OFFSET ${offset}
        ), seed AS (
          SELECT id FROM page UNION ALL SELECT id FROM networks WHERE ${sql.in("id", overrides)}
        ), ${line}
        SELECT counted.total, t.id, t.definition::text AS definition, ${versionColumn(sql)}, t.mac,
          t.id IN (SELECT id FROM page) AS listed, sized.is_cut
        FROM (SELECT count(*) AS total FROM networks WHERE ${isOwn}) counted
        CROSS JOIN (
          SELECT coalesce(sum(octet_length(definition::text)), 0) > ${maxNumberedBytes} AS is_cut
          FROM networks WHERE id IN (SELECT id FROM line)
        ) sized
        LEFT JOIN networks t ON t.id IN (SELECT id FROM line) AND NOT sized.is_cut
        ORDER BY t.seq`
      const present = found.filter(({ id }) => id !== null)
      const { items, unreadable: changed } = yield* splitVerified(present, verifyOne)
      const listed = new Set(items.filter((row) => row.listed === true).map(({ id }) => id))
      const { rows, unreadable } = withoutOrphans(yield* readRows(items), changed)
      const ids = rows.map(({ id }) => id).filter((id) => listed.has(id))
      const served: OwnPage = {
        ids,
        rows,
        owners: yield* ownersOf([...overrides, ...ids]),
        total: Number(found[0]?.total ?? 0),
        isCut: found[0]?.is_cut === true,
        unreadable
      }
      return served
    }).pipe(query("NetworksRepo.page"))

  /** Of all rows. */
  const ids = sql`SELECT id FROM networks ORDER BY id`.pipe(
    Effect.flatMap(readNetworkIds),
    Effect.map((rows) => rows.map(({ id }) => id)),
    query("NetworksRepo.ids")
  )

  const exists = (id: NetworkId) =>
    sql`SELECT 1 FROM networks WHERE id = ${id}`.pipe(
      Effect.map((rows) => rows.length > 0),
      query("NetworksRepo.exists")
    )

  /**
   * Disabled relayers that use the URLs of the network are due, because it may be repaired. A check that runs has asked the URLs from before:
   * it loses its claim. A check that ends at this moment is locked and is skipped, so that no order of locks is needed.
   */
  const recheck = (id: NetworkId) => sql`
    UPDATE relayer_checks SET next_check_at = now(), claimed_by = NULL WHERE relayer_id IN (
      SELECT c.relayer_id FROM relayers r JOIN relayer_checks c ON c.relayer_id = r.id
      WHERE r.system_disabled AND r.custom_rpc_urls_sealed IS NULL AND r.network_type || ':' || r.network = ${id}
      FOR UPDATE OF c SKIP LOCKED
    )`

  /** Replaces the row. `urls` absent: they stay. */
  const save = Effect.fnUntraced(function* (id: NetworkId, definition: NetworkDefinition, urls?: SealedUrls) {
    const text = JSON.stringify(definition)
    const mac = yield* macs.make(rowOf(id, text))
    yield* sql`
      INSERT INTO networks AS t (id, parent_id, definition, rpc_urls_sealed, mac)
      VALUES (${id}, ${ownParent(definition) ?? null}::text, ${text}::text::jsonb, ${urls?.sealed ?? null}::bytea, ${mac})
      ON CONFLICT (id) DO UPDATE SET version = t.version + 1, parent_id = excluded.parent_id,
        definition = excluded.definition, mac = excluded.mac
        ${urls === undefined ? sql`` : sql`, rpc_urls_sealed = excluded.rpc_urls_sealed`}`
    if (urls !== undefined) yield* recheck(id)
  }, query("NetworksRepo.save"))

  const inUse = () => new NetworkInUse({ error: "" })
  const deleteRow = (id: NetworkId) =>
    sql`DELETE FROM networks WHERE id = ${id}`.pipe(
      onForeignKey("relayers_own_network_id_fkey", inUse),
      onForeignKey("networks_parent_id_fkey", inUse),
      Effect.asVoid,
      query("NetworksRepo.delete")
    )

  /** At most `limit` relayers and `limit` networks, in creation order. */
  const users = (id: NetworkId, limit: number) =>
    sql`
      (SELECT 'relayers' AS kind, id FROM relayers WHERE own_network_id = ${id} ORDER BY seq LIMIT ${limit})
      UNION ALL
      (SELECT 'networks', id FROM networks WHERE parent_id = ${id} ORDER BY seq LIMIT ${limit})`.pipe(
      Effect.flatMap(readUsers),
      Effect.map((rows) => {
        const of = (kind: keyof Users) => rows.filter((row) => row.kind === kind).map((row) => row.id)
        return { relayers: of("relayers"), networks: of("networks") }
      }),
      query("NetworksRepo.users")
    )

  return { lock, find, findForDelete, page, ids, exists, save, delete: deleteRow, users }
})
