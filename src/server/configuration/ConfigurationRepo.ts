// The tables `configurations` and `managed_objects`, and what uses an object.
import { DateTime, Effect, Schema } from "effect"
import { SqlError } from "effect/sql"
import { kinds } from "../../domain/configuration/Document.ts"
import { ApplyRunning, ConfigurationNotFound, ConfigurationSummary } from "../../domain/configuration/Plan.ts"
import type { PageRequest } from "../../domain/request/Page.ts"
import { client, query } from "../../sql/Transaction.ts"
import * as Rows from "../../sql/Rows.ts"
import { unnestRows } from "../../sql/Rows.ts"
import type { Name } from "./FoundStates.ts"

const Managed = Schema.Struct({
  kind: Schema.Literals(kinds),
  id: Schema.String,
  configuration: Schema.String,
  applied: Schema.String,
  secrets_mac: Schema.String
})

/** An object with its owner. `applied` and `secrets_mac` are JSON texts. */
export type Managed = typeof Managed.Type

const Summary = Rows.withoutNulls(ConfigurationSummary)

const readManaged = Rows.all(Managed)
const readKeys = Rows.first(Schema.Struct({ key_ids: Schema.Array(Schema.String) }))
const readSummaries = Rows.all(Summary)
const readSummary = Rows.first(Summary)
const readNames = Rows.all(Schema.Struct({ kind: Schema.Literals(kinds), id: Schema.String }))
const readTotal = Rows.one(Schema.Struct({ total: Rows.Integer }))
const readRunning = Rows.first(Schema.Struct({ since: Schema.NullOr(Schema.String) }))

/** How long an apply waits for another one of the same configuration. */
const patience = "10s"

/** The caller that has applied a configuration, and what it has applied. */
export interface Application {
  readonly name: string
  readonly keyIds: ReadonlyArray<string>
  readonly digest: string
  readonly revision: string | undefined
  readonly at: DateTime.Utc
  readonly by: string
}

/** Ids of objects that a plan may delete. */
export interface Deletable {
  readonly networks: ReadonlyArray<string>
  readonly notifications: ReadonlyArray<string>
  readonly signers: ReadonlyArray<string>
}

export const make = Effect.gen(function* () {
  const sql = yield* client

  /** The first statement of a transaction whose reads are all of one moment. */
  const snapshot = sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`.pipe(
    Effect.asVoid,
    query("ConfigurationRepo.snapshot")
  )

  const lockOf = (name: string) => sql`hashtextextended(${`configuration ${name}`}, 0)`

  /** Since when another transaction has the lock. */
  const runningSince = (name: string) =>
    sql`
      SELECT to_char(a.xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS since
      FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
      WHERE l.locktype = 'advisory' AND l.granted AND (l.classid::bigint << 32 | l.objid::bigint) = ${lockOf(name)}`.pipe(
      Effect.flatMap(readRunning)
    )

  const isTimeout = (error: unknown): error is SqlError.SqlError =>
    SqlError.isSqlError(error) && error.reason._tag === "LockTimeoutError"

  /**
   * Excludes other applies of the configuration until the transaction ends. The failure ends the transaction, so that
   * `explainLock` names the holder of the lock afterwards.
   */
  const lock = (name: string) =>
    Effect.gen(function* () {
      yield* sql`SELECT set_config('lock_timeout', ${patience}, true)`
      yield* sql`SELECT pg_advisory_xact_lock(${lockOf(name)})`
      yield* sql`SELECT set_config('lock_timeout', '0', true)`
    }).pipe(
      Effect.catchIf(isTimeout, () => Effect.fail(new ApplyRunning({ error: "" }))),
      query("ConfigurationRepo.lock")
    )

  const explainLock = (name: string) =>
    runningSince(name).pipe(
      Effect.map((found) => {
        const since = found._tag === "Some" && found.value.since !== null ? ` since ${found.value.since}` : ""
        return new ApplyRunning({ error: `another apply of ${name} is running${since}: try again when it has ended` })
      }),
      query("ConfigurationRepo.explainLock")
    )

  /** All objects of the configuration, and the named ones that any configuration owns. */
  const managed = (configuration: string, names: ReadonlyArray<Name>) =>
    sql`
      SELECT kind, id, configuration, applied::text AS applied, secrets_mac::text AS secrets_mac FROM managed_objects
      WHERE configuration = ${configuration} OR (kind, id) IN (
        SELECT * FROM unnest(${names.map(({ kind }) => kind)}::text[], ${names.map(({ id }) => id)}::text[])
      )
      ORDER BY kind, id`.pipe(Effect.flatMap(readManaged), query("ConfigurationRepo.managed"))

  /** The relayers and networks that use one of the objects. */
  const users = ({ networks, notifications, signers }: Deletable) =>
    sql`
      SELECT 'relayers' AS kind, id FROM relayers WHERE signer_id = ANY(${signers}::text[])
        OR notification_id = ANY(${notifications}::text[]) OR own_network_id = ANY(${networks}::text[])
      UNION ALL SELECT 'networks', id FROM networks WHERE parent_id = ANY(${networks}::text[])
      ORDER BY kind, id`.pipe(Effect.flatMap(readNames), query("ConfigurationRepo.users"))

  /** The keys that may apply the configuration. None: it was not applied yet. */
  const findKeys = (name: string) =>
    sql`SELECT key_ids FROM configurations WHERE name = ${name}`.pipe(
      Effect.flatMap(readKeys),
      query("ConfigurationRepo.findKeys")
    )

  const save = ({ name, keyIds, digest, revision, at, by }: Application) =>
    sql`
      INSERT INTO configurations AS c (name, key_ids, digest, revision, applied_at, applied_by)
      VALUES (${name}, ${keyIds}, ${digest}, ${revision ?? null}::text, ${DateTime.toDate(at)}, ${by})
      ON CONFLICT (name) DO UPDATE SET
        key_ids = ARRAY(SELECT DISTINCT unnest(c.key_ids || excluded.key_ids) ORDER BY 1), digest = excluded.digest,
        revision = excluded.revision, applied_at = excluded.applied_at, applied_by = excluded.applied_by`.pipe(
      Effect.asVoid,
      query("ConfigurationRepo.save")
    )

  const own = (objects: ReadonlyArray<Managed>) =>
    sql`
      INSERT INTO managed_objects (kind, id, configuration, applied, secrets_mac)
      SELECT kind, id, configuration, applied::json, secrets_mac::json FROM ${unnestRows(sql, objects)}
      ON CONFLICT (kind, id) DO UPDATE SET configuration = excluded.configuration, applied = excluded.applied,
        secrets_mac = excluded.secrets_mac`.pipe(Effect.asVoid, query("ConfigurationRepo.own"))

  /**
   * Responses name the owner, so that another owner is another version of the row. Versions of networks contain the owner, and
   * signers have none.
   */
  const raiseVersions = (names: ReadonlyArray<Name>) =>
    Effect.gen(function* () {
      for (const kind of ["relayers", "notifications", "api_keys"] as const) {
        const ids = names.filter((name) => name.kind === kind).map(({ id }) => id)
        if (ids.length === 0) continue
        yield* sql`UPDATE ${sql(kind)} SET version = version + 1 WHERE id = ANY(${ids}::text[])`
      }
    }).pipe(query("ConfigurationRepo.raiseVersions"))

  const disown = (names: ReadonlyArray<Name>) =>
    sql`
      DELETE FROM managed_objects WHERE (kind, id) IN (
        SELECT * FROM unnest(${names.map(({ kind }) => kind)}::text[], ${names.map(({ id }) => id)}::text[])
      )`.pipe(Effect.asVoid, query("ConfigurationRepo.disown"))

  const summary = sql`
    SELECT c.name, c.digest, c.revision, to_json(c.applied_at) #>> '{}' AS applied_at, c.applied_by,
      (SELECT count(*)::int FROM managed_objects m WHERE m.configuration = c.name) AS objects
    FROM configurations c`

  /** By name. */
  const page = (request: PageRequest) =>
    Effect.gen(function* () {
      const { total } = yield* readTotal(yield* sql`SELECT count(*) AS total FROM configurations`)
      const items = yield* readSummaries(
        yield* sql`${summary} ORDER BY c.name LIMIT ${request.perPage} OFFSET ${request.offset}`
      )
      return { items, total, request }
    }).pipe(query("ConfigurationRepo.page"))

  const find = (name: string) =>
    sql`${summary} WHERE c.name = ${name}`.pipe(
      Effect.flatMap(readSummary),
      Effect.flatMap(Effect.fromOption),
      Effect.catchTag("NoSuchElementError", () => Effect.fail(new ConfigurationNotFound({}))),
      query("ConfigurationRepo.find")
    )

  return { snapshot, lock, explainLock, managed, users, findKeys, save, own, raiseVersions, disown, page, find }
})
