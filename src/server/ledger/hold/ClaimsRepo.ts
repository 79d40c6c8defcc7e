// Claims on the table `lanes`. The clock of leases is the database's, so that no process's own clock matters.
import { Context, Duration, Effect, Layer, Option, Schema } from "effect"
import { client, query } from "../../../sql/Query.ts"
import * as Rows from "../../../sql/Rows.ts"
import * as Session from "../../../sql/Session.ts"
import { Holder } from "../Holder.ts"
import type { LaneNews } from "./HeldLane.ts"
import * as LaneRow from "./LaneRow.ts"
import type { LaneAtEpoch } from "./LaneRow.ts"
import { LedgerMark } from "../LedgerMark.ts"
import { LedgerRules } from "../LedgerRules.ts"
import { defaultLease, LaneId } from "../StoredLane.ts"
import type { Hold } from "../StoredLane.ts"

export interface Options {
  /** Time after which another process may claim a lane that was not renewed. Absent: 30 seconds. */
  readonly lease?: Duration.Input
}

const readHolds = Rows.all(Schema.Struct({ id: LaneId, epoch: Schema.Int }))
const readHas = Rows.one(Schema.Struct({ has: Schema.Boolean }))
/** One row without a lane if none was claimed. */
const readClaimed = Rows.all(Schema.Struct({ is_current: Schema.Boolean, id: Schema.NullOr(LaneId) }))
const readNews = Rows.all(
  Schema.Struct({ id: LaneId, newest: Schema.NullOr(Schema.Int), command: Schema.NullOr(Schema.String) })
)

export class ClaimsRepo extends Context.Service<
  ClaimsRepo,
  {
    /** A lane that is not renewed for this long is free. */
    readonly lease: Duration.Duration
    /** None if the stored mark of the ledger is not the present one. */
    claim(
      types: ReadonlyArray<string>,
      limit: number,
      among: ReadonlyArray<LaneId> | undefined
    ): Effect.Effect<Option.Option<ReadonlyArray<LaneAtEpoch>>>
    renew(holds: ReadonlyArray<Hold>): Effect.Effect<ReadonlyArray<Hold>>
    /** False if it is not held, or not idle although `ifIdle`. */
    release(hold: Hold, ifIdle: boolean): Effect.Effect<boolean>
    isHeld(hold: Hold): Effect.Effect<boolean>
    readonly hasLanes: Effect.Effect<boolean>
    hasWork(types: ReadonlyArray<string>): Effect.Effect<boolean>
    news(lanes: ReadonlyArray<LaneId>): Effect.Effect<ReadonlyMap<LaneId, LaneNews>>
  }
>()("effect-relayer/server/ledger/hold/ClaimsRepo") {
  static readonly layer = (options: Options = {}) =>
    Layer.effect(
      ClaimsRepo,
      Effect.gen(function* () {
        const sql = yield* client
        const { id: holder } = yield* Holder
        const mark = yield* LedgerMark
        const readLanes = LaneRow.reader(yield* LedgerRules)
        const lease = Duration.fromInputUnsafe(options.lease ?? defaultLease)
        const until = sql`now() + ${Duration.toMillis(lease)}::float8 * interval '1 millisecond'`

        // Two conditions, so that each one uses its partial index.
        const hasOpen = sql`(
          EXISTS (SELECT FROM transactions t WHERE t.lane_id = l.id AND t.state = 'pending')
          OR EXISTS (SELECT FROM transactions t WHERE t.lane_id = l.id AND t.state IN ('signed', 'submitted', 'mined')))`

        const isFree = sql`(l.holder IS NULL OR l.held_until < now() OR NOT ${Session.isLockHeld(sql, "l.holder")})`
        const isMine = sql`l.holder = ${holder}::uuid AND l.held_until > now() AND ${mark.isCurrent}`

        /** `chain` of a lane begins with its network type. */
        const isOfType = (types: ReadonlyArray<string>) => sql`split_part(l.chain, ':', 1) = ANY(${types}::text[])`

        const claimedIn = Effect.fnUntraced(function* (rows: ReadonlyArray<unknown>) {
          const claimed = yield* readClaimed(rows)
          if (claimed[0]?.is_current !== true) return Option.none()
          return Option.some(yield* readLanes(rows.filter((_, index) => claimed[index]?.id !== null)))
        })

        // A stronger lock would wait for every transaction that is being accepted: each holds its lane FOR KEY SHARE.
        const claim = (types: ReadonlyArray<string>, limit: number, among: ReadonlyArray<LaneId> | undefined) =>
          sql`
            WITH mark AS MATERIALIZED (SELECT ${mark.isCurrent} AS is_current), free AS MATERIALIZED (
              SELECT l.id FROM lanes l
              WHERE ${isOfType(types)} AND ${isFree} AND ${hasOpen} AND (SELECT is_current FROM mark)
                AND ${among === undefined ? sql`true` : sql`l.id = ANY(${among.map(String)}::bigint[])`}
              ORDER BY ${among === undefined ? sql`l.next_poll_at` : sql`l.id`} LIMIT ${limit}
              FOR NO KEY UPDATE SKIP LOCKED
            ), claimed AS (
              UPDATE lanes l SET holder = ${holder}::uuid, held_until = ${until}, epoch = l.epoch + 1
              FROM free WHERE l.id = free.id RETURNING ${LaneRow.columns(sql)}
            )
            SELECT mark.is_current, claimed.* FROM mark LEFT JOIN claimed ON true`.pipe(
            Effect.flatMap(claimedIn),
            query("ClaimsRepo.claim")
          )

        const given = (holds: ReadonlyArray<Hold>) => {
          const ids = holds.map(({ laneId }) => String(laneId))
          const epochs = holds.map(({ epoch }) => String(epoch))
          return sql`unnest(${ids}::bigint[], ${epochs}::bigint[]) AS given (id, epoch)`
        }

        const renew = (holds: ReadonlyArray<Hold>) =>
          sql`
            WITH mine AS MATERIALIZED (
              SELECT l.id FROM lanes l JOIN ${given(holds)} ON given.id = l.id AND given.epoch = l.epoch
              WHERE ${isMine} ORDER BY l.id FOR NO KEY UPDATE OF l
            )
            UPDATE lanes l SET held_until = ${until} FROM mine
            WHERE l.id = mine.id RETURNING l.id::float8 AS id, l.epoch::float8 AS epoch`.pipe(
            Effect.flatMap(readHolds),
            Effect.map((rows) => rows.map(({ id, epoch }): Hold => ({ laneId: id, epoch }))),
            query("ClaimsRepo.renew")
          )

        const release = ({ laneId, epoch }: Hold, ifIdle: boolean) =>
          sql`
            UPDATE lanes l SET holder = NULL, held_until = NULL
            WHERE l.id = ${laneId}::bigint AND l.epoch = ${epoch}::bigint AND l.holder = ${holder}::uuid
              AND ${ifIdle ? sql`NOT ${hasOpen}` : sql`true`}
            RETURNING l.id`.pipe(
            Effect.map((rows) => rows.length > 0),
            query("ClaimsRepo.release")
          )

        const isHeld = ({ laneId, epoch }: Hold) =>
          sql`
            SELECT EXISTS (
              SELECT FROM lanes l WHERE l.id = ${laneId}::bigint AND l.epoch = ${epoch}::bigint AND ${isMine}
            ) AS has`.pipe(
            Effect.flatMap(readHas),
            Effect.map(({ has }) => has),
            query("ClaimsRepo.isHeld")
          )

        const hasLanes = sql`SELECT EXISTS (SELECT FROM lanes) AS has`.pipe(
          Effect.flatMap(readHas),
          Effect.map(({ has }) => has),
          query("ClaimsRepo.hasLanes")
        )

        const hasWork = (types: ReadonlyArray<string>) =>
          sql`SELECT EXISTS (SELECT FROM lanes l WHERE ${isOfType(types)} AND ${isFree} AND ${hasOpen}) AS has`.pipe(
            Effect.flatMap(readHas),
            Effect.map(({ has }) => has),
            query("ClaimsRepo.hasWork")
          )

        // Two parts, so that each one uses its partial index.
        const news = (lanes: ReadonlyArray<LaneId>) => {
          const isOfThese = sql`t.lane_id = ANY(${lanes.map(String)}::bigint[])`
          return sql`
            SELECT t.lane_id::float8 AS id, max(t.number)::float8 AS newest, NULL AS command FROM transactions t
            WHERE ${isOfThese} AND t.state = 'pending' GROUP BY t.lane_id
            UNION ALL
            SELECT t.lane_id::float8, NULL, concat_ws(' ', t.id, t.request_version, t.intent) FROM transactions t
            WHERE ${isOfThese} AND t.state IN ('signed', 'submitted') AND (t.intent = 'cancel' OR t.request_version > 1)`.pipe(
            Effect.flatMap(readNews),
            Effect.map((rows) => {
              const byLane = [...Map.groupBy(rows, ({ id }) => id)]
              return new Map(
                byLane.map(([id, found]): readonly [LaneId, LaneNews] => [
                  id,
                  {
                    newest: Math.max(...found.map(({ newest }) => newest ?? 0)),
                    commands: new Set(found.flatMap(({ command }) => command ?? []))
                  }
                ])
              )
            }),
            query("ClaimsRepo.news")
          )
        }

        return ClaimsRepo.of({ lease, claim, renew, release, isHeld, hasLanes, hasWork, news })
      })
    )
}
