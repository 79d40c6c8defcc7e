// The table `networks`.
import { Effect, Result, Schema } from "effect"
import { createHash } from "node:crypto"
import { mistypedInNetwork } from "../../domain/chain/MistypedAddresses.ts"
import * as Rpc from "../../domain/chain/Rpc.ts"
import type { MaskedRpcConfig, RpcConfig } from "../../domain/chain/Rpc.ts"
import {
  ancestryOf,
  completeNetwork,
  NetworkDefinition,
  networkId,
  NetworkId,
  NetworkInUse,
  withInherited
} from "../../domain/network/Network.ts"
import type { FindDefinition, Network } from "../../domain/network/Network.ts"
import { parse } from "../../domain/request/ExactJson.ts"
import type { Unreadable } from "../../domain/request/Page.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import type { Versioned, Violation } from "../../domain/request/Request.ts"
import type { Outbound } from "../../outbound/Outbound.ts"
import * as Rows from "../../sql/Rows.ts"
import type { ReadRow } from "../../sql/Rows.ts"
import { managedBy, managedByColumn, maxNumberedBytes, rowState, versionColumn } from "../../sql/Rows.ts"
import { client, onForeignKey, query } from "../../sql/Transaction.ts"
import { openRpcUrls, refusePublishing, refuseRpcUrl, refuseRpcUrls, sealRpcUrls } from "../chains/RpcNodes.ts"
import { RowMacs, splitVerified } from "../secrets/Secrets.ts"
import type { Secrets } from "../secrets/Secrets.ts"
import { builtin } from "./builtin.ts"

// Resolves networks: the rows of the table override and extend the built-in networks, and their RPC URLs are unmasked.

/** A network of the team's own, or the team's changes of a built-in one. `version` names the state of the row. */
export interface StoredNetwork {
  readonly id: NetworkId
  readonly definition: NetworkDefinition
  readonly version: string
  /** What `rowState` says of the row, to notice a change of it. Absent: it was not read. */
  readonly state?: string
  /** JSON of the unmasked `rpc_urls`, if the definition has any. */
  readonly rpc_urls_sealed?: Uint8Array
  /** The same of `private_rpc_urls`. */
  readonly private_rpc_urls_sealed?: Uint8Array
}

/** What the database has of networks. */
export interface StoredNetworks {
  readonly rows: ReadonlyArray<StoredNetwork>
  /** Names of the configurations that own networks. */
  readonly owners: ReadonlyMap<NetworkId, string>
}

/** A network with the rows that it follows from: its own, and those that it inherits from. Built-in networks that nobody has changed have none. */
export interface ReadNetwork extends Versioned<Network> {
  readonly origins: ReadonlyArray<ReadRow>
}

export const nothingStored: StoredNetworks = { rows: [], owners: new Map() }

const definitionOf = (network: Network): NetworkDefinition => {
  const { id: _, source: __, managed_by: ___, ...definition } = network
  return definition
}

const definitions = new Map(builtin.map((network) => [network.id, definitionOf(network)]))

/** What comes with the service. Undefined: the network is a team's own. */
export const builtinDefinition = (id: NetworkId): NetworkDefinition | undefined => definitions.get(id)

export const isBuiltin = (id: NetworkId): boolean => definitions.has(id)

/** The network that `definition` inherits from, if that is a team's own. */
const ownParent = ({ network_type, from }: NetworkDefinition): NetworkId | undefined => {
  const id = from === undefined ? undefined : networkId(network_type, from)
  return id === undefined || isBuiltin(id) ? undefined : id
}

const saysNothing = (definition: NetworkDefinition): boolean =>
  Object.keys(definition).every((field) => field === "name" || field === "network_type")

const sourceOf = (id: NetworkId, own: NetworkDefinition): Network["source"] => {
  if (!isBuiltin(id)) return "own"
  return saysNothing(own) ? "builtin" : "overridden"
}

/** Characters of base64url, 132 bits. */
const versionLength = 22

/** The origin of the RPC URLs of a network. */
export interface RpcSource {
  readonly giver: NetworkId
  /** The public URLs of a built-in network; masked if there are sealed ones. */
  readonly urls: ReadonlyArray<MaskedRpcConfig>
  readonly sealed: Uint8Array | undefined
}

/** `rows` has the requested networks, and all networks that they inherit from. */
export const makeNetworkResolver = ({ owners, rows }: StoredNetworks) => {
  const byId = new Map(rows.map((row) => [row.id, row]))

  /** The changes of the team replace the fields of a built-in network, labels too. */
  const define = (id: NetworkId, own = byId.get(id)?.definition): NetworkDefinition | undefined => {
    const given = definitions.get(id)
    return given === undefined ? own : { ...given, ...own }
  }

  const findAs =
    ({ network_type }: NetworkDefinition): FindDefinition =>
    (name) =>
      define(networkId(network_type, name))

  /** The team's own definition; for an unchanged built-in network, its name. */
  const own = (id: NetworkId): NetworkDefinition | undefined => {
    const given = definitions.get(id)
    return byId.get(id)?.definition ?? (given && { network_type: given.network_type, name: given.name })
  }

  /** The network `id` with `definition` as the team's definition of it. */
  const resolve = (id: NetworkId, definition: NetworkDefinition): Result.Result<Network, ReadonlyArray<Violation>> =>
    withInherited(define(id, definition) ?? definition, findAs(definition)).pipe(
      Result.mapError((violation) => [violation]),
      Result.flatMap((resolved) => completeNetwork(resolved, sourceOf(id, definition)))
    )

  const get = (id: NetworkId): Network | undefined => {
    const definition = own(id)
    if (definition === undefined) return undefined
    const network = Result.getOrThrow(resolve(id, definition))
    const managed_by = owners.get(id)
    return managed_by === undefined ? network : { ...network, managed_by }
  }

  /** The rows that the network follows from, if it exists. */
  const originsOf = (id: NetworkId): ReadonlyArray<ReadRow> => {
    const definition = define(id)
    if (definition === undefined) return []
    return Result.getOrThrow(ancestryOf(definition, findAs(definition))).map(({ network_type, name }) => {
      const origin = networkId(network_type, name)
      const state = byId.get(origin)?.state
      return state === undefined ? { id: origin } : { id: origin, state }
    })
  }

  /**
   * The version names the network as it is shown and the rows that it comes from: their URLs are masked, so that a change of
   * one may not show. `rows` must be those of `id` and of everything that it inherits from.
   */
  const versioned = (id: NetworkId): ReadNetwork | undefined => {
    const value = get(id)
    if (value === undefined) return undefined
    const versions = rows.map((row) => `${row.id} ${row.version}`).sort()
    const hash = createHash("sha256")
      .update(JSON.stringify([value, versions]))
      .digest("base64url")
    return { value, version: hash.slice(0, versionLength), origins: originsOf(id) }
  }

  const rpcSource = (id: NetworkId, list: UrlList): RpcSource | undefined => {
    const definition = define(id)
    if (definition === undefined) return undefined
    const line = Result.getOrThrow(ancestryOf(definition, findAs(definition)))
    const found = line.find((one) => listIn(one, list) !== undefined) ?? definition
    const giver = networkId(found.network_type, found.name)
    return { giver, urls: listIn(found, list) ?? [], sealed: byId.get(giver)?.[`${list}_sealed` as const] }
  }

  return { own, get, originsOf, versioned, resolve, rpcSource }
}

export type NetworkResolver = ReturnType<typeof makeNetworkResolver>

// URLs of networks: which are allowed, and how RPC URLs are stored: masked to be shown, and sealed to be called.

/** The lists of RPC URLs: each is masked in the definition, and sealed in a column of its own. */
export const urlLists = ["rpc_urls", "private_rpc_urls"] as const
export type UrlList = (typeof urlLists)[number]

/** The RPC URLs of a request. Null and absent: none. */
interface NetworkUrls {
  readonly rpc_urls?: ReadonlyArray<RpcConfig> | null
  readonly private_rpc_urls?: ReadonlyArray<RpcConfig> | null
  readonly horizon_url?: string | null
}

/** A list of a request or of a definition. Undefined: it has none. */
export const listIn = (urls: NetworkUrls, list: UrlList): ReadonlyArray<RpcConfig> | undefined =>
  urls[list] ?? undefined

/** Also checks the addresses that the network names. */
export const checkUrls = (outbound: Outbound["Service"], urls: NetworkUrls & { readonly fee_forwarder?: unknown }) => {
  const { horizon_url } = urls
  const violations = [
    ...urlLists.flatMap((list) => refuseRpcUrls(outbound, list, listIn(urls, list) ?? [])),
    ...refusePublishing("private_rpc_urls", urls.private_rpc_urls ?? []),
    ...(horizon_url ? refuseRpcUrl(outbound, "horizon_url", horizon_url) : []),
    ...mistypedInNetwork(urls)
  ]
  return violations.length === 0 ? Effect.void : Effect.fail(BadRequest.of(violations))
}

/** Puts the stored RPC URLs in the place of masked ones. */
export const unmaskUrls = Effect.fnUntraced(function* <A extends NetworkUrls, E>(
  request: A,
  stored: (list: UrlList) => Effect.Effect<ReadonlyArray<RpcConfig>, E>
): Effect.fn.Return<A, E | BadRequest> {
  const unmasked: { [List in UrlList]?: ReadonlyArray<RpcConfig> } = {}
  for (const list of urlLists) {
    const given = listIn(request, list)
    if (!given?.some(({ url }) => Rpc.isMasked(url))) continue
    const found = Rpc.unmask(list, given, yield* stored(list))
    unmasked[list] = yield* Effect.mapError(Effect.fromResult(found), BadRequest.of)
  }
  return { ...request, ...unmasked }
})

export const maskedUrls = <A extends NetworkUrls>(request: A): A => {
  const masked = urlLists.flatMap((list) => {
    const urls = listIn(request, list)
    return urls === undefined ? [] : [[list, urls.map(Rpc.maskRpc)] as const]
  })
  return { ...request, ...Object.fromEntries(masked) }
}

const placeOfUrls = (id: NetworkId, list: UrlList) => ({ table: "networks", id, column: list })

/** Those of the lists that the request names. Null: it has none. */
export const sealUrls = Effect.fnUntraced(function* (secrets: Secrets["Service"], id: NetworkId, request: NetworkUrls) {
  const sealed: { [List in UrlList]?: Uint8Array | null } = {}
  for (const list of urlLists) {
    const urls = listIn(request, list)
    if (request[list] !== undefined) {
      sealed[list] = urls === undefined ? null : yield* sealRpcUrls(secrets, urls, placeOfUrls(id, list))
    }
  }
  return sealed
})

/** The lists of a network that is defined as a whole: what the request does not name is none. */
export const noUrls = { rpc_urls: null, private_rpc_urls: null } as const

export const openUrls = (secrets: Secrets["Service"], id: NetworkId, sealed: Uint8Array, list: UrlList) =>
  openRpcUrls(secrets, sealed, placeOfUrls(id, list))

const Row = Rows.withoutNulls(
  Schema.Struct({
    id: NetworkId,
    definition: NetworkDefinition,
    version: Schema.String,
    state: Schema.optionalKey(Schema.String),
    rpc_urls_sealed: Schema.optionalKey(Schema.Uint8Array),
    private_rpc_urls_sealed: Schema.optionalKey(Schema.Uint8Array)
  }),
  { definition: (column) => parse(String(column)) }
)
const readRows = Rows.all(Row)

const readOwners = Rows.all(Schema.Struct({ id: NetworkId, managed_by: Schema.String }))

const readNetworkIds = Rows.all(Schema.Struct({ id: NetworkId }))

const readUsers = Rows.all(Schema.Struct({ kind: Schema.Literals(["relayers", "networks"]), id: Schema.String }))

/** Allows one change at a time in all instances. */
const changing = 7_226_801_142n

/** JSON of the unmasked RPC URLs. Null: none. Absent: they stay. */
type SealedUrls = Effect.Success<ReturnType<typeof sealUrls>>

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
    SELECT t.id, t.definition::text AS definition, ${versionColumn(sql)}, ${rowState(sql, "t")} AS state, t.rpc_urls_sealed,
      t.private_rpc_urls_sealed, t.mac, ${managedByColumn(sql, "networks")}
    FROM networks t WHERE t.id IN (SELECT id FROM line)
    UNION ALL
    SELECT t.id, NULL, NULL, NULL, NULL, NULL, NULL, ${managedBy(sql, "networks")}
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

  /** Replaces the row. */
  const save = Effect.fnUntraced(function* (id: NetworkId, definition: NetworkDefinition, urls: SealedUrls) {
    const setUrls = urlLists.flatMap((list) =>
      urls[list] === undefined ? [] : [sql`, ${sql(`${list}_sealed`)} = excluded.${sql(`${list}_sealed`)}`]
    )
    const text = JSON.stringify(definition)
    const mac = yield* macs.make(rowOf(id, text))
    yield* sql`
      INSERT INTO networks AS t (id, parent_id, definition, rpc_urls_sealed, private_rpc_urls_sealed, mac)
      VALUES (${id}, ${ownParent(definition) ?? null}::text, ${text}::text::jsonb, ${urls.rpc_urls ?? null}::bytea,
        ${urls.private_rpc_urls ?? null}::bytea, ${mac})
      ON CONFLICT (id) DO UPDATE SET version = t.version + 1, parent_id = excluded.parent_id,
        definition = excluded.definition, mac = excluded.mac
        ${sql.join("", false)(setUrls)}`
    if (urls.rpc_urls !== undefined) yield* recheck(id)
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
