// What transactions cost: processor time, statements, rows and write-ahead log of the database, and calls to the node.
import { Effect, Schedule } from "effect"
import * as ProcessTree from "../harness/ProcessTree.ts"
import type { Sender } from "./World.ts"

export interface Usage {
  /** Processor time in milliseconds: of the services, and of PostgreSQL. */
  readonly serverMs: number
  readonly postgresMs: number
  /** Rows that were inserted, and new versions of rows. */
  readonly inserted: number
  readonly updated: number
  readonly walBytes: number
  /** Calls to the node; each call of a batch counts. */
  readonly calls: number
  /** Statements of the service that sends, without `BEGIN` and `COMMIT`. */
  readonly statements: number
  /** Those of them that write for one lane: lanes that write at the same moment share a statement. */
  readonly alone: number
}

/** Backends report their counts at most once per second, when they are idle. */
const reported = "1200 millis"

/** Waits until the records of the audit log are linked: they belong to the requests before. */
const linked = ({ installation: { sql } }: Sender) =>
  sql`SELECT 1 FROM audit WHERE position IS NULL LIMIT 1`.pipe(
    Effect.repeat({ until: (rows) => rows.length === 0, schedule: Schedule.spaced("50 millis") }),
    Effect.andThen(Effect.sleep(reported))
  )

const callsOf = ({ client }: Sender) =>
  Effect.map(client.get("/metrics/rpc_calls_total"), (text) =>
    [...text.matchAll(/^rpc_calls_total\{.*\} (\d+)/gm)].reduce((sum, [, count]) => sum + Number(count), 0)
  )

/** How often each query of a repository has run, by its name. */
const queriesOf = ({ client }: Sender) =>
  Effect.map(
    client.get("/metrics/database_query_seconds"),
    (text) =>
      new Map(
        [...text.matchAll(/^database_query_seconds_count\{.*query="([^"]+)".*\} (\d+)/gm)].map(
          ([, query = "", count]) => [query, Number(count)]
        )
      )
  )

/** The query that writes what one lane commits, records and decides. */
const ofOneLane = "TransactionsRepo.update"

/** Since the start of the processes, once they are idle. */
export const read = Effect.fnUntraced(function* (sender: Sender) {
  yield* linked(sender)
  const { sql, service, postgres } = sender.installation
  const [row] = yield* sql<{ inserted: number; updated: number; wal: number }>`
    SELECT sum(n_tup_ins)::float8 AS inserted, sum(n_tup_upd)::float8 AS updated,
      (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 AS wal
    FROM pg_stat_user_tables`
  const queries = yield* queriesOf(sender)
  const usage: Usage = {
    serverMs: ProcessTree.cpuMs(service.pid, postgres.pid) + ProcessTree.cpuMs(sender.pid),
    postgresMs: ProcessTree.cpuMs(postgres.pid),
    inserted: row?.inserted ?? 0,
    updated: row?.updated ?? 0,
    walBytes: row?.wal ?? 0,
    calls: yield* callsOf(sender),
    statements: [...queries.values()].reduce((sum, count) => sum + count, 0),
    alone: queries.get(ofOneLane) ?? 0
  }
  return usage
})

/** Per transaction. */
export const per = (count: number, before: Usage, after: Usage): Usage => {
  const of = (field: keyof Usage) => (after[field] - before[field]) / count
  return {
    serverMs: of("serverMs"),
    postgresMs: of("postgresMs"),
    inserted: of("inserted"),
    updated: of("updated"),
    walBytes: of("walBytes"),
    calls: of("calls"),
    statements: of("statements"),
    alone: of("alone")
  }
}
