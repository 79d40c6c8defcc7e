// The table `console_sessions`.
import { DateTime, Effect, Option, Schema } from "effect"
import { Session } from "../../domain/access/Caller.ts"
import type { SessionId, SessionLifetimes } from "../../domain/access/Caller.ts"
import { client, query } from "../../sql/Query.ts"
import * as Rows from "../../sql/Rows.ts"

const { idle_ends_at: _, ...columns } = Session.fields

const Row = Rows.withoutNulls(Schema.Struct({ ...columns, proof_hash: Schema.Uint8Array, binding: Schema.Uint8Array }))

/** A session with the hashes that its halves have to match. */
export interface StoredSession {
  readonly session: Session
  readonly proofHash: Uint8Array
  readonly binding: Uint8Array
}

const readRow = Rows.first(Row)
const readRows = Rows.all(Row)

export const make = (lifetimes: SessionLifetimes) =>
  Effect.gen(function* () {
    const sql = yield* client
    const at = (column: string) => sql`to_json(${sql(column)}) #>> '{}' AS ${sql(column)}`
    const shown = sql`id, key_id, read_only, ${at("created_at")}, ${at("last_used_at")}, ${at("expires_at")},
      address AS "from", browser, proof_hash, binding`

    const stored = ({ proof_hash: proofHash, binding, ...session }: typeof Row.Type): StoredSession => {
      const idleEnd = DateTime.addDuration(session.last_used_at, lifetimes.idle)
      return { session: { ...session, idle_ends_at: DateTime.min(idleEnd, session.expires_at) }, proofHash, binding }
    }

    const insert = ({ session, proofHash, binding }: StoredSession) =>
      sql`INSERT INTO console_sessions ${sql.insert({
        id: session.id,
        proof_hash: proofHash,
        binding,
        key_id: session.key_id,
        read_only: session.read_only,
        created_at: DateTime.toDate(session.created_at),
        last_used_at: DateTime.toDate(session.last_used_at),
        expires_at: DateTime.toDate(session.expires_at),
        address: session.from ?? null,
        browser: session.browser ?? null
      })}`.pipe(Effect.asVoid, query("SessionsRepo.insert"))

    const find = (id: SessionId) =>
      sql`SELECT ${shown} FROM console_sessions WHERE id = ${id}`.pipe(
        Effect.flatMap(readRow),
        Effect.map(Option.map(stored)),
        query("SessionsRepo.find")
      )

    /** The newest first. `keyId` undefined: of all keys. */
    const list = (keyId: string | undefined, now: DateTime.Utc) => {
      const unused = DateTime.toDate(DateTime.subtractDuration(now, lifetimes.idle))
      return sql`
        SELECT ${shown} FROM console_sessions
        WHERE (${keyId ?? null}::text IS NULL OR key_id = ${keyId ?? null})
          AND expires_at > ${DateTime.toDate(now)} AND last_used_at > ${unused}
        ORDER BY created_at DESC, id`.pipe(
        Effect.flatMap(readRows),
        Effect.map((rows) => rows.map((row) => stored(row).session)),
        query("SessionsRepo.list")
      )
    }

    /** Those that existed. */
    const remove = (ids: ReadonlyArray<SessionId>) =>
      sql`DELETE FROM console_sessions WHERE id = ANY(${ids}::text[]) RETURNING ${shown}`.pipe(
        Effect.flatMap(readRows),
        Effect.map((rows) => rows.map((row) => stored(row).session)),
        query("SessionsRepo.remove")
      )

    /** Ids of the key's sessions beyond the newest `most`. */
    const surplus = (keyId: string, most: number) =>
      sql`SELECT id FROM console_sessions WHERE key_id = ${keyId} ORDER BY created_at DESC, id OFFSET ${most}`.pipe(
        Effect.flatMap(Rows.ids),
        query("SessionsRepo.surplus")
      )

    const prune = (now: DateTime.Utc) =>
      sql`DELETE FROM console_sessions WHERE expires_at <= ${DateTime.toDate(now)}`.pipe(
        Effect.asVoid,
        query("SessionsRepo.prune")
      )

    const touch = (id: SessionId, now: DateTime.Utc) =>
      sql`
        UPDATE console_sessions SET last_used_at = ${DateTime.toDate(now)}
        WHERE id = ${id} AND last_used_at < ${DateTime.toDate(now)}`.pipe(Effect.asVoid, query("SessionsRepo.touch"))

    return { insert, find, list, remove, surplus, prune, touch }
  })
