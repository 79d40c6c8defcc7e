// A row of `relayers` as a relayer, and a relayer as a row.
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { parse } from "../../domain/ExactJson.ts"
import { MaskedRpcConfig } from "../../domain/Rpc.ts"
import { CreateRelayer, Relayer } from "../../domain/Relayer.ts"
import type { Versioned } from "../../domain/Version.ts"
import { jsonText, withoutNulls } from "../../sql/Row.ts"

const json = (column: unknown) => parse(String(column))

/** Columns are named as the wire's fields; jsonb comes as text, with every digit. */
export const Row = withoutNulls(Relayer, { policies: json, custom_rpc_urls: json, disabled_reason: json })
const decodeRow = Schema.decodeUnknownEffect(Row)

/** Of the table as `t`. */
export const columnsOf = (sql: SqlClient.SqlClient) =>
  sql`t.id, t.name, t.network_type, t.network, t.address, t.paused, t.system_disabled,
    t.disabled_reason::text AS disabled_reason, t.signer_id, t.notification_id, t.policies::text AS policies,
    t.custom_rpc_urls::text AS custom_rpc_urls`

export interface StoredRow {
  readonly version: number
  readonly custom_rpc_urls_sealed: Uint8Array | null
}

export interface StoredRelayer extends Versioned<Relayer> {
  /** JSON of the true `custom_rpc_urls`. */
  readonly urlsSealed: Uint8Array | undefined
}

export const toVersioned = (row: StoredRow) =>
  Effect.map(decodeRow(row), (value): Versioned<Relayer> => ({ value, version: row.version }))

export const toStored = (row: StoredRow) =>
  Effect.map(toVersioned(row), (found): StoredRelayer => ({
    ...found,
    urlsSealed: row.custom_rpc_urls_sealed ?? undefined
  }))

/** `JSON.stringify` of the encoded fields keeps the digits of amounts: they are raw JSON numbers. */
const encodeRequest = Schema.encodeUnknownEffect(CreateRelayer)
const encodeMasked = Schema.encodeUnknownEffect(Schema.Array(MaskedRpcConfig))

/** The columns of what can change. */
export const changeable = Effect.fnUntraced(function* (request: CreateRelayer) {
  const encoded = (yield* encodeRequest(request)) as { readonly policies?: unknown }
  return {
    name: request.name,
    paused: request.paused,
    notification_id: request.notification_id ?? null,
    policies: jsonText(encoded.policies)
  }
})

export const shownUrls = (masked: ReadonlyArray<MaskedRpcConfig> | undefined) =>
  Effect.map(masked === undefined ? Effect.undefined : encodeMasked(masked), jsonText)
