// The table `api_keys`.
import { Context, DateTime, Effect, Layer, Option } from "effect"
import { ApiKey } from "../../domain/access/ApiKey.ts"
import type { ApiKeyId } from "../../domain/access/ApiKey.ts"
import type { Page, PageRequest } from "../../domain/request/Page.ts"
import type { Grant } from "../../domain/access/Scope.ts"
import { withoutNulls } from "../../sql/Row.ts"
import { client, query } from "../../sql/Query.ts"
import { selectPage } from "../../sql/SelectPage.ts"
import { selectRow } from "../../sql/SelectRow.ts"

const Row = withoutNulls(ApiKey)

/** Who holds a key, and what it is good for. */
export interface Holder {
  readonly id: ApiKeyId
  readonly scopes: ReadonlyArray<Grant>
  readonly relayer_ids: ReadonlyArray<string> | null
}

export class ApiKeysRepo extends Context.Service<
  ApiKeysRepo,
  {
    insert(key: ApiKey, hash: Uint8Array): Effect.Effect<void>
    find(id: ApiKeyId): Effect.Effect<Option.Option<ApiKey>>
    /** Holds the row until the transaction ends. */
    findForUpdate(id: ApiKeyId): Effect.Effect<Option.Option<ApiKey>>
    /** By hashes, in hex, that are good `at` this moment: of the key, or of the one before while it lives on. In their order. */
    findByHashes(hashes: ReadonlyArray<string>, at: DateTime.Utc): Effect.Effect<ReadonlyArray<Option.Option<Holder>>>
    page(request: PageRequest): Effect.Effect<Page<ApiKey>>
    delete(id: ApiKeyId): Effect.Effect<void>
    /** The present key becomes the previous one. */
    rotate(id: ApiKeyId, hash: Uint8Array, previousExpiresAt: DateTime.Utc): Effect.Effect<void>
    touch(id: ApiKeyId, at: DateTime.Utc, from: string | undefined): Effect.Effect<void>
  }
>()("effect-relayer/server/access/ApiKeysRepo") {
  static readonly layer = Layer.effect(
    ApiKeysRepo,
    Effect.gen(function* () {
      const sql = yield* client
      const at = (column: string) => sql`to_json(t.${sql(column)}) #>> '{}' AS ${sql(column)}`
      const columns = sql`t.id, t.name, t.scopes, t.relayer_ids, ${at("created_at")}, ${at("expires_at")},
        ${at("previous_expires_at")}, ${at("last_used_at")}, t.last_used_from`
      const selection = { table: "api_keys", columns, Row }

      const insert = (key: ApiKey, hash: Uint8Array) =>
        sql`INSERT INTO api_keys ${sql.insert({
          id: key.id,
          name: key.name,
          hash,
          scopes: key.scopes,
          relayer_ids: key.relayer_ids ?? null,
          expires_at: key.expires_at === undefined ? null : DateTime.toDate(key.expires_at),
          created_at: DateTime.toDate(key.created_at)
        })}`.pipe(Effect.asVoid, query("ApiKeysRepo.insert"))

      const row = selectRow(sql, selection)
      const find = (id: ApiKeyId) => row.find(id).pipe(query("ApiKeysRepo.find"))
      const findForUpdate = (id: ApiKeyId) => row.findForUpdate(id).pipe(query("ApiKeysRepo.findForUpdate"))

      const holders = (hashes: ReadonlyArray<string>, column: string) => sql`
        SELECT given.hash, t.id, t.scopes, t.relayer_ids, t.expires_at, t.previous_expires_at
        FROM unnest(${hashes}::text[]) AS given (hash) JOIN api_keys t ON t.${sql(column)} = decode(given.hash, 'hex')`

      const findByHashes = (hashes: ReadonlyArray<string>, moment: DateTime.Utc) => {
        const at = DateTime.toDate(moment)
        return sql<Holder & { readonly hash: string }>`
          SELECT hash, id, scopes, relayer_ids FROM (${holders(hashes, "hash")}) present
          WHERE expires_at IS NULL OR expires_at > ${at}
          UNION ALL
          SELECT hash, id, scopes, relayer_ids FROM (${holders(hashes, "previous_hash")}) previous
          WHERE previous_expires_at > ${at} AND (expires_at IS NULL OR expires_at > ${at})`.pipe(
          Effect.map((rows) => hashes.map((hash) => Option.fromUndefinedOr(rows.find((row) => row.hash === hash)))),
          query("ApiKeysRepo.findByHashes")
        )
      }

      const selectRows = selectPage(sql, selection)
      const page = (request: PageRequest) => selectRows(request).pipe(query("ApiKeysRepo.page"))

      const deleteRow = (id: ApiKeyId) =>
        sql`DELETE FROM api_keys WHERE id = ${id}`.pipe(Effect.asVoid, query("ApiKeysRepo.delete"))

      const rotate = (id: ApiKeyId, hash: Uint8Array, previousExpiresAt: DateTime.Utc) =>
        sql`
          UPDATE api_keys SET previous_hash = hash, previous_expires_at = ${DateTime.toDate(previousExpiresAt)}, hash = ${hash}
          WHERE id = ${id}`.pipe(Effect.asVoid, query("ApiKeysRepo.rotate"))

      const touch = (id: ApiKeyId, moment: DateTime.Utc, from: string | undefined) =>
        sql`
          UPDATE api_keys SET last_used_at = ${DateTime.toDate(moment)}, last_used_from = ${from ?? null}
          WHERE id = ${id}`.pipe(Effect.asVoid, query("ApiKeysRepo.touch"))

      return ApiKeysRepo.of({ insert, find, findForUpdate, findByHashes, page, delete: deleteRow, rotate, touch })
    })
  )
}
