// Records what a poll of the chain, a broadcast or a decision has changed about a held lane.
import { Clock, Effect, Option } from "effect"
import type { Array } from "effect"
import type { TransactionId } from "../../../domain/transaction/TransactionId.ts"
import type { Moment } from "../../../domain/transaction/Moment.ts"
import { cause } from "../../../domain/transaction/Cause.ts"
import { suspects } from "../../../domain/transaction/Restore.ts"
import { apply as applyTo, endOf, withSent } from "../../../domain/transaction/Transition.ts"
import { isWorthWriting } from "../../../domain/transaction/TransactionEvents.ts"
import type { Decided, LaneLost, SentAttempt } from "./HeldLane.ts"
import * as LaneContentsRepo from "./LaneContentsRepo.ts"
import type { Shared } from "./LaneFence.ts"
import * as LaneAccountsRepo from "./LaneAccountsRepo.ts"
import * as LanesRepo from "./LanesRepo.ts"
import type { Move } from "./LaneAccountsRepo.ts"
import { LedgerRules } from "../LedgerRules.ts"
import type { Hold, LaneState } from "../StoredLane.ts"
import type { StoredTransaction } from "../StoredTransaction.ts"
import * as TransactionsRepo from "../write/TransactionsRepo.ts"
import type { Gate } from "../write/TransactionsRepo.ts"
import * as Writing from "../write/Writing.ts"
import type { Change } from "../write/Writing.ts"

/** What sends change in these rows. Sends of other rows are left out. */
export const sentChanges = (
  rows: ReadonlyMap<TransactionId, StoredTransaction>,
  sends: ReadonlyArray<SentAttempt>
): ReadonlyArray<Change> => {
  const changes = new Map<TransactionId, Change>()
  for (const { id, sent } of sends) {
    const before = rows.get(id)
    if (before === undefined) continue
    changes.set(id, { before, after: withSent(changes.get(id)?.after ?? before.transaction, sent) })
  }
  return [...changes.values()]
}

/** The counter of an account whose place is given up goes back, unless it has moved on since the place was given away. */
export const freedBy = ({ stored: { transaction }, command }: Decided): ReadonlyArray<Move> => {
  if (command._tag !== "Finish" && command._tag !== "Requeue") return []
  const { account, sequence } = transaction.place ?? {}
  return command.frees === undefined || account === undefined || sequence === undefined
    ? []
    : [{ account, from: sequence + 1n, next: command.frees.next, isProven: command.frees.isProven === true }]
}

/** What decisions change, without what is not worth a write. */
export const changesOf = (decided: ReadonlyArray<Decided>, now: Moment): ReadonlyArray<Change> => {
  const changes = new Map<TransactionId, Change>()
  for (const { stored, command } of decided) {
    const former = changes.get(stored.id)?.after ?? stored.transaction
    changes.set(stored.id, { before: stored, after: applyTo(former, command, now) })
  }
  return [...changes.values()].filter(({ before, after }) => isWorthWriting(before.transaction, after))
}

/** How transactions end whose deadline has passed: those of the rows that are pending, and that neither an operator nor a caller can still end otherwise. */
export const expiredOf = (networks: LedgerRules["Service"], rows: ReadonlyArray<StoredTransaction>) => {
  const pending = rows.filter(
    ({ chain, transaction }) =>
      transaction.state === "pending" &&
      !transaction.restored &&
      networks.of(chain).rules.isGiven?.(transaction) !== true
  )
  return pending.map((stored): Decided => {
    const { intent } = stored.transaction
    const end = endOf({ ...stored.transaction, intent: intent === "execute" ? "expire" : intent })
    const error = networks.of(stored.chain).rules.refusedLast?.(stored.transaction)
    const isPlain = error === undefined || intent !== "execute"
    return { stored, command: isPlain ? end : { ...end, cause: cause("deadline_passed", { error }) } }
  })
}

export const make = Effect.fnUntraced(function* ({ memory, fence }: Shared) {
  const lanes = yield* LanesRepo.make
  const accounts = yield* LaneAccountsRepo.make
  const contents = yield* LaneContentsRepo.make
  const transactions = yield* TransactionsRepo.make
  const networks = yield* LedgerRules
  const { writeGated, writeUnchanged, writeHeld } = yield* Writing.make
  const publish = yield* Writing.publishing

  /** Locks rows, and reads those that are not remembered as they are now. */
  const lockedNow = Effect.fnUntraced(function* (hold: Hold, ids: ReadonlyArray<TransactionId>) {
    const states = yield* transactions.lock(ids)
    const unknown = states.filter((state) => memory.get(hold, state) === undefined)
    const read = new Map((yield* transactions.find(unknown.map(({ id }) => id))).map((row) => [row.id, row]))
    return new Map(
      states.flatMap((state) => {
        const row = memory.get(hold, state) ?? read.get(state.id)
        return row === undefined ? [] : [[state.id, row] as const]
      })
    )
  })

  const remembered = (hold: Hold, writes: Effect.Effect<ReadonlyArray<StoredTransaction>, LaneLost>) =>
    Effect.tap(writes, (rows) => Effect.sync(() => memory.update(hold, rows)))

  const recordSends = Effect.fn("LaneLedger.recordSends")(function* (
    hold: Hold,
    sends: Array.NonEmptyReadonlyArray<SentAttempt>
  ) {
    const now = yield* Clock.currentTimeMillis
    const ids = [...new Set(sends.map(({ id }) => id))]
    const changes = sentChanges(memory.rows(hold), sends)
    const recordNow = (others: ReadonlyArray<TransactionId>) =>
      Effect.flatMap(lockedNow(hold, others), (rows) => writeHeld(sentChanges(rows, sends), now))
    const record = Effect.fnUntraced(function* (gate: Gate | undefined) {
      const unchanged = yield* writeGated(changes, now, gate)
      const written = new Set(unchanged.map(({ id }) => id))
      const others = ids.filter((id) => !written.has(id))
      return others.length === 0 ? unchanged : [...unchanged, ...(yield* recordNow(others))]
    })
    const recorded = changes.length === 0 ? fence.held(hold, recordNow(ids)) : fence.gated(hold, record)
    return yield* remembered(hold, recorded)
  })

  const apply = Effect.fn("LaneLedger.apply")(function* (hold: Hold, decided: Array.NonEmptyReadonlyArray<Decided>) {
    const now = yield* Clock.currentTimeMillis
    const changes = changesOf(decided, now)
    // Most polls of a transaction that waits for its confirmations change nothing.
    if (changes.length === 0) return []
    const writes = (gate: Gate | undefined) =>
      Effect.tap(writeGated(changes, now, gate), (rows) => {
        // A row that was changed meanwhile keeps its place.
        const ids = new Set(rows.map(({ id }) => id))
        return accounts.moveChannels(hold.laneId, decided.filter(({ stored }) => ids.has(stored.id)).flatMap(freedBy))
      })
    return yield* remembered(hold, fence.gated(hold, writes))
  })

  const expire = Effect.fn("LaneLedger.expire")(function* (hold: Hold) {
    const now = yield* Clock.currentTimeMillis
    const overdue = yield* contents.overdue(hold.laneId, now)
    if (overdue.length === 0) return []
    const end = Effect.gen(function* () {
      const rows = [...(yield* lockedNow(hold, overdue)).values()]
      return yield* writeUnchanged(changesOf(expiredOf(networks, rows), now), now)
    })
    return yield* remembered(hold, fence.held(hold, end))
  })

  const saveLane = Effect.fn("LaneLedger.saveLane")(function* (hold: Hold, state: LaneState) {
    const saved = yield* lanes.save(hold, state, yield* Clock.currentTimeMillis)
    return Option.isSome(saved) ? saved.value : yield* fence.refuse(hold)
  })

  const markRestored = Effect.fn("LaneLedger.markRestored")(function* (hold: Hold, chain: string, foreign: unknown) {
    const { rules } = networks.of(chain)
    const now = yield* Clock.currentTimeMillis
    const mark = Effect.gen(function* () {
      const rows = [...(yield* lockedNow(hold, yield* contents.open(hold.laneId))).values()]
      const suspected = new Set(
        suspects(
          rules,
          rows.map(({ transaction }) => transaction),
          foreign
        )
      )
      const found = rows.filter(({ transaction }) => suspected.has(transaction))
      return yield* writeHeld(
        found.map((before) => ({ before, after: { ...before.transaction, restored: true } })),
        now
      )
    })
    return yield* remembered(hold, fence.held(hold, mark))
  })

  const reportReorgedFinal = Effect.fn("LaneLedger.reportReorgedFinal")(function* (
    hold: Hold,
    reorged: ReadonlyArray<StoredTransaction>
  ) {
    const events = reorged.map((stored) => ({ type: "transaction.reorged_final" as const, stored }))
    const report = Effect.andThen(transactions.lock(reorged.map(({ id }) => id)), publish(events))
    yield* fence.held(hold, report)
  })

  return { recordSends, apply, expire, saveLane, markRestored, reportReorgedFinal }
})
