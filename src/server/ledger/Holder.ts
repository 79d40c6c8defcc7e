// This process as a holder of lanes: its id, its database session, which shows that it lives, what it has accepted, and the mark of the
// database that it may write to.
import { Context, Effect, Layer } from "effect"
import type { Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { randomUUID } from "node:crypto"
import * as Session from "../../sql/Session.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { client, isUnavailable, query } from "../../sql/Transaction.ts"
import { latestMigration } from "../../sql/migrations/index.ts"
import type { LaneId, StoredTransaction } from "./LedgerEntries.ts"
import { LedgerMemory } from "./memory/LedgerMemory.ts"

/** A transaction that this process has accepted. */
export interface AcceptedHere {
  readonly laneId: LaneId
  readonly number: number
  /** As it was stored. Absent: the ledger has to be read. */
  readonly stored?: StoredTransaction
}

type Hear = (accepted: ReadonlyArray<AcceptedHere>) => Effect.Effect<void>

/** Those of this process that listen. */
const listening = () => {
  const listeners = new Set<Hear>()
  const hear: Hear = (rows) => Effect.suspend(() => Effect.forEach(listeners, (hear) => hear(rows), { discard: true }))
  const listen = (hear: Hear) =>
    Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => listeners.add(hear)),
        () => Effect.sync(() => listeners.delete(hear))
      )
    )
  return { hear, listen }
}

export class Holder extends Context.Service<
  Holder,
  {
    readonly id: string
    /** Calls the listeners after the commit of the running SQL transaction, or at once if none is running. */
    accepted(rows: ReadonlyArray<AcceptedHere>): Effect.Effect<void>
    /** Runs `hear` after each commit of accepted transactions, until the scope closes. `hear` must not wait for anything. */
    listen(hear: Hear): Effect.Effect<void, never, Scope.Scope>
  }
>()("effect-relayer/server/ledger/Holder") {
  static readonly layer = Layer.effect(
    Holder,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const id = randomUUID()
      const { hear, listen } = listening()
      yield* Session.holdLock(sql, Session.lockKeyOf(id), latestMigration)
      return Holder.of({ id, accepted: (rows) => sql.afterCommit(hear(rows)), listen })
    })
  )

  /** A process on tables in memory. It dies when the scope closes. */
  static readonly layerMemory = Layer.effect(
    Holder,
    Effect.gen(function* () {
      const { living } = yield* LedgerMemory
      const id = randomUUID()
      yield* Effect.acquireRelease(
        Effect.sync(() => living.add(id)),
        () => Effect.sync(() => living.delete(id))
      )
      const { hear, listen } = listening()
      return Holder.of({ id, accepted: hear, listen })
    })
  )
}

// The mark of the ledger: it identifies the server, its timeline and the tables. If the stored one differs from the present one,
// the ledger was put back from a copy, and what could have been executed since then is not signed again before an operator decides.
//
// It is compared when a process starts, at each claim and in each fence, and before a caller cancels or replaces a transaction: in
// the SQL transaction of the change, on its connection. Nothing else signs, finishes or requeues a transaction, so new connections
// need no comparison of their own. What is accepted before the comparison is marked with the others, and waits for an answer.

export interface MarkOptions {
  /**
   * `synchronous`: the operator says that a promoted replica has every commit, so another timeline is the same ledger.
   * Absent: `unknown`.
   */
  readonly failover?: "synchronous" | "unknown"
}

/** A managed server may not offer it to this user. Then the mark does without it. */
const parts = {
  system: "(SELECT system_identifier::text FROM pg_control_system())",
  // The control file shows the old timeline until a checkpoint ends; the name of the current segment does not.
  timeline: "substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)",
  // A dump creates the tables again, which gives them other numbers.
  tables: "'lanes'::regclass::oid::text"
} as const
type Part = keyof typeof parts

const object = (names: ReadonlyArray<Part>): string =>
  `jsonb_build_object(${names.map((name) => `'${name}', ${parts[name]}`).join(", ")})`

export class LedgerMark extends Context.Service<
  LedgerMark,
  {
    /** A condition for claims, renewals and fences: whether the stored mark is the present one, and this version knows the schema. */
    readonly isCurrent: Statement.Fragment
    /** If the stored mark is not the present one, marks all open requests as restored, frees all lanes, and stores it. */
    readonly renew: Effect.Effect<void>
  }
>()("effect-relayer/server/ledger/Holder/LedgerMark") {
  static readonly layer = (options: MarkOptions = {}) =>
    Layer.effect(
      LedgerMark,
      Effect.gen(function* () {
        const sql = yield* client
        const transaction = yield* Transaction.make

        // An unavailable server ends the start. Without this, its parts would count as hidden.
        const isOffered = (name: Part) =>
          Effect.as(sql`SELECT ${sql.literal(parts[name])}`, true).pipe(
            Effect.catchIf(
              (error) => !isUnavailable(error),
              () => Effect.succeed(false)
            ),
            query("Holder.isOffered")
          )

        const names: ReadonlyArray<Part> = ["system", "timeline", "tables"]
        const offered = yield* Effect.filter(names, isOffered)
        const missing = names.filter((name) => !offered.includes(name))
        if (missing.length > 0) {
          yield* Effect.annotateLogs(
            Effect.logWarning("the server hides its identity, so some restored copies are not noticed"),
            { missing }
          )
        }

        const present = sql.literal(object(offered))
        const compared = sql.literal(
          object(offered.filter((name) => name !== "timeline" || options.failover !== "synchronous"))
        )
        // A part that the stored mark lacks was hidden from the process that stored it.
        const isPresent = sql`EXISTS (SELECT FROM ledger_mark WHERE (${compared} || mark::jsonb) @> ${compared})`
        const isCurrent = sql`(${isPresent} AND EXISTS (
          SELECT FROM schema_mark WHERE oldest <= ${sql.literal(String(latestMigration))}))`

        // The epoch grows beyond what any claim before the copy can have reached. What a network remembers of an earlier restore does
        // not hold for this one.
        const markAll = sql`
          WITH freed AS (
            UPDATE lanes SET holder = NULL, held_until = NULL, counters = (counters::jsonb - 'restore')::json,
              epoch = greatest(epoch + 1, (extract(epoch FROM now()) * 1000)::bigint)
          )
          UPDATE transactions SET restored = true, version = version + 1,
            route_since = CASE WHEN route = 'private' THEN now() ELSE route_since END
          WHERE state IN ('pending', 'signed', 'submitted', 'mined') AND origin = 'request'
            AND (NOT restored OR route = 'private')
          RETURNING id`

        // Without a row, the tables were made just now, or restored from a backup. New ones have no relayers.
        const store = sql`
          INSERT INTO ledger_mark (mark, restored_at)
          SELECT ${present}::text, CASE WHEN EXISTS (SELECT FROM relayers) THEN clock_timestamp() END
          ON CONFLICT (id) DO UPDATE SET mark = excluded.mark, restored_at = clock_timestamp()`

        // A part that is hidden from this process stays: another process may see it.
        const update = sql`
          UPDATE ledger_mark SET mark = (mark::jsonb || ${present})::text WHERE NOT mark::jsonb @> ${present}`

        const check = sql`SELECT WHERE ${isPresent}`

        const replace = Effect.gen(function* () {
          yield* sql`LOCK TABLE ledger_mark IN EXCLUSIVE MODE`
          if ((yield* check).length > 0) return
          const marked = yield* markAll
          yield* store
          if (marked.length === 0) return
          yield* Effect.annotateLogs(
            Effect.logWarning("the ledger was restored from a copy: open transactions wait for an operator"),
            { transactions: marked.length }
          )
        }).pipe(query("Holder.replace"), transaction)

        const renew = Effect.gen(function* () {
          if ((yield* check).length === 0) yield* replace
        }).pipe(query("Holder.renew"))

        yield* renew
        // With a synchronous replica, the timeline of the stored mark may be an old one.
        yield* Effect.andThen(sql`SELECT`, update).pipe(query("Holder.update"))
        return LedgerMark.of({ isCurrent, renew })
      })
    )
}
