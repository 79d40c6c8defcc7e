// The table `relayers`, except its pages, which `RelayerPagesRepo` reads.
import { Array, Effect, Exit, Option, Schema } from "effect"
import { Hex } from "effect/encoding"
import type { Statement } from "effect/sql"
import { MaskedRpcConfig } from "../../domain/chain/Rpc.ts"
import { NetworkType } from "../../domain/network/Network.ts"
import type { NetworkId } from "../../domain/network/Network.ts"
import { EvmPolicy, SolanaPolicy, StellarPolicy } from "../../domain/relayer/Policy.ts"
import { RelayerId, RelayerIdTaken, RelayerIsChannel } from "../../domain/relayer/Relayer.ts"
import type { CreateRelayer, DisabledReason, Relayer } from "../../domain/relayer/Relayer.ts"
import * as Rows from "../../sql/Rows.ts"
import { amongAll, managedByInJson, rowState, unnestRows, versionColumn } from "../../sql/Rows.ts"
import type { Ids, UnnestRow } from "../../sql/Rows.ts"
import { client, exclusiveTurn, onConflict, onForeignKey, query } from "../../sql/Transaction.ts"
import { HeldRelayer, RelayerMacs, StoredRelayer, waitingRelayers } from "./StoredRelayer.ts"
import type { HeldRow, StoredRow } from "./StoredRelayer.ts"

// Inserts into the table `relayers`, and what its columns have of a request.

/** `JSON.stringify` of the encoded fields keeps the digits of amounts: they are raw JSON numbers. */
const encodePolicies = {
  evm: Schema.encodeUnknownEffect(EvmPolicy),
  solana: Schema.encodeUnknownEffect(SolanaPolicy),
  stellar: Schema.encodeUnknownEffect(StellarPolicy)
}
const encodeMasked = Schema.encodeUnknownEffect(Schema.Array(MaskedRpcConfig))

/** The columns of what can change. */
const changeable = ({ name, paused, notification_id, network_type, policies }: CreateRelayer) =>
  Effect.map(policies === undefined ? Effect.undefined : encodePolicies[network_type](policies), (encoded) => ({
    name,
    paused,
    notification_id: notification_id ?? null,
    policies: Rows.jsonText(encoded)
  }))

const shownUrls = (masked: ReadonlyArray<MaskedRpcConfig> | undefined) =>
  Effect.map(masked === undefined ? Effect.undefined : encodeMasked(masked), Rows.jsonText)

/** The signer, its address on the network type, the notification or the network does not exist. */
export class ReferenceMissing extends Schema.TaggedError<ReferenceMissing>()("ReferenceMissing", {}) {}

/** RPC URLs in the database: masked ones for responses, and sealed ones for calls. */
interface StoredList {
  readonly masked: ReadonlyArray<MaskedRpcConfig> | undefined
  readonly sealed: Uint8Array | undefined
}

export interface StoredUrls {
  readonly custom_rpc_urls: StoredList
  readonly custom_private_rpc_urls: StoredList
}

const sealedText = ({ sealed }: StoredList) => (sealed === undefined ? null : `\\x${Hex.encode(sealed)}`)

export interface NewRelayer {
  readonly id: RelayerId
  readonly request: CreateRelayer
  readonly urls: StoredUrls
  /** Absent if the network is built in. */
  readonly ownNetworkId: NetworkId | undefined
  readonly account: Account
}

/** The address that the signer has on the network type, and the MAC of the relayer with that address. */
interface Account {
  readonly address: string
  readonly mac: string
}

const givenOf = Effect.fnUntraced(function* ({ id, request, urls, ownNetworkId, account }: NewRelayer) {
  const { name, paused, notification_id, policies } = yield* changeable(request)
  const row: UnnestRow = {
    id,
    name,
    network_type: request.network_type,
    network: request.network,
    address: account.address,
    mac: account.mac,
    paused: String(paused),
    signer_id: request.signer_id,
    notification_id,
    policies,
    custom_rpc_urls: yield* shownUrls(urls.custom_rpc_urls.masked),
    custom_rpc_urls_sealed: sealedText(urls.custom_rpc_urls),
    custom_private_rpc_urls: yield* shownUrls(urls.custom_private_rpc_urls.masked),
    custom_private_rpc_urls_sealed: sealedText(urls.custom_private_rpc_urls),
    own_network_id: ownNetworkId ?? null
  }
  return row
})

export const makeNewRelayersRepo = Effect.gen(function* () {
  const sql = yield* client
  const stored = Rows.unchecked<StoredRow>(sql)

  /** Waits for locks. A violated constraint is an error. */
  const alone = { lock: sql`FOR KEY SHARE`, isNotified: sql`true`, onTaken: sql`` }

  /** A relayer that would wait for a lock or violate a constraint is left out; the others are inserted. */
  const amongOthers = {
    lock: sql`FOR KEY SHARE SKIP LOCKED`,
    isNotified: sql`notification_id IS NULL OR notification_id IN (SELECT id FROM notified)`,
    onTaken: sql`ON CONFLICT DO NOTHING`
  }

  /** The ids have to differ. */
  const insertInto = Effect.fnUntraced(function* (
    relayers: ReadonlyArray<NewRelayer>,
    { lock, isNotified, onTaken }: typeof alone
  ) {
    const given = yield* Effect.forEach(relayers, givenOf)
    const rows = yield* stored`
      WITH given AS (SELECT * FROM ${unnestRows(sql, given)}),
      notified AS (SELECT id FROM notifications WHERE id IN (SELECT notification_id FROM given) ${lock})
      INSERT INTO relayers AS t (
        id, name, network_type, network, address, mac, paused, signer_id, notification_id,
        policies, custom_rpc_urls, custom_rpc_urls_sealed, custom_private_rpc_urls, custom_private_rpc_urls_sealed, own_network_id
      )
      SELECT id, name, network_type, network, address, mac, paused::boolean, signer_id, notification_id,
        policies::json, custom_rpc_urls::json, custom_rpc_urls_sealed::bytea, custom_private_rpc_urls::json,
        custom_private_rpc_urls_sealed::bytea, own_network_id
      FROM given WHERE (${isNotified}) AND NOT EXISTS (SELECT FROM channel_keys c WHERE c.address = given.address)
      ORDER BY n
      ${onTaken}
      RETURNING t.id, t.json, t.mac, ${versionColumn(sql)}`
    return new Map(rows.map((row) => [row.id, new StoredRelayer(row)]))
  })

  /** The signer is locked. Waits for transactions that lock the relayer's id or notification. */
  const insert = (relayer: NewRelayer) =>
    insertInto([relayer], alone).pipe(
      Effect.flatMap((made) => {
        const stored = made.get(relayer.id)
        // Only the address can keep it out: each other reason is a violated constraint.
        return stored === undefined ? Effect.fail(new RelayerIsChannel({})) : Effect.succeed(stored)
      }),
      onConflict("relayers_pkey", () => new RelayerIdTaken({})),
      onForeignKey("relayers_notification_id_fkey", () => new ReferenceMissing({})),
      onForeignKey("relayers_own_network_id_fkey", () => new ReferenceMissing({})),
      onForeignKey("relayers_signer_id_fkey", () => new ReferenceMissing({})),
      query("RelayersRepo.insert")
    )

  /**
   * Inserts many with one statement, in their order. Returns none for a relayer that would have to wait or that violates a
   * constraint: `insert` reports why.
   */
  const insertAll = (relayers: ReadonlyArray<NewRelayer>) => {
    if (relayers.length === 0) return Effect.succeed([])
    const first = new Map(relayers.toReversed().map((relayer) => [relayer.id, relayer]))
    const isFirst = (relayer: NewRelayer) => first.get(relayer.id) === relayer
    return insertInto(relayers.filter(isFirst), amongOthers).pipe(
      Effect.map((made) =>
        relayers.map((relayer) => Option.fromUndefinedOr(isFirst(relayer) ? made.get(relayer.id) : undefined))
      ),
      query("RelayersRepo.insertAll")
    )
  }

  return { insert, insertAll }
})

const first =
  <Row, A>(Stored: new (row: Row) => A) =>
  ([row]: ReadonlyArray<Row>): Option.Option<A> =>
    row === undefined ? Option.none() : Option.some(new Stored(row))

const RelayerCount = Schema.Struct({
  network_type: NetworkType,
  /** A relayer that is both paused and disabled counts as disabled. `waiting`: a transaction of it waits for something that is missing. */
  state: Schema.Literals(["active", "waiting", "paused", "disabled"]),
  count: Rows.Integer
})
type RelayerCount = typeof RelayerCount.Type

const readNumbers = Rows.all(Schema.Struct({ id: Schema.String, seq: Schema.Int }))
const readCounts = Rows.all(RelayerCount)

const WithChannels = Schema.Struct({
  id: RelayerId,
  address: Schema.String,
  /** The number of channels that its policy wants. */
  channels: Schema.Int,
  version: Schema.String
})

const readWithChannels = Rows.all(WithChannels)

export const make = Effect.gen(function* () {
  const sql = yield* client
  const stored = Rows.unchecked<StoredRow>(sql)
  const held = Rows.unchecked<HeldRow>(sql)
  const columns = sql`t.id, ${managedByInJson(sql, "relayers")} AS json, t.mac, ${versionColumn(sql)}`
  const macs = yield* RelayerMacs

  const verified = <A extends StoredRelayer>(found: Option.Option<A>) =>
    Effect.as(macs.verify(Option.toArray(found)), found)

  const exitsOf = <A extends StoredRelayer>(all: ReadonlyArray<A>) =>
    Effect.matchCauseEffect(macs.verify(all), {
      onSuccess: () => Effect.succeed(all.map((one) => Exit.succeed(Option.some(one)))),
      onFailure: () => Effect.forEach(all, (one) => Effect.exit(Effect.as(macs.verify([one]), Option.some(one))))
    })

  /** In the order of the ids. If a row was changed in the database, only the result of its relayer is a failure. */
  const verifiedEach = <A extends StoredRelayer>(ids: ReadonlyArray<RelayerId>, all: ReadonlyArray<A>) =>
    Effect.map(exitsOf(all), (exits) => {
      const found = new Map(Array.zip(all, exits).map(([{ id }, exit]) => [id, exit]))
      return ids.map((id) => found.get(id) ?? Exit.succeed(Option.none<A>()))
    })

  const find = (id: RelayerId) =>
    stored`SELECT ${columns} FROM relayers t WHERE t.id = ${id}`.pipe(
      Effect.map(first(StoredRelayer)),
      Effect.flatMap(verified),
      query("RelayersRepo.find")
    )

  /** PostgreSQL plans a statement with `ANY` again each time it runs, which takes as long as reading one row. */
  const among = (ids: ReadonlyArray<RelayerId>) => (ids.length === 1 ? sql`= ${ids[0]}` : sql`= ANY(${ids})`)

  const findAll = (ids: ReadonlyArray<RelayerId>) =>
    stored`SELECT ${columns}, ${rowState(sql, "t")} AS state FROM relayers t WHERE t.id ${among(ids)}`.pipe(
      Effect.flatMap((rows) =>
        verifiedEach(
          ids,
          rows.map((row) => new StoredRelayer(row))
        )
      ),
      query("RelayersRepo.findAll")
    )

  /** `StoredRelayer.number`, even if rows were changed in the database. In the order of the ids. */
  const findNumbers = (ids: ReadonlyArray<RelayerId>) =>
    sql`SELECT t.id, t.seq::float8 AS seq FROM relayers t WHERE t.id = ANY(${ids})`.pipe(
      Effect.flatMap(readNumbers),
      Effect.map((rows) => {
        const found = new Map<string, number>(rows.map(({ id, seq }) => [id, seq]))
        return ids.map((id) => Option.fromUndefinedOr(found.get(id)))
      }),
      query("RelayersRepo.findNumbers")
    )

  /** Those of the addresses, in the canonical form of the network type, that belong to relayers of any network of it. */
  const accountsAmong = (type: NetworkType, wanted: ReadonlyArray<string>) =>
    wanted.length === 0
      ? Effect.succeed(new Set<string>())
      : sql`
          SELECT coalesce(string_agg(DISTINCT t.address, ' '), '') AS words FROM relayers t
          WHERE t.address = ANY(${wanted}) AND t.network_type = ${type}`.pipe(
          Effect.flatMap(Rows.words),
          Effect.map((found) => new Set(found)),
          query("RelayersRepo.accountsAmong")
        )

  /** Relayers of stellar that want channels, and those with one of the addresses. */
  const withChannels = (addresses: ReadonlyArray<string>) =>
    sql`
      SELECT t.id, t.address, coalesce((t.policies -> 'channels' ->> 'count')::float8, 0) AS channels, ${versionColumn(sql)}
      FROM relayers t WHERE t.id IN (
        SELECT r.id FROM relayers r WHERE r.network_type = 'stellar' AND (r.policies -> 'channels') IS NOT NULL
        UNION SELECT r.id FROM relayers r WHERE r.network_type = 'stellar' AND r.address = ANY(${addresses}))
      ORDER BY t.seq`.pipe(Effect.flatMap(readWithChannels), query("RelayersRepo.withChannels"))

  /** Whether another stellar relayer has the same address. A relayer that is being deleted at the same time does not count. */
  const sharesAccount = (id: RelayerId, { address, network }: Pick<Relayer, "address" | "network">) =>
    sql`
      SELECT 1 FROM relayers r WHERE r.network_type = 'stellar' AND r.address = ${address} AND r.network = ${network}
        AND r.id <> ${id} FOR KEY SHARE SKIP LOCKED`.pipe(
      Effect.map((rows) => rows.length > 0),
      query("RelayersRepo.sharesAccount")
    )

  const heldColumns = sql`${columns}, ${rowState(sql, "t")} AS state, t.custom_rpc_urls_sealed, t.custom_private_rpc_urls_sealed`

  const findSealed = (ids: ReadonlyArray<RelayerId>) =>
    held`SELECT ${heldColumns} FROM relayers t WHERE t.id ${among(ids)}`.pipe(
      Effect.flatMap((rows) =>
        verifiedEach(
          ids,
          rows.map((row) => new HeldRelayer(row))
        )
      ),
      query("RelayersRepo.findSealed")
    )

  /** In the order of their numbers, in which everything locks several of them. `lock`: until the transaction ends. */
  const findAllSealed = (ids: Ids, lock: boolean) =>
    held`
      SELECT ${heldColumns} FROM relayers t WHERE ${amongAll(sql, ids)}
      ORDER BY t.seq ${lock ? sql`FOR UPDATE` : sql``}`.pipe(
      Effect.map((rows) => rows.map((row) => new HeldRelayer(row))),
      Effect.tap(macs.verify),
      query("RelayersRepo.findAllSealed")
    )

  /** Whether one of these relayers has this notification. */
  const useNotification = (ids: ReadonlyArray<string>, notification: string) =>
    sql`SELECT 1 FROM relayers WHERE id = ANY(${ids}::text[]) AND notification_id = ${notification} LIMIT 1`.pipe(
      Effect.map((rows) => rows.length > 0),
      query("RelayersRepo.useNotification")
    )

  /**
   * Locks the row of a relayer, which every acceptance of its transactions shares. Only a transaction that does not have the row takes a turn:
   * a configuration locks the rows of many relayers before it changes them.
   */
  const locking = <Row extends object>(
    select: ReturnType<typeof Rows.unchecked<Row>>,
    columns: Statement.Fragment,
    id: RelayerId
  ) =>
    Effect.filterOrElse(
      select`SELECT ${columns} FROM relayers t WHERE t.id = ${id} FOR UPDATE SKIP LOCKED`,
      (rows) => rows.length > 0,
      () => select`
        WITH turn AS MATERIALIZED (SELECT ${exclusiveTurn(sql, sql`r.seq`)} FROM relayers r WHERE r.id = ${id})
        SELECT ${columns} FROM turn CROSS JOIN relayers t WHERE t.id = ${id} FOR UPDATE OF t`
    )

  /** Locks the row until the transaction ends. */
  const findForUpdate = (id: RelayerId) =>
    locking(held, heldColumns, id).pipe(
      Effect.map(first(HeldRelayer)),
      Effect.flatMap(verified),
      query("RelayersRepo.findForUpdate")
    )

  /** Locks the row until the transaction ends, and finds it even if it was changed in the database. */
  const findForDelete = (id: RelayerId) =>
    locking(stored, columns, id).pipe(Effect.map(first(StoredRelayer)), query("RelayersRepo.findForDelete"))

  const existing = ([row]: ReadonlyArray<StoredRow>) =>
    row === undefined ? Effect.die(new Error("the relayer is not held")) : Effect.succeed(new StoredRelayer(row))

  /** Stores the fields of `request` that can change. `urls` absent: they stay. */
  const update = (id: RelayerId, request: CreateRelayer, urls: StoredUrls | undefined) =>
    Effect.gen(function* () {
      const { name, paused, notification_id, policies } = yield* changeable(request)
      const setUrls =
        urls === undefined
          ? sql``
          : sql`, custom_rpc_urls = ${yield* shownUrls(urls.custom_rpc_urls.masked)}::text::json,
              custom_rpc_urls_sealed = ${urls.custom_rpc_urls.sealed ?? null}::bytea,
              custom_private_rpc_urls = ${yield* shownUrls(urls.custom_private_rpc_urls.masked)}::text::json,
              custom_private_rpc_urls_sealed = ${urls.custom_private_rpc_urls.sealed ?? null}::bytea`
      const changed = yield* stored`
        UPDATE relayers t SET name = ${name}, paused = ${paused}, notification_id = ${notification_id}::text,
          policies = ${policies}::text::json, version = version + 1 ${setUrls}
        WHERE t.id = ${id} RETURNING ${columns}`
      return yield* existing(changed)
    }).pipe(
      onForeignKey("relayers_notification_id_fkey", () => new ReferenceMissing({})),
      query("RelayersRepo.update")
    )

  /** Sets why the service disabled the relayer. `undefined` enables it. */
  const setDisabled = (id: RelayerId, reason: DisabledReason | undefined) =>
    stored`
      UPDATE relayers t SET system_disabled = ${reason !== undefined}, version = version + 1,
        disabled_reason = ${Rows.jsonText(reason)}::text::json
      WHERE t.id = ${id} RETURNING ${columns}`.pipe(Effect.flatMap(existing), query("RelayersRepo.setDisabled"))

  const deleteRow = (id: RelayerId) =>
    sql`DELETE FROM relayers WHERE id = ${id}`.pipe(Effect.asVoid, query("RelayersRepo.delete"))

  /** Reads every relayer. */
  const count = sql`
    SELECT network_type,
      CASE WHEN system_disabled THEN 'disabled' WHEN paused THEN 'paused'
        WHEN seq IN (${waitingRelayers(sql)}) THEN 'waiting' ELSE 'active' END AS state,
      count(*) AS count
    FROM relayers GROUP BY 1, 2`.pipe(Effect.flatMap(readCounts), query("RelayersRepo.count"))

  return {
    accountsAmong,
    withChannels,
    sharesAccount,
    find,
    findAll,
    findNumbers,
    findSealed,
    findAllSealed,
    findForUpdate,
    findForDelete,
    useNotification,
    update,
    setDisabled,
    delete: deleteRow,
    count
  }
})
