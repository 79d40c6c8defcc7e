// The table `relayers`.
import { Context, Effect, Layer, Schema, SchemaTransformation } from "effect"
import type { Option } from "effect"
import { SqlSchema } from "effect/sql"
import { parse } from "../../domain/ExactJson.ts"
import type { NetworkName, NetworkType } from "../../domain/Network.ts"
import type { Page, PageRequest } from "../../domain/Page.ts"
import { MaskedRpcConfig } from "../../domain/Rpc.ts"
import { CreateRelayer, Relayer, RelayerId, RelayerIdTaken } from "../../domain/Relayer.ts"
import type { SignerId } from "../../domain/Signer.ts"
import { client, onConflict, query } from "../../sql/Query.ts"
import { selectPage } from "../../sql/SelectPage.ts"

/** The signer already serves a relayer on that network. */
export class SignerInUse extends Schema.TaggedError<SignerInUse>()("SignerInUse", {}) {}

/** The signer or the notification does not exist. */
export class ReferenceMissing extends Schema.TaggedError<ReferenceMissing>()("ReferenceMissing", {}) {}

const jsonColumns = new Set(["policies", "custom_rpc_urls", "disabled_reason"])

/** Columns are named as the wire's fields: nulls are absent fields, and jsonb comes as text, with every digit. */
const Row = Schema.Unknown.pipe(
  Schema.decodeTo(
    Schema.Unknown,
    SchemaTransformation.transform({
      decode: (row: unknown): unknown =>
        Object.fromEntries(
          Object.entries(row as Record<string, unknown>)
            .filter(([column, value]) => value !== null && column !== "seq" && column !== "total")
            .map(([column, value]) => [column, jsonColumns.has(column) ? parse(String(value)) : value])
        ),
      encode: (relayer: unknown) => relayer
    })
  ),
  Schema.decodeTo(Relayer)
)

/** `JSON.stringify` of the encoded fields keeps the digits of amounts: they are raw JSON numbers. */
const encodeRequest = Schema.encodeUnknownEffect(CreateRelayer)
const encodeMasked = Schema.encodeUnknownEffect(Schema.Array(MaskedRpcConfig))

const jsonText = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value))

/** What `insert` adds to a request. */
export interface NewRelayer {
  readonly id: RelayerId
  readonly request: CreateRelayer
  /** What is shown of the request's RPC URLs. */
  readonly maskedRpcUrls: ReadonlyArray<MaskedRpcConfig> | undefined
  readonly rpcUrlsSealed: Uint8Array | undefined
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
    insert(relayer: NewRelayer): Effect.Effect<Relayer, RelayerIdTaken | SignerInUse | ReferenceMissing>
    find(id: RelayerId): Effect.Effect<Option.Option<Relayer>>
    /** The relayer that a signer serves on a network. */
    findBySigner(signer: SignerId, type: NetworkType, network: NetworkName): Effect.Effect<Option.Option<Relayer>>
    page(request: PageRequest): Effect.Effect<Page<Relayer>>
    /** Reads every relayer. */
    readonly count: Effect.Effect<ReadonlyArray<RelayerCount>>
  }
>()("effect-relayer/server/Relayers/RelayersRepo") {
  static readonly layer = Layer.effect(
    RelayersRepo,
    Effect.gen(function* () {
      const sql = yield* client
      const columns = sql`t.id, t.name, t.network_type, t.network, t.address, t.paused, t.system_disabled,
        t.disabled_reason::text AS disabled_reason, t.signer_id, t.notification_id, t.policies::text AS policies,
        t.custom_rpc_urls::text AS custom_rpc_urls`

      const insertRow = SqlSchema.findOne({
        Request: Schema.Struct({ row: Schema.Any, address: Schema.String }),
        Result: Row,
        execute: ({ row, address }) => sql`
          INSERT INTO relayers AS t (
            id, name, network_type, network, address, paused, signer_id, notification_id,
            policies, custom_rpc_urls, custom_rpc_urls_sealed
          )
          SELECT ${row.id}, ${row.name}, ${row.network_type}, ${row.network}, s.${sql(address)}, ${row.paused}, s.id,
            ${row.notification_id}::text, ${row.policies}::text::jsonb, ${row.custom_rpc_urls}::text::jsonb,
            ${row.custom_rpc_urls_sealed}::bytea
          FROM signers s
          WHERE s.id = ${row.signer_id}
            AND (${row.notification_id}::text IS NULL
              OR EXISTS (SELECT 1 FROM notifications WHERE id = ${row.notification_id}::text))
          RETURNING ${columns}`
      })

      const insert = ({ id, request, maskedRpcUrls, rpcUrlsSealed }: NewRelayer) =>
        Effect.gen(function* () {
          const encoded = (yield* encodeRequest(request)) as { readonly policies?: unknown }
          return yield* insertRow({
            address: `${request.network_type}_address`,
            row: {
              id,
              name: request.name,
              network_type: request.network_type,
              network: request.network,
              paused: request.paused,
              signer_id: request.signer_id,
              notification_id: request.notification_id ?? null,
              policies: jsonText(encoded.policies),
              custom_rpc_urls: jsonText(maskedRpcUrls === undefined ? undefined : yield* encodeMasked(maskedRpcUrls)),
              custom_rpc_urls_sealed: rpcUrlsSealed ?? null
            }
          })
        }).pipe(
          Effect.catchTag("NoSuchElementError", () => Effect.fail(new ReferenceMissing({}))),
          onConflict("relayers_pkey", () => new RelayerIdTaken({})),
          onConflict("relayers_signer_network_key", () => new SignerInUse({})),
          query("RelayersRepo.insert")
        )

      const findRow = SqlSchema.findOneOption({
        Request: RelayerId,
        Result: Row,
        execute: (id) => sql`SELECT ${columns} FROM relayers t WHERE t.id = ${id}`
      })

      const find = (id: RelayerId) => findRow(id).pipe(query("RelayersRepo.find"))

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

      const page = (request: PageRequest) =>
        selectRows(request.perPage, request.offset).pipe(
          Effect.map((selected) => ({ ...selected, request })),
          query("RelayersRepo.page")
        )

      const count = sql<{ network_type: NetworkType; state: RelayerCount["state"]; count: bigint }>`
        SELECT network_type,
          CASE WHEN system_disabled THEN 'disabled' WHEN paused THEN 'paused' ELSE 'active' END AS state,
          count(*) AS count
        FROM relayers GROUP BY 1, 2`.pipe(
        Effect.map((rows) => rows.map((row) => ({ ...row, count: Number(row.count) }))),
        query("RelayersRepo.count")
      )

      return RelayersRepo.of({ insert, find, findBySigner, page, count })
    })
  )
}
