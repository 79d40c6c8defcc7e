// The table `notifications`.
import { Effect, Option, Schema } from "effect"
import { Notification, NotificationIdTaken, NotificationInUse } from "../../domain/notification/Notification.ts"
import type { NotificationId } from "../../domain/notification/Notification.ts"
import type { PageRequest } from "../../domain/request/Page.ts"
import type { Versioned } from "../../domain/request/Request.ts"
import { client, onConflict, onForeignKey, query } from "../../sql/Transaction.ts"
import * as Rows from "../../sql/Rows.ts"
import { amongAll, managedByColumn, selectPage, selectRow, versionColumn } from "../../sql/Rows.ts"
import type { Ids } from "../../sql/Rows.ts"

const Row = Rows.withoutNulls(Notification)

const readPaused = Rows.first(Row)
const readSealed = Rows.all(
  Rows.withoutNulls(Schema.Struct({ ...Notification.fields, sealed: Schema.optionalKey(Schema.Uint8Array) }))
)
const readKeys = Rows.first(
  Rows.withoutNulls(
    Schema.Struct({ current: Schema.optionalKey(Schema.Uint8Array), previous: Schema.optionalKey(Schema.Uint8Array) })
  )
)

/** `undefined`: there is no key. */
type SealedKey = Uint8Array | undefined

export interface SealedKeys {
  readonly current?: SealedKey
  /** Also signs, for 24 hours after it was replaced. */
  readonly previous?: SealedKey
}

export interface ReplacedKeys extends SealedKeys {
  /** Whether the 24 hours of the previous key begin now. */
  readonly isRotated: boolean
}

export const make = Effect.gen(function* () {
  const sql = yield* client
  const columns = sql`t.id, t.type, t.url, t.signing_key_sealed IS NOT NULL AS has_signing_key, t.paused,
    ${managedByColumn(sql, "notifications")}`
  const versioned = {
    table: "notifications",
    columns: sql`${columns}, ${versionColumn(sql)}`,
    Row: Rows.withoutNulls(Schema.Struct({ ...Notification.fields, version: Schema.String }))
  }
  const toVersioned = ({ version, ...value }: typeof versioned.Row.Type): Versioned<Notification> => ({
    value,
    version
  })

  const readVersion = Rows.one(Schema.Struct({ version: Schema.String }))

  /** Adds the version from the row that `INSERT` or `UPDATE` returned. */
  const returned = (value: Notification) => (rows: ReadonlyArray<unknown>) =>
    Effect.map(readVersion(rows), ({ version }): Versioned<Notification> => ({ value, version }))

  const insert = (notification: Notification, key: SealedKey) =>
    sql`
      INSERT INTO notifications AS t (id, type, url, signing_key_sealed)
      VALUES (${notification.id}, ${notification.type}, ${notification.url}, ${key ?? null}::bytea)
      RETURNING ${versionColumn(sql)}`.pipe(
      Effect.flatMap(returned(notification)),
      onConflict("notifications_pkey", () => new NotificationIdTaken({})),
      query("NotificationsRepo.insert")
    )

  const row = selectRow(sql, versioned)
  const find = (id: NotificationId) =>
    row.find(id).pipe(Effect.map(Option.map(toVersioned)), query("NotificationsRepo.find"))
  /** Locks the row until the transaction ends. */
  const findForUpdate = (id: NotificationId) =>
    row.findForUpdate(id).pipe(Effect.map(Option.map(toVersioned)), query("NotificationsRepo.findForUpdate"))

  /** In the order of ids. `lock`: until the transaction ends. */
  const findSealed = (ids: Ids, lock: boolean) =>
    sql`
      SELECT ${columns}, t.signing_key_sealed AS sealed FROM notifications t WHERE ${amongAll(sql, ids)}
      ORDER BY t.id ${lock ? sql`FOR UPDATE` : sql``}`.pipe(
      Effect.flatMap(readSealed),
      query("NotificationsRepo.findSealed")
    )

  /** Empty if there is no signing key. */
  const findKeys = (id: NotificationId) =>
    sql`
      SELECT signing_key_sealed AS current, previous_signing_key_sealed AS previous
      FROM notifications WHERE id = ${id}`.pipe(
      Effect.flatMap(readKeys),
      Effect.map(Option.getOrElse((): SealedKeys => ({}))),
      query("NotificationsRepo.findKeys")
    )

  const previousExpiry = ({ previous, isRotated }: ReplacedKeys) => {
    if (previous === undefined) return sql`NULL`
    return isRotated ? sql`clock_timestamp() + interval '24 hours'` : sql`previous_signing_key_expires_at`
  }

  const setKeys = (keys: ReplacedKeys) => sql`,
    signing_key_sealed = ${keys.current ?? null}::bytea, previous_signing_key_sealed = ${keys.previous ?? null}::bytea,
    previous_signing_key_expires_at = ${previousExpiry(keys)}`

  /** `keys` absent: they stay. A notification that is no longer paused is not failing. */
  const update = (notification: Notification, keys?: ReplacedKeys) => {
    const { id, type, url, paused } = notification
    return sql`
      UPDATE notifications t SET version = version + 1, type = ${type}, url = ${url}, paused = ${paused},
        failing_since = CASE WHEN t.paused AND NOT ${paused} THEN NULL ELSE failing_since END
        ${keys === undefined ? sql`` : setKeys(keys)}
      WHERE t.id = ${id} RETURNING ${versionColumn(sql)}`.pipe(
      Effect.flatMap(returned(notification)),
      query("NotificationsRepo.update")
    )
  }

  /** None if it is paused already. */
  const pause = (id: NotificationId) =>
    sql`
      UPDATE notifications t SET version = version + 1, paused = true
      WHERE t.id = ${id} AND NOT t.paused RETURNING ${columns}`.pipe(
      Effect.flatMap(readPaused),
      query("NotificationsRepo.pause")
    )

  const deleteRow = (id: NotificationId) =>
    sql`DELETE FROM notifications WHERE id = ${id}`.pipe(
      onForeignKey("relayers_notification_id_fkey", () => new NotificationInUse({ error: "" })),
      Effect.asVoid,
      query("NotificationsRepo.delete")
    )

  /** The ids of at most `limit` relayers that use it. Waits for transactions that change one of these relayers. */
  const users = (id: NotificationId, limit: number) =>
    sql`
      SELECT id FROM relayers WHERE notification_id = ${id} ORDER BY seq LIMIT ${limit} FOR SHARE`.pipe(
      Effect.flatMap(Rows.ids),
      query("NotificationsRepo.users")
    )

  const selectRows = selectPage(sql, { table: "notifications", columns, Row })
  /** With `relayerIds`, only notifications that one of these relayers uses. */
  const page = (request: PageRequest, relayerIds?: ReadonlyArray<string>) => {
    const where = sql`t.id IN (SELECT notification_id FROM relayers WHERE id = ANY(${relayerIds ?? []}::text[]))`
    return selectRows(relayerIds === undefined ? request : { ...request, where }).pipe(
      Effect.map((page) => ({ ...page, request })),
      query("NotificationsRepo.page")
    )
  }

  /** Whether one of these relayers uses it. */
  const isUsedBy = (id: NotificationId, relayerIds: ReadonlyArray<string>) =>
    sql`SELECT 1 FROM relayers WHERE notification_id = ${id} AND id = ANY(${relayerIds}::text[]) LIMIT 1`.pipe(
      Effect.map((rows) => rows.length > 0),
      query("NotificationsRepo.isUsedBy")
    )

  return {
    insert,
    find,
    findForUpdate,
    findSealed,
    findKeys,
    update,
    pause,
    delete: deleteRow,
    users,
    isUsedBy,
    page
  }
})
