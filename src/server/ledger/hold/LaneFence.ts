// What the parts of the ledger of held lanes share: their rows as they were read or written last, and SQL transactions that
// lock the lane first, and write nothing if it is no longer held.
import { Effect } from "effect"
import * as Transaction from "../../../sql/Transaction.ts"
import { retryDeadlock } from "../../../sql/Transaction.ts"
import { ClaimsRepo } from "./ClaimsRepo.ts"
import { LaneChanged, LaneLost } from "./HeldLane.ts"
import * as LanesRepo from "./LanesRepo.ts"
import type { Assignments } from "./LanesRepo.ts"
import type { Hold, LaneId } from "../StoredLane.ts"
import type { TransactionId } from "../../../domain/transaction/TransactionId.ts"
import type { StoredTransaction } from "../StoredTransaction.ts"
import { GateClosed } from "../write/TransactionsRepo.ts"
import type { Gate, RowState } from "../write/TransactionsRepo.ts"

interface Remembered {
  readonly epoch: number
  rows: ReadonlyMap<TransactionId, StoredTransaction>
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
  forget(lane: LaneId): void
}

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
export interface Shared {
  readonly memory: RememberedRows
  readonly fence: LaneFence
}

export const make = Effect.gen(function* () {
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
