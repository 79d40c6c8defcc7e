// The table `relayers`; `NewRelayersRepo` writes what is new, `RelayerPagesRepo` reads pages.
import { Array, Effect, Exit, Option, Schema } from "effect"
import type { Statement } from "effect/sql"
import { NetworkType } from "../../domain/network/Network.ts"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import type { CreateRelayer, DisabledReason, Relayer } from "../../domain/relayer/Relayer.ts"
import { client, onForeignKey, query } from "../../sql/Query.ts"
import * as Rows from "../../sql/Rows.ts"
import { addressesIn, amongAll, managedByInJson, versionColumn } from "../../sql/Rows.ts"
import type { AddressPart, Ids } from "../../sql/Rows.ts"
import { exclusiveTurn } from "../../sql/Transaction.ts"
import { ReferenceMissing } from "./NewRelayersRepo.ts"
import type { StoredUrls } from "./NewRelayersRepo.ts"
import { RelayerMacs } from "./RelayerMacs.ts"
import { changeable, shownUrls } from "./NewRelayersRepo.ts"
import { HeldRelayer, StoredRelayer } from "./StoredRelayer.ts"
import type { HeldRow, StoredRow } from "./StoredRelayer.ts"

const first =
  <Row, A>(Stored: new (row: Row) => A) =>
  ([row]: ReadonlyArray<Row>): Option.Option<A> =>
    row === undefined ? Option.none() : Option.some(new Stored(row))

const RelayerCount = Schema.Struct({
  network_type: NetworkType,
  /** A relayer that is both paused and disabled counts as disabled. */
  state: Schema.Literals(["active", "paused", "disabled"]),
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
    stored`SELECT ${columns} FROM relayers t WHERE t.id ${among(ids)}`.pipe(
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

  /** Addresses of relayers on networks of the type that have the letters of `part`. */
  const addresses = (type: NetworkType, part: AddressPart) =>
    addressesIn(sql, "relayers", `t.network_type = '${type}'`, part).pipe(
      Effect.flatMap(Rows.words),
      query("RelayersRepo.addresses")
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

  const heldColumns = sql`${columns}, t.custom_rpc_urls_sealed`

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

  /** In the order of ids. `lock`: until the transaction ends. */
  const findAllSealed = (ids: Ids, lock: boolean) =>
    held`
      SELECT ${heldColumns} FROM relayers t WHERE ${amongAll(sql, ids)}
      ORDER BY t.id ${lock ? sql`FOR UPDATE` : sql``}`.pipe(
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
          : sql`, custom_rpc_urls = ${yield* shownUrls(urls.masked)}::text::json, custom_rpc_urls_sealed = ${urls.sealed ?? null}::bytea`
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
      CASE WHEN system_disabled THEN 'disabled' WHEN paused THEN 'paused' ELSE 'active' END AS state,
      count(*) AS count
    FROM relayers GROUP BY 1, 2`.pipe(Effect.flatMap(readCounts), query("RelayersRepo.count"))

  return {
    addresses,
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
