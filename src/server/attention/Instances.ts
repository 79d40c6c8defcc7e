// The instances that share the database: each writes that it runs, and lists all of them, by the clock of the database.
import { Effect, Layer, Schema } from "effect"
import type { Instance } from "../../api/OverviewApi.ts"
import { JobStatus } from "../../api/SystemApi.ts"
import * as Caller from "../../domain/access/Caller.ts"
import { Instant } from "../../domain/request/Shown.ts"
import { client, query } from "../../sql/Transaction.ts"
import * as Rows from "../../sql/Rows.ts"
import { Holder } from "../ledger/Holder.ts"
import { Jobs } from "../lifecycle/Lifecycle.ts"
import { measureGauge } from "../lifecycle/SharedJobs.ts"
import { RunningVersion } from "../observability/Gauges.ts"

// The table `instances`. All times are by the clock of the database, because the clocks of instances may differ.

/** How long a killed instance stays in the list, so that an operator sees that it is missing. */
const keptAfterDeath = "1 hour"

const Row = Rows.withoutNulls(
  Schema.Struct({
    id: Schema.String,
    version: Schema.String,
    started_at: Instant,
    last_seen_at: Instant,
    jobs: Schema.Record(Schema.String, JobStatus),
    lanes_held: Schema.Int
  }),
  { jobs: (column: unknown): unknown => JSON.parse(String(column)) }
)

const readRows = Rows.all(Row)

/** What an instance writes about itself. */
export interface Presence {
  readonly id: string
  readonly version: string
  readonly jobs: Readonly<Record<string, JobStatus>>
}

export const makeInstancesRepo = Effect.gen(function* () {
  const sql = yield* client
  const at = (column: string) => sql`to_json(i.${sql(column)}) #>> '{}' AS ${sql(column)}`

  /** Also deletes the rows of instances that were killed long ago. */
  const write = ({ id, version, jobs }: Presence) =>
    sql`
      WITH ended AS (DELETE FROM instances WHERE last_seen_at < now() - ${keptAfterDeath}::interval AND id <> ${id}::uuid)
      INSERT INTO instances (id, version, jobs) VALUES (${id}::uuid, ${version}, ${JSON.stringify(jobs)}::text::json)
      ON CONFLICT (id) DO UPDATE SET jobs = excluded.jobs, last_seen_at = now()`.pipe(
      Effect.asVoid,
      query("Instances.write")
    )

  const remove = (id: string) =>
    sql`DELETE FROM instances WHERE id = ${id}::uuid`.pipe(Effect.asVoid, query("Instances.remove"))

  const list = sql`
    SELECT i.id::text AS id, i.version, ${at("started_at")}, ${at("last_seen_at")}, i.jobs::text AS jobs,
      coalesce(held.count, 0)::float8 AS lanes_held
    FROM instances i LEFT JOIN (
      SELECT l.holder, count(*) AS count FROM lanes l WHERE l.held_until > now() GROUP BY l.holder
    ) held ON held.holder = i.id
    ORDER BY i.started_at, i.id`.pipe(Effect.flatMap(readRows), query("Instances.list"))

  return { write, remove, list }
})

export const make = Effect.gen(function* () {
  const repo = yield* makeInstancesRepo
  const { id: own } = yield* Holder

  /** A key that is limited to relayers does not see the number of lanes. */
  const list = Effect.fn("Instances.list")(function* () {
    const { relayerIds } = yield* Caller.current
    const rows = yield* repo.list
    return rows.map(({ lanes_held, ...row }): Instance => ({
      ...row,
      ...(relayerIds === undefined ? { lanes_held } : {}),
      is_this: row.id === own
    }))
  })

  return { list }
})

/** Writes that this instance runs, together with its other measurements, until the scope closes. */
export const layerPresence = Layer.effectDiscard(
  Effect.gen(function* () {
    const repo = yield* makeInstancesRepo
    const { id } = yield* Holder
    const { statuses } = yield* Jobs
    const version = yield* RunningVersion
    const write = Effect.flatMap(statuses, (jobs) => repo.write({ id, version, jobs }))
    yield* Effect.addFinalizer(() => Effect.ignoreCause(repo.remove(id)))
    yield* measureGauge("instances", write)
  })
)
