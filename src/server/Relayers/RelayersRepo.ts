// The table `relayers`.
import { Context, Effect, Layer, Schema } from "effect"
import type { Option } from "effect"
import { SqlSchema } from "effect/sql"
import type { NetworkId, NetworkName, NetworkType } from "../../domain/Network.ts"
import type { Page, PageRequest } from "../../domain/Page.ts"
import type { MaskedRpcConfig } from "../../domain/Rpc.ts"
import { RelayerIdTaken } from "../../domain/Relayer.ts"
import type {
  CreateRelayer,
  DisabledReason,
  Relayer,
  RelayerFilter,
  RelayerId,
  RelayerSort
} from "../../domain/Relayer.ts"
import type { SignerId } from "../../domain/Signer.ts"
import type { Versioned } from "../../domain/Version.ts"
import { client, onConflict, onForeignKey, query } from "../../sql/Query.ts"
import { jsonText } from "../../sql/Row.ts"
import { selectPage } from "../../sql/SelectPage.ts"
import * as RelayerOrder from "./RelayerOrder.ts"
import type { Position } from "./RelayerOrder.ts"
import { Row, changeable, columnsOf, shownUrls, toStored, toVersioned } from "./RelayerRow.ts"
import type { StoredRelayer, StoredRow } from "./RelayerRow.ts"

/** The signer already serves a relayer on that network. */
export class SignerTaken extends Schema.TaggedError<SignerTaken>()("SignerTaken", {}) {}

/** The signer, its address on that network type, the notification or the network does not exist. */
export class ReferenceMissing extends Schema.TaggedError<ReferenceMissing>()("ReferenceMissing", {}) {}

/** RPC URLs as they are stored: what is shown, and what is called. */
export interface StoredUrls {
  readonly masked: ReadonlyArray<MaskedRpcConfig> | undefined
  readonly sealed: Uint8Array | undefined
}

export interface NewRelayer {
  readonly id: RelayerId
  readonly request: CreateRelayer
  readonly urls: StoredUrls
  /** The network, where it is not built in. */
  readonly ownNetworkId: NetworkId | undefined
}

export interface RelayerSelection {
  readonly request: PageRequest
  readonly filter: RelayerFilter
  /** The only relayers that there are for the caller. */
  readonly ids: ReadonlyArray<string> | undefined
  readonly sort: RelayerSort
  /** Where the selection begins, and what it counts: known from the page before. */
  readonly from: { readonly position: Position; readonly total: number } | undefined
}

export interface RelayerCount {
  readonly network_type: NetworkType
  /** A relayer that is both paused and disabled counts as disabled. */
  readonly state: "active" | "paused" | "disabled"
  readonly count: number
}

export class RelayersRepo extends Context.Service<
  RelayersRepo,
  {
    /** One statement: the relayer is there whole, with its signer's address, or not at all. */
    insert(relayer: NewRelayer): Effect.Effect<Versioned<Relayer>, RelayerIdTaken | SignerTaken | ReferenceMissing>
    find(id: RelayerId): Effect.Effect<Option.Option<Versioned<Relayer>>>
    findStored(id: RelayerId): Effect.Effect<Option.Option<StoredRelayer>>
    /** Holds the row until the transaction ends. */
    findForUpdate(id: RelayerId): Effect.Effect<Option.Option<StoredRelayer>>
    /** What of `request` can change; `urls` absent: as they are. */
    update(
      id: RelayerId,
      request: CreateRelayer,
      urls: StoredUrls | undefined
    ): Effect.Effect<Versioned<Relayer>, ReferenceMissing>
    /** By the service. Undefined: it is not, any more. */
    setDisabled(id: RelayerId, reason: DisabledReason | undefined): Effect.Effect<Versioned<Relayer>>
    delete(id: RelayerId): Effect.Effect<void>
    /** The relayer that a signer serves on a network. */
    findBySigner(signer: SignerId, type: NetworkType, network: NetworkName): Effect.Effect<Option.Option<Relayer>>
    page(selection: RelayerSelection): Effect.Effect<Page<Relayer> & { readonly last: Position | undefined }>
    /** Reads every relayer. */
    readonly count: Effect.Effect<ReadonlyArray<RelayerCount>>
  }
>()("effect-relayer/server/Relayers/RelayersRepo") {
  static readonly layer = Layer.effect(
    RelayersRepo,
    Effect.gen(function* () {
      const sql = yield* client
      const columns = columnsOf(sql)
      const versioned = sql`${columns}, t.version`

      const insert = ({ id, request, urls, ownNetworkId }: NewRelayer) =>
        Effect.gen(function* () {
          const { name, paused, notification_id, policies } = yield* changeable(request)
          const address = sql(`${request.network_type}_address`)
          const [row] = yield* sql<StoredRow>`
            INSERT INTO relayers AS t (
              id, name, network_type, network, address, paused, signer_id, notification_id,
              policies, custom_rpc_urls, custom_rpc_urls_sealed, own_network_id
            )
            SELECT ${id}, ${name}, ${request.network_type}, ${request.network}, s.${address}, ${paused}, s.id,
              ${notification_id}::text, ${policies}::text::jsonb, ${yield* shownUrls(urls.masked)}::text::jsonb,
              ${urls.sealed ?? null}::bytea, ${ownNetworkId ?? null}::text
            FROM signers s
            WHERE s.id = ${request.signer_id} AND s.${address} IS NOT NULL
            RETURNING ${versioned}`
          return row === undefined ? yield* new ReferenceMissing({}) : yield* toVersioned(row)
        }).pipe(
          onConflict("relayers_pkey", () => new RelayerIdTaken({})),
          onConflict("relayers_signer_network_key", () => new SignerTaken({})),
          onForeignKey("relayers_notification_id_fkey", () => new ReferenceMissing({})),
          onForeignKey("relayers_own_network_id_fkey", () => new ReferenceMissing({})),
          onForeignKey("relayers_signer_id_fkey", () => new ReferenceMissing({})),
          query("RelayersRepo.insert")
        )

      const some =
        <A, E>(read: (row: StoredRow) => Effect.Effect<A, E>) =>
        ([row]: ReadonlyArray<StoredRow>): Effect.Effect<Option.Option<A>, E> =>
          row === undefined ? Effect.succeedNone : Effect.asSome(read(row))

      const find = (id: RelayerId) =>
        sql<StoredRow>`SELECT ${versioned} FROM relayers t WHERE t.id = ${id}`.pipe(
          Effect.flatMap(some(toVersioned)),
          query("RelayersRepo.find")
        )

      const stored = (id: RelayerId) =>
        sql<StoredRow>`SELECT ${versioned}, t.custom_rpc_urls_sealed FROM relayers t WHERE t.id = ${id}`

      const findStored = (id: RelayerId) =>
        stored(id).pipe(Effect.flatMap(some(toStored)), query("RelayersRepo.findStored"))

      const findForUpdate = (id: RelayerId) =>
        sql<StoredRow>`${stored(id)} FOR UPDATE`.pipe(
          Effect.flatMap(some(toStored)),
          query("RelayersRepo.findForUpdate")
        )

      const held = ([row]: ReadonlyArray<StoredRow>) =>
        row === undefined ? Effect.die(new Error("the relayer is not held")) : toVersioned(row)

      const update = (id: RelayerId, request: CreateRelayer, urls: StoredUrls | undefined) =>
        Effect.gen(function* () {
          const { name, paused, notification_id, policies } = yield* changeable(request)
          const setUrls =
            urls === undefined
              ? sql``
              : sql`, custom_rpc_urls = ${yield* shownUrls(urls.masked)}::text::jsonb, custom_rpc_urls_sealed = ${urls.sealed ?? null}::bytea`
          const changed = yield* sql<StoredRow>`
            UPDATE relayers t SET name = ${name}, paused = ${paused}, notification_id = ${notification_id}::text,
              policies = ${policies}::text::jsonb, version = version + 1 ${setUrls}
            WHERE t.id = ${id} RETURNING ${versioned}`
          return yield* held(changed)
        }).pipe(
          onForeignKey("relayers_notification_id_fkey", () => new ReferenceMissing({})),
          query("RelayersRepo.update")
        )

      const setDisabled = (id: RelayerId, reason: DisabledReason | undefined) =>
        sql<StoredRow>`
          UPDATE relayers t SET system_disabled = ${reason !== undefined}, version = version + 1,
            disabled_reason = ${jsonText(reason)}::text::jsonb
          WHERE t.id = ${id} RETURNING ${versioned}`.pipe(Effect.flatMap(held), query("RelayersRepo.setDisabled"))

      const deleteRow = (id: RelayerId) =>
        sql`DELETE FROM relayers WHERE id = ${id}`.pipe(Effect.asVoid, query("RelayersRepo.delete"))

      const findRowBySigner = SqlSchema.findOneOption({
        Request: Schema.Struct({ signer: Schema.String, type: Schema.String, network: Schema.String }),
        Result: Row,
        execute: ({ signer, type, network }) => sql`
          SELECT ${columns} FROM relayers t
          WHERE t.signer_id = ${signer} AND t.network_type = ${type} AND t.network = ${network}`
      })

      const findBySigner = (signer: SignerId, type: NetworkType, network: NetworkName) =>
        findRowBySigner({ signer, type, network }).pipe(query("RelayersRepo.findBySigner"))

      const selectRows = selectPage(sql, { table: "relayers", columns, Row })

      const conditions = ({ q, ...equal }: RelayerFilter, ids: ReadonlyArray<string> | undefined) => [
        ...Object.entries(equal).map(([column, value]) => sql`t.${sql(column)} = ${value}`),
        ...(q === undefined ? [] : [sql`strpos(lower(t.name), lower(${q})) + strpos(lower(t.id), lower(${q})) > 0`]),
        ...(ids === undefined ? [] : [sql`${sql.in("id", ids)}`])
      ]

      /** Reads one more than is served: whether there is a next page. */
      const page = ({ request, filter, ids, sort, from }: RelayerSelection) =>
        Effect.gen(function* () {
          const where = conditions(filter, ids)
          const order = RelayerOrder.of(sql, sort)
          const total =
            from !== undefined
              ? sql`${from.total}::bigint`
              : where.length === 0
                ? sql`(SELECT sum(count)::bigint FROM relayer_counts)`
                : undefined
          const found = yield* selectRows({
            perPage: request.perPage === 0 ? 0 : request.perPage + 1,
            offset: from === undefined ? request.offset : 0,
            where: sql.and(from === undefined ? where : [...where, order.after(from.position)]),
            orderBy: order.by,
            ...(total === undefined ? {} : { total })
          })
          const items = found.items.slice(0, request.perPage)
          const end = items.at(-1)
          const last =
            end === undefined || items.length === found.items.length
              ? undefined
              : { name: end.name, seq: found.seqs[items.length - 1] ?? 0 }
          return { items, total: found.total, request, last }
        }).pipe(query("RelayersRepo.page"))

      const count = sql<{ network_type: NetworkType; state: RelayerCount["state"]; count: bigint }>`
        SELECT network_type,
          CASE WHEN system_disabled THEN 'disabled' WHEN paused THEN 'paused' ELSE 'active' END AS state,
          count(*) AS count
        FROM relayers GROUP BY 1, 2`.pipe(
        Effect.map((rows) => rows.map((row) => ({ ...row, count: Number(row.count) }))),
        query("RelayersRepo.count")
      )

      return RelayersRepo.of({
        insert,
        find,
        findStored,
        findForUpdate,
        update,
        setDisabled,
        delete: deleteRow,
        findBySigner,
        page,
        count
      })
    })
  )
}
