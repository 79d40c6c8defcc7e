// Which process holds a lane until when, what it reads of the lane, and the fence that each of its writes passes. The clock of leases is
// the database's, so that no process's own clock matters.
import { Clock, Context, Duration, Effect, Layer, Option, Schema } from "effect"
import type { RelayerId } from "../../domain/relayer/Relayer.ts"
import { isFinal } from "../../networks/core/Transaction.ts"
import type { TransactionId } from "../../networks/core/TransactionValues.ts"
import * as Rows from "../../sql/Rows.ts"
import { rowState, unnestRows } from "../../sql/Rows.ts"
import * as Session from "../../sql/Session.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { client, query, retryDeadlock } from "../../sql/Transaction.ts"
import * as Batcher from "../../sql/batch/Batcher.ts"
import { Holder, LedgerMark } from "./Holder.ts"
import type { MarkOptions } from "./Holder.ts"
import * as LaneContentsRepo from "./LaneContentsRepo.ts"
import type { OpenStates } from "./LaneContentsRepo.ts"
import * as LanesRepo from "./LanesRepo.ts"
import { laneColumns, laneReader } from "./LanesRepo.ts"
import type { Assignments, LaneAtEpoch } from "./LanesRepo.ts"
import { defaultLease, LaneChanged, LaneId, LaneLost, LedgerRules } from "./LedgerEntries.ts"
import type { Hold, LaneContents, LaneNews, ReadRelayer, StoredLane, StoredTransaction } from "./LedgerEntries.ts"
import * as TransactionsRepo from "./TransactionsRepo.ts"
import { GateClosed } from "./TransactionsRepo.ts"
import type { Gate, RowState } from "./TransactionsRepo.ts"
import type * as Memory from "./memory/LedgerMemory.ts"
import { LedgerMemory } from "./memory/LedgerMemory.ts"

export interface ClaimOptions {
  /** Time after which another process may claim a lane that was not renewed. Absent: 30 seconds. */
  readonly lease?: Duration.Input
}

/** The part of a lease for which a renewal waits for locked lanes: less than the pause between two renewals, which is a third. */
const patience = 1 / 6

/** Lanes that are renewed alone at the same time. Each one takes a connection. */
const renewedAtOnce = 4

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
>()("effect-relayer/server/ledger/Claims/ClaimsRepo") {
  static readonly layer = (options: ClaimOptions = {}) =>
    Layer.effect(
      ClaimsRepo,
      Effect.gen(function* () {
        const sql = yield* client
        const { id: holder } = yield* Holder
        const mark = yield* LedgerMark
        const readLanes = laneReader(yield* LedgerRules)
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
              FROM free WHERE l.id = free.id RETURNING ${laneColumns(sql)}
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

        const renewing = (holds: ReadonlyArray<Hold>, waits: boolean) =>
          sql`
            WITH mine AS MATERIALIZED (
              SELECT l.id FROM lanes l JOIN ${given(holds)} ON given.id = l.id AND given.epoch = l.epoch
              WHERE ${isMine} ORDER BY l.id FOR NO KEY UPDATE OF l ${waits ? sql`` : sql`SKIP LOCKED`}
            )
            UPDATE lanes l SET held_until = ${until} FROM mine
            WHERE l.id = mine.id RETURNING l.id::float8 AS id, l.epoch::float8 AS epoch`.pipe(
            Effect.flatMap(readHolds),
            Effect.map((rows) => rows.map(({ id, epoch }): Hold => ({ laneId: id, epoch }))),
            query("ClaimsRepo.renew")
          )

        /**
         * A statement that waits for a lane keeps those locked that it has renewed, so the first one waits for none. What it leaves out is locked or lost, and
         * follows alone. A lane that stays locked is still held: it is renewed next time, and each of its writes compares the lease.
         */
        const renew = Effect.fnUntraced(function* (holds: ReadonlyArray<Hold>) {
          const renewed = yield* renewing(holds, false)
          const ids = new Set(renewed.map(({ laneId }) => laneId))
          const others = holds.filter(({ laneId }) => !ids.has(laneId))
          const alone = yield* Effect.forEach(others, (hold) => renewing([hold], true), {
            concurrency: renewedAtOnce
          }).pipe(Effect.timeoutOption(Duration.times(lease, patience)))
          return [...renewed, ...(Option.isSome(alone) ? alone.value.flat() : others)]
        })

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

// What the parts of the ledger of held lanes share: their rows as they were read or written last, and SQL transactions that
// lock the lane first, and write nothing if it is no longer held.

interface Remembered {
  readonly epoch: number
  rows: Map<TransactionId, StoredTransaction>
}

/** Rows of held lanes as they were read or written last. Their versions say whether they are still the same. */
export interface RememberedRows {
  /** By id, as they were read or written last: they may have changed since. */
  rows(hold: Hold): ReadonlyMap<TransactionId, StoredTransaction>
  /** Undefined: not known, or changed since. */
  get(hold: Hold, state: RowState): StoredTransaction | undefined
  /** Forgets all other rows of the lane. */
  replace(hold: Hold, rows: ReadonlyArray<StoredTransaction>): void
  update(hold: Hold, rows: ReadonlyArray<StoredTransaction>): void
  /** Adds a row that this process has accepted, if it holds the lane and does not know the row yet. */
  add(row: () => StoredTransaction, key: Pick<StoredTransaction, "id" | "laneId">): void
  forget(lane: LaneId): void
}

/** Rows of a lane beyond which accepted ones are not remembered: a step reads as many of one relayer. */
const maxAdded = 256

const byId = (rows: ReadonlyArray<StoredTransaction>) => rows.map((row) => [row.id, row] as const)

export const rememberedRows = (): RememberedRows => {
  const lanes = new Map<LaneId, Remembered>()

  const of = ({ laneId, epoch }: Hold): Remembered | undefined => {
    const found = lanes.get(laneId)
    return found?.epoch === epoch ? found : undefined
  }

  return {
    rows: (hold) => of(hold)?.rows ?? new Map(),
    get: (hold, { id, version }) => {
      const row = of(hold)?.rows.get(id)
      return row?.version === version ? row : undefined
    },
    replace: ({ laneId, epoch }, rows) => void lanes.set(laneId, { epoch, rows: new Map(byId(rows)) }),
    update: (hold, rows) => {
      const found = of(hold)
      if (found !== undefined) found.rows = new Map([...found.rows, ...byId(rows)])
    },
    add: (row, { id, laneId }) => {
      const rows = lanes.get(laneId)?.rows
      if (rows !== undefined && rows.size < maxAdded && !rows.has(id)) rows.set(id, row())
    },
    forget: (lane) => void lanes.delete(lane)
  }
}

/** Writes whose first statement passes the gate, which locks the lane. Undefined: the lane is locked already. */
type GatedWrites<A, E> = (gate: Gate | undefined) => Effect.Effect<A, E>

type Passed<E> = Exclude<E, Extract<E, GateClosed>>

interface LaneFence {
  /** Why a write found no row: the lane is lost, or it is not as the write expected. */
  refuse(hold: Hold): Effect.Effect<never, LaneLost | LaneChanged>
  /** Runs writes while the lane is locked. Fails with `LaneLost` before them. */
  held<A, E>(hold: Hold, writes: Effect.Effect<A, E>): Effect.Effect<A, E | LaneLost>
  /** The same, with one round trip fewer. */
  gated<A, E>(hold: Hold, writes: GatedWrites<A, E>): Effect.Effect<A, Passed<E> | LaneLost>
  /**
   * The same, and assigns sequences, if there are any. Fails with `LaneChanged` if the next sequences of the lane are others.
   * `before` runs after the lane is locked and before the writes.
   */
  assigning<A, E>(
    hold: Hold,
    assignments: Assignments | undefined,
    writes: GatedWrites<A, E>,
    before?: Effect.Effect<void, LaneChanged>
  ): Effect.Effect<A, Passed<E> | LaneLost | LaneChanged>
}

const isClosed = <E>(error: E): error is Extract<E, GateClosed> => error instanceof GateClosed

/** What the parts of the service share. */
export interface LaneAccess {
  readonly memory: RememberedRows
  readonly fence: LaneFence
}

export const makeLaneFence = Effect.gen(function* () {
  const lanes = yield* LanesRepo.make
  const claims = yield* ClaimsRepo
  const transaction = yield* Transaction.make

  const lost = ({ laneId }: Hold) => Effect.fail(new LaneLost({ laneId }))

  const held = <A, E>(hold: Hold, writes: Effect.Effect<A, E>): Effect.Effect<A, E | LaneLost> =>
    lanes.fence(hold).pipe(
      Effect.flatMap((isHeld): Effect.Effect<A, E | LaneLost> => (isHeld ? writes : lost(hold))),
      transaction,
      retryDeadlock
    )

  const refuse = (hold: Hold) =>
    Effect.flatMap(claims.isHeld(hold), (isHeld): Effect.Effect<never, LaneLost | LaneChanged> =>
      isHeld ? Effect.fail(new LaneChanged({ laneId: hold.laneId })) : lost(hold)
    )

  const passing = <A, E, E2>(writes: GatedWrites<A, E>, gate: Gate, closed: Effect.Effect<never, E2>) =>
    Effect.catchIf(writes(gate), isClosed<E>, () => closed).pipe(transaction, retryDeadlock)

  const gated = <A, E>(hold: Hold, writes: GatedWrites<A, E>) => passing(writes, lanes.holding(hold), lost(hold))

  const assigning = <A, E>(
    hold: Hold,
    assignments: Assignments | undefined,
    writes: GatedWrites<A, E>,
    before?: Effect.Effect<void, LaneChanged>
  ): Effect.Effect<A, Passed<E> | LaneLost | LaneChanged> => {
    const gate = before === undefined ? lanes.gate(hold, assignments) : undefined
    if (gate !== undefined) return passing(writes, gate, refuse(hold))
    const assigned = Effect.gen(function* () {
      if (!(yield* lanes.assign(hold, assignments))) return yield* refuse(hold)
      if (before !== undefined) yield* before
      return yield* Effect.catchIf(writes(undefined), isClosed<E>, Effect.die)
    })
    return assigned.pipe(transaction, retryDeadlock)
  }

  return { refuse, held, gated, assigning } satisfies LaneFence
})

// Reads lanes that this process holds.

/** The most final transactions that are sent again in one poll after a deep reorganisation opened their nonces. */
export const maxReopened = 100

/** The most transactions of a lane that are read together with those of other lanes, and the most lanes of one statement. */
const fewRows = 16
const lanesAtOnce = 32

/** What a step reads of its lane. */
interface LaneRead {
  readonly hold: Hold
  readonly relayers: ReadonlyArray<ReadRelayer>
}

interface FoundLane {
  /** None: the process does not hold it any more. */
  readonly held: Option.Option<StoredLane>
  readonly open: OpenStates
  readonly asRead: ReadonlySet<RelayerId>
}

const nothingOpen: OpenStates = { states: [], pendingCount: 0, nextMoment: undefined }

const readUnchanged = Rows.all(Schema.Struct({ part: Schema.Int }))

/** A row of one of several kinds, as JSON text. */
const JsonRow = Schema.Struct({ kind: Schema.String, json: Schema.String })
const readJsonRows = Rows.all(JsonRow)

const ofKind = (rows: ReadonlyArray<typeof JsonRow.Type>, kind: string): ReadonlyArray<unknown> =>
  rows.flatMap((row) => (row.kind === kind ? [JSON.parse(row.json)] : []))

export const makeLaneReading = Effect.fnUntraced(function* ({ memory }: LaneAccess) {
  const sql = yield* client
  const lanes = yield* LanesRepo.make
  const contents = yield* LaneContentsRepo.make
  const transactions = yield* TransactionsRepo.make
  const networks = yield* LedgerRules
  const holder = yield* Holder

  /** What a read of its row would find: values that only its request had are not stored. */
  const readBack = ({ transaction, ...others }: StoredTransaction): StoredTransaction => {
    const { request, facts } = networks.of(others.chain)
    const [first, ...newer] = transaction.versions
    const again = (version: unknown) => request.decode(JSON.parse(request.text(version)))
    return {
      ...others,
      transaction: {
        ...transaction,
        versions: [again(first), ...newer.map(again)],
        facts: facts.decode(JSON.parse(facts.text(transaction.facts)))
      }
    }
  }

  // The next step reads no row of what this process has accepted. A row that cannot be made is read.
  yield* holder.listen((accepted) =>
    Effect.ignoreCause(
      Effect.sync(() => {
        for (const { stored } of accepted) if (stored !== undefined) memory.add(() => readBack(stored), stored)
      })
    )
  )

  /** Those of the relayers that are as they were read, also in that a network had no row. Each row has the number of the relayer from 1. */
  const unchangedOf = (relayers: ReadonlyArray<ReadRelayer>) => {
    const given = relayers.map(({ id, terms }) => ({ id, state: terms.relayer }))
    const origins = relayers.flatMap(({ terms: { networks } }, index) =>
      networks.map(({ id, state = "" }) => ({ part: String(index + 1), id, state }))
    )
    return sql`
      SELECT given.n AS part FROM ${unnestRows(sql, given)}
      JOIN relayers r ON r.id = given.id AND ${rowState(sql, "r")} = given.state
      WHERE given.n NOT IN (
        SELECT origin.part FROM unnest(${origins.map(({ part }) => part)}::bigint[], ${origins.map(({ id }) => id)}::text[],
          ${origins.map(({ state }) => state)}::text[]) AS origin (part, id, state)
        LEFT JOIN networks w ON w.id = origin.id WHERE coalesce(${rowState(sql, "w")}, '') <> origin.state
      )`
  }

  /** Lanes, what they contain, and which relayers are as they were read, of one moment, in the order of the reads. */
  const readAll = (reads: ReadonlyArray<LaneRead>, now: number) => {
    const holds = reads.map(({ hold }) => hold)
    const laneIds = holds.map(({ laneId }) => laneId)
    const relayers = reads.flatMap((read) => read.relayers)
    const compared = sql`UNION ALL SELECT 'relayer', part, to_json(unchanged)::text FROM (${unchangedOf(relayers)}) unchanged`
    return sql`
      SELECT 'lane' AS kind, NULL::bigint AS n, to_json(held)::text AS json FROM (${lanes.heldOf(holds)}) held
      UNION ALL SELECT 'state', nonce, to_json(states)::text FROM (${contents.statesOf(laneIds, now)}) states
      ${relayers.length === 0 ? sql`` : compared}
      ORDER BY kind, n`.pipe(
      Effect.flatMap(readJsonRows),
      Effect.flatMap((rows) =>
        Effect.all([
          lanes.readHeld(holds, ofKind(rows, "lane")),
          contents.readStates(laneIds, ofKind(rows, "state")),
          readUnchanged(ofKind(rows, "relayer"))
        ])
      ),
      Effect.map(([found, states, unchanged]) => {
        const parts = new Set(unchanged.map(({ part }) => part))
        const asRead = new Set(relayers.filter((_, index) => parts.has(index + 1)))
        return reads.map((read, index) => ({
          held: found[index] ?? Option.none(),
          open: states[index] ?? nothingOpen,
          asRead: new Set(read.relayers.flatMap((relayer) => (asRead.has(relayer) ? [relayer.id] : [])))
        }))
      }),
      query("LaneReading.readAll")
    )
  }

  // Lanes that begin a step at the same time, because a block or a burst has come, share their statements.
  const findHeld = yield* Batcher.make<Hold, Option.Option<StoredLane>>(sql, { all: lanes.findHeld })
  const together = yield* Batcher.make<LaneRead, FoundLane>(sql, {
    all: (reads) => Effect.flatMap(Clock.currentTimeMillis, (now) => readAll(reads, now))
  })

  // Small reads, so that the rows of one lane do not wait for many of another one.
  const findTogether = yield* Batcher.make<ReadonlyArray<TransactionId>, ReadonlyArray<StoredTransaction>>(sql, {
    size: lanesAtOnce,
    all: (asked) =>
      Effect.map(transactions.find(asked.flat()), (rows) => {
        const byId = new Map(rows.map((row) => [row.id, row]))
        return asked.map((ids) => ids.flatMap((id) => byId.get(id) ?? []))
      })
  })
  /** A row that cannot be read fails its own lane only. */
  const find = (ids: ReadonlyArray<TransactionId>) =>
    ids.length === 0 || ids.length > fewRows
      ? transactions.find(ids)
      : Effect.catchDefect(findTogether(ids), () => transactions.find(ids))

  const orLost = ({ laneId }: Hold, held: Option.Option<StoredLane>) =>
    Option.isSome(held) ? Effect.succeed(held.value) : Effect.fail(new LaneLost({ laneId }))

  const laneOf = (hold: Hold) => Effect.flatMap(findHeld(hold), (held) => orLost(hold, held))

  /** Without those that were deleted meanwhile. */
  const rowsOf = Effect.fnUntraced(function* (hold: Hold, states: ReadonlyArray<RowState>) {
    const changed = states.filter((state) => memory.get(hold, state) === undefined)
    const read = new Map((yield* find(changed.map(({ id }) => id))).map((row) => [row.id, row]))
    return states.flatMap((state) => memory.get(hold, state) ?? read.get(state.id) ?? [])
  })

  const read = Effect.fn("LaneLedger.read")(function* (hold: Hold, relayers: ReadonlyArray<ReadRelayer> = []) {
    const { held, open, asRead } = yield* together({ hold, relayers })
    const { states, pendingCount, nextMoment } = open
    const stored = yield* orLost(hold, held)
    const rows = yield* rowsOf(hold, states)
    memory.replace(hold, rows)
    // A row can change between the statements. It may have been accepted by newer terms than those that were compared.
    const listed = new Map(states.map(({ id, version }) => [id, version]))
    const isNewer = rows.some(({ id, version }) => version !== listed.get(id))
    const found: LaneContents = {
      stored,
      inFlight: rows.filter(({ transaction }) => transaction.place !== undefined && !isFinal(transaction)),
      pending: rows.filter(({ transaction }) => transaction.state === "pending"),
      pendingCount,
      ...(relayers.length === 0 ? {} : { asRead: isNewer ? new Set<RelayerId>() : asRead }),
      ...(nextMoment === undefined ? {} : { nextMoment })
    }
    return found
  })

  const committedFrom = Effect.fn("LaneLedger.committedFrom")(function* (hold: Hold, from: bigint) {
    const { lane, id } = yield* laneOf(hold)
    return yield* contents.sequencesFrom(id, lane.generation, from)
  })

  const minedFrom = Effect.fn("LaneLedger.minedFrom")(function* (hold: Hold, from: bigint) {
    const { lane, id } = yield* laneOf(hold)
    return yield* contents.minedFrom(id, lane.generation, from)
  })

  const finalFrom = Effect.fn("LaneLedger.finalFrom")(function* (hold: Hold, from: bigint) {
    const { lane, id } = yield* laneOf(hold)
    return yield* transactions.find(yield* contents.finalFrom(id, lane.generation, from, maxReopened))
  })

  return { read, committedFrom, minedFrom, finalFrom }
})

// What both services of the ledger share: the id of this process, the mark of the database, and the claims on lanes.

export interface LedgerTablesOptions extends ClaimOptions, MarkOptions {}

export const ledgerTables = (options: LedgerTablesOptions = {}) =>
  ClaimsRepo.layer(options).pipe(Layer.provideMerge(Layer.merge(Holder.layer, LedgerMark.layer(options))))

/** The same in memory, for tests: `Ledger.layerMemory` and `LaneLedger.layerMemory` use these tables. */
export const ledgerTablesInMemory = (options: Memory.Options = {}) =>
  Holder.layerMemory.pipe(Layer.provideMerge(LedgerMemory.layer(options)))
