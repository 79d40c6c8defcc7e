// The tables `api_keys`, `api_key_descendants` and `api_key_fee_limits`: API keys, and what they share with the keys that they create.
import { DateTime, Effect, Option, Schema } from "effect"
import { ApiKey, ApiKeyId, ApiKeyIdTaken, Grant } from "../../domain/access/ApiKey.ts"
import type { PageRequest } from "../../domain/request/Page.ts"
import type { Versioned } from "../../domain/request/Request.ts"
import { feeLimitsOf, TransactionLimits } from "../../networks/core/TransactionLimits.ts"
import { client, onConflict, query } from "../../sql/Transaction.ts"
import * as Rows from "../../sql/Rows.ts"
import { amongAll, managedByColumn, selectPage, selectRow, versionColumn } from "../../sql/Rows.ts"
import type { Ids } from "../../sql/Rows.ts"

// Which API keys have created which, and the limits of fees that keys share with their descendants: the tables `api_key_descendants` and
// `api_key_fee_limits`, whose rows outlive the keys.

const readCreator = Rows.first(
  Schema.Struct({
    expires_at: Schema.NullOr(Schema.Date),
    ancestors: Schema.Array(Schema.String),
    transaction_limits: Schema.NullOr(TransactionLimits)
  })
)
const readFeeLimits = Rows.all(Schema.Struct({ id: Schema.String, maximum: Schema.BigIntFromString }))
const readCreated = Rows.one(Schema.Struct({ created: Rows.Integer }))

/** A key whose fees per day on networks of a type are limited, together with those of its descendants. Smallest unit. */
export interface FeeLimit {
  readonly keyId: string
  readonly networkType: string
  readonly maximum: bigint
}

/** What limits the keys that an API key creates. */
export interface KeyCreator {
  readonly expires_at: DateTime.Utc | undefined
  readonly transaction_limits: TransactionLimits | undefined
  /** API keys from the first one down to the creator's own. */
  readonly ancestors: ReadonlyArray<string>
  /** Keys that are not revoked and that the first of the ancestors has created, directly or through others. */
  readonly created: number
}

export const makeKeyLineageRepo = Effect.gen(function* () {
  const sql = yield* client

  const add = (id: ApiKeyId, ancestors: ReadonlyArray<string>) =>
    sql`INSERT INTO api_key_descendants (ancestor, id) SELECT ancestor, ${id} FROM unnest(${ancestors}::text[]) AS given (ancestor)`

  const addFeeLimits = ({ id, transaction_limits }: ApiKey) => {
    const limits = feeLimitsOf(transaction_limits)
    const types = limits.map(({ type }) => type)
    const maxima = limits.map(({ maximum }) => String(maximum))
    return limits.length === 0
      ? Effect.void
      : Effect.asVoid(sql`
          INSERT INTO api_key_fee_limits (key_id, network_type, maximum)
          SELECT ${id}, type, maximum FROM unnest(${types}::text[], ${maxima}::numeric[]) AS given (type, maximum)`)
  }

  const replaceFeeLimits = (key: ApiKey) =>
    Effect.andThen(sql`DELETE FROM api_key_fee_limits WHERE key_id = ${key.id}`, addFeeLimits(key))

  /** Limits and descendants outlive a key: another key of its id would get them. */
  const checkUnused = (id: ApiKeyId) =>
    sql`
      SELECT 1 WHERE EXISTS (SELECT 1 FROM api_key_fee_limits WHERE key_id = ${id})
        OR EXISTS (SELECT 1 FROM api_key_descendants WHERE id = ${id} OR ancestor = ${id})`.pipe(
      Effect.flatMap((rows) => (rows.length === 0 ? Effect.void : Effect.fail(new ApiKeyIdTaken({}))))
    )

  /** The limits of fees per day on networks of a type, of the key and of the keys that it descends from. They outlive the keys. */
  const feeLimits = (id: string, networkType: string) =>
    sql`
      SELECT l.key_id AS id, l.maximum::text AS maximum FROM api_key_fee_limits l
      WHERE l.network_type = ${networkType} AND l.key_id IN (SELECT ${id} UNION ALL SELECT d.ancestor FROM api_key_descendants d WHERE d.id = ${id})
      ORDER BY l.key_id`.pipe(
      Effect.flatMap(readFeeLimits),
      Effect.map((rows) => rows.map(({ id: keyId, maximum }): FeeLimit => ({ keyId, networkType, maximum }))),
      query("ApiKeysRepo.feeLimits")
    )

  /** Rows of descendants outlive their keys. */
  const descendsFrom = (id: string, ancestor: string) =>
    sql`SELECT 1 FROM api_key_descendants WHERE ancestor = ${ancestor} AND id = ${id}`.pipe(
      Effect.map((rows) => rows.length > 0),
      query("ApiKeysRepo.descendsFrom")
    )

  /**
   * Locks its row, and that of its first ancestor, until the transaction ends. None if the caller is no API key. Several
   * statements: the count must include the keys of requests that held the lock before.
   */
  const holdCreator = (id: string) =>
    Effect.gen(function* () {
      const first = firstAncestor(id)
      yield* sql`SELECT 1 FROM api_keys WHERE id = ${id} OR id = ${first} ORDER BY seq FOR UPDATE`
      return yield* readCreatorOf(id)
    }).pipe(query("ApiKeysRepo.holdCreator"))

  const firstAncestor = (id: string) => sql`(SELECT coalesce(ancestors[1], id) FROM api_keys WHERE id = ${id})`

  /** The same without locks. */
  const findCreator = (id: string) => readCreatorOf(id).pipe(query("ApiKeysRepo.findCreator"))

  const readCreatorOf = (id: string) =>
    Effect.gen(function* () {
      const found = yield* readCreator(
        yield* sql`SELECT expires_at, ancestors, transaction_limits FROM api_keys WHERE id = ${id}`
      )
      const { created } = yield* readCreated(
        yield* sql`SELECT count(*) AS created FROM api_keys WHERE ancestors @> ARRAY[${firstAncestor(id)}]`
      )
      return Option.map(found, ({ expires_at, ancestors, transaction_limits }): KeyCreator => ({
        transaction_limits: transaction_limits ?? undefined,
        ancestors,
        expires_at: expires_at === null ? undefined : DateTime.fromDateUnsafe(expires_at),
        created
      }))
    })

  return { add, addFeeLimits, replaceFeeLimits, checkUnused, feeLimits, descendsFrom, holdCreator, findCreator }
})

const Row = Rows.withoutNulls(ApiKey)
const VersionedRow = Rows.withoutNulls(Schema.Struct({ ...ApiKey.fields, version: Schema.String }))
const readVersion = Rows.one(Schema.Struct({ version: Schema.String }))
const readRows = Rows.all(Row)
const readIds = Rows.all(Schema.Struct({ id: ApiKeyId }))
const readRelayerIds = Rows.all(Schema.Struct({ id: Schema.String }))
const encodeLimits = Schema.encodeSync(TransactionLimits)
const readNames = Rows.all(Schema.Struct({ id: Schema.String, name: Schema.String }))
const readPresent = Rows.first(
  Schema.Struct({
    id: ApiKeyId,
    name: Schema.String,
    scopes: Schema.Array(Grant),
    relayer_ids: Schema.NullOr(Schema.Array(Schema.String)),
    transaction_limits: Schema.NullOr(Schema.String),
    hashes: Schema.Array(Schema.Uint8Array)
  })
)
/** The identity, the scopes and the relayers of an API key. */
export interface Holder {
  readonly id: ApiKeyId
  readonly scopes: ReadonlyArray<Grant>
  readonly relayer_ids: ReadonlyArray<string> | null
  /** JSON. */
  readonly transaction_limits: string | null
}

/** A key that is valid, with the hashes of its present value and of the one before it, if that is still valid. */
export interface PresentHolder extends Holder {
  readonly name: string
  readonly hashes: ReadonlyArray<Uint8Array>
}

export const make = Effect.gen(function* () {
  const sql = yield* client
  const lineage = yield* makeKeyLineageRepo
  const holding = Rows.unchecked<Holder & { readonly hash: string }>(sql)
  const at = (column: string) => sql`to_json(t.${sql(column)}) #>> '{}' AS ${sql(column)}`
  const columns = sql`t.id, t.name, t.scopes, t.relayer_ids, ${at("created_at")}, ${at("expires_at")},
    ${at("previous_expires_at")}, ${at("last_used_at")}, t.last_used_from, t.created_by, t.transaction_limits,
    ${managedByColumn(sql, "api_keys")}`
  const selection = { table: "api_keys", columns, Row }
  const versioned = { table: "api_keys", columns: sql`${columns}, ${versionColumn(sql)}`, Row: VersionedRow }
  const toVersioned = ({ version, ...value }: typeof VersionedRow.Type): Versioned<ApiKey> => ({ value, version })

  const limitsColumn = ({ transaction_limits }: ApiKey) =>
    transaction_limits === undefined ? null : JSON.stringify(encodeLimits(transaction_limits))

  /** Returns the version. */
  const insert = (key: ApiKey, hash: Uint8Array, ancestors: ReadonlyArray<string>) =>
    lineage.checkUnused(key.id).pipe(
      Effect.andThen(
        sql`INSERT INTO api_keys AS t ${sql.insert({
          id: key.id,
          name: key.name,
          hash,
          scopes: key.scopes,
          relayer_ids: key.relayer_ids ?? null,
          expires_at: key.expires_at === undefined ? null : DateTime.toDate(key.expires_at),
          created_at: DateTime.toDate(key.created_at),
          created_by: key.created_by ?? null,
          ancestors,
          transaction_limits: limitsColumn(key)
        })} RETURNING ${versionColumn(sql)}`
      ),
      Effect.flatMap(readVersion),
      Effect.tap(() => lineage.add(key.id, ancestors)),
      Effect.tap(() => lineage.addFeeLimits(key)),
      Effect.map(({ version }) => version),
      onConflict("api_keys_pkey", () => new ApiKeyIdTaken({})),
      query("ApiKeysRepo.insert")
    )

  /** Stores everything that a caller may change. Returns the version. */
  const update = (key: ApiKey) =>
    sql`
      UPDATE api_keys t SET name = ${key.name}, scopes = ${key.scopes}, relayer_ids = ${key.relayer_ids ?? null}::text[],
        expires_at = ${key.expires_at === undefined ? null : DateTime.toDate(key.expires_at)}::timestamptz,
        transaction_limits = ${limitsColumn(key)}::text::jsonb, version = t.version + 1
      WHERE t.id = ${key.id} RETURNING ${versionColumn(sql)}`.pipe(
      Effect.flatMap(readVersion),
      Effect.tap(() => lineage.replaceFeeLimits(key)),
      Effect.map(({ version }) => version),
      query("ApiKeysRepo.update")
    )

  const row = selectRow(sql, versioned)
  const find = (id: ApiKeyId) => row.find(id).pipe(Effect.map(Option.map(toVersioned)), query("ApiKeysRepo.find"))
  /** Locks the row until the transaction ends. */
  const findForUpdate = (id: ApiKeyId) =>
    row.findForUpdate(id).pipe(Effect.map(Option.map(toVersioned)), query("ApiKeysRepo.findForUpdate"))

  /** In the order of ids. `lock`: until the transaction ends. */
  const findAll = (ids: Ids, lock: boolean) =>
    sql`
      SELECT ${columns} FROM api_keys t WHERE ${amongAll(sql, ids)}
      ORDER BY t.id ${lock ? sql`FOR UPDATE` : sql``}`.pipe(Effect.flatMap(readRows), query("ApiKeysRepo.findAll"))

  const holders = (hashes: ReadonlyArray<string>, column: string) => sql`
    SELECT given.hash, t.id, t.scopes, t.relayer_ids, t.transaction_limits::text, t.expires_at, t.previous_expires_at
    FROM unnest(${hashes}::text[]) AS given (hash) JOIN api_keys t ON t.${sql(column)} = decode(given.hash, 'hex')`

  /** Finds keys that are valid `at` this time by the hex of their hash or of their predecessor's. In the order of the hashes. */
  const findByHashes = (hashes: ReadonlyArray<string>, moment: DateTime.Utc) => {
    const at = DateTime.toDate(moment)
    return holding`
      SELECT hash, id, scopes, relayer_ids, transaction_limits FROM (${holders(hashes, "hash")}) present
      WHERE expires_at IS NULL OR expires_at > ${at}
      UNION ALL
      SELECT hash, id, scopes, relayer_ids, transaction_limits FROM (${holders(hashes, "previous_hash")}) previous
      WHERE previous_expires_at > ${at} AND (expires_at IS NULL OR expires_at > ${at})`.pipe(
      Effect.map((rows) => hashes.map((hash) => Option.fromUndefinedOr(rows.find((row) => row.hash === hash)))),
      query("ApiKeysRepo.findByHashes")
    )
  }

  /** The key with this id, if it is valid `at` this time. */
  const findPresent = (id: string, moment: DateTime.Utc): Effect.Effect<Option.Option<PresentHolder>> => {
    const at = DateTime.toDate(moment)
    return sql`
      SELECT id, name, scopes, relayer_ids, transaction_limits::text,
        ARRAY[hash] || CASE WHEN previous_expires_at > ${at} THEN ARRAY[previous_hash] ELSE ARRAY[]::bytea[] END AS hashes
      FROM api_keys WHERE id = ${id} AND (expires_at IS NULL OR expires_at > ${at})`.pipe(
      Effect.flatMap(readPresent),
      query("ApiKeysRepo.findPresent")
    )
  }

  /** Names of the keys that are in force, by id. */
  const findNames = (ids: ReadonlyArray<string>, moment: DateTime.Utc): Effect.Effect<ReadonlyMap<string, string>> =>
    sql`
      SELECT id, name FROM api_keys
      WHERE id = ANY(${ids}::text[]) AND (expires_at IS NULL OR expires_at > ${DateTime.toDate(moment)})`.pipe(
      Effect.flatMap(readNames),
      Effect.map((rows) => new Map(rows.map(({ id, name }) => [id, name]))),
      query("ApiKeysRepo.findNames")
    )

  const selectRows = selectPage(sql, selection)
  const page = (request: PageRequest) => selectRows(request).pipe(query("ApiKeysRepo.page"))

  const deleteRows = (ids: ReadonlyArray<ApiKeyId>) =>
    sql`DELETE FROM api_keys WHERE id = ANY(${ids}::text[])`.pipe(Effect.asVoid, query("ApiKeysRepo.delete"))

  /** Keys that it has created, directly or through others, in creation order; held until the transaction ends. */
  const descendants = (id: ApiKeyId) =>
    sql`SELECT ${columns} FROM api_keys t WHERE t.ancestors @> ARRAY[${id}]::text[] ORDER BY t.seq FOR UPDATE`.pipe(
      Effect.flatMap(readRows),
      query("ApiKeysRepo.descendants")
    )

  /** The current key becomes the previous key. */
  const rotate = (id: ApiKeyId, hash: Uint8Array, previousExpiresAt: DateTime.Utc) =>
    sql`
      UPDATE api_keys SET previous_hash = hash, previous_expires_at = ${DateTime.toDate(previousExpiresAt)}, hash = ${hash},
        version = version + 1
      WHERE id = ${id}`.pipe(Effect.asVoid, query("ApiKeysRepo.rotate"))

  /** Takes a relayer from the keys that name it, and locks them. Returns their ids. */
  const forgetRelayer = (relayerId: string) =>
    sql`
      UPDATE api_keys SET relayer_ids = array_remove(relayer_ids, ${relayerId}), version = version + 1
      WHERE ${relayerId} = ANY(relayer_ids) RETURNING id`.pipe(
      Effect.flatMap(readIds),
      Effect.map((rows) => rows.map(({ id }) => id)),
      query("ApiKeysRepo.forgetRelayer")
    )

  /** Those of these relayers that exist. None of them is deleted until the transaction ends. */
  const holdRelayers = (ids: ReadonlyArray<string>): Effect.Effect<ReadonlySet<string>> =>
    ids.length === 0
      ? Effect.succeed(new Set())
      : sql`SELECT id FROM relayers WHERE id = ANY(${ids}::text[]) ORDER BY id FOR KEY SHARE`.pipe(
          Effect.flatMap(readRelayerIds),
          Effect.map((rows) => new Set(rows.map(({ id }) => id))),
          query("ApiKeysRepo.holdRelayers")
        )

  const touch = (id: ApiKeyId, moment: DateTime.Utc, from: string | undefined) =>
    sql`
      UPDATE api_keys SET last_used_at = ${DateTime.toDate(moment)}, last_used_from = ${from ?? null}
      WHERE id = ${id}`.pipe(Effect.asVoid, query("ApiKeysRepo.touch"))

  return {
    insert,
    update,
    find,
    findAll,
    findForUpdate,
    findByHashes,
    findPresent,
    findNames,
    descendants,
    forgetRelayer,
    holdRelayers,
    page,
    delete: deleteRows,
    rotate,
    touch
  }
})
