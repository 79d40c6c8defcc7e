// What the holder of a lane writes, fenced by its hold. Signatures are committed before a send: a place and its bytes are there together,
// or not at all. What happened after it is recorded.
import { Array, Clock, Effect, Option } from "effect"
import { cause } from "../../networks/core/Cause.ts"
import type { Moment, TransactionId } from "../../networks/core/TransactionValues.ts"
import {
  apply,
  apply as applyTo,
  asRestored,
  endOf,
  isWorthWriting,
  suspects,
  withAttempt,
  withSent
} from "../../networks/core/Transition.ts"
import * as Batcher from "../../sql/batch/Batcher.ts"
import { client, isRefused } from "../../sql/Transaction.ts"
import { makeFeeLimits, spendingsOf } from "./AcceptanceChecks.ts"
import type { LaneAccess } from "./Claims.ts"
import * as LaneContentsRepo from "./LaneContentsRepo.ts"
import * as LanesRepo from "./LanesRepo.ts"
import { hasOneAccount, makeLaneAccounts } from "./LanesRepo.ts"
import type { Assignment, Assignments, CounterMove, LaneSave } from "./LanesRepo.ts"
import { LaneChanged, LedgerRules } from "./LedgerEntries.ts"
import type {
  Decided,
  GapSignature,
  Hold,
  LaneId,
  LaneLost,
  LaneState,
  SentAttempt,
  Signature,
  StoredLane,
  StoredTransaction
} from "./LedgerEntries.ts"
import { patience } from "./SharedWrites.ts"
import type { Part, SharedWrites } from "./SharedWrites.ts"
import { makeAttempts } from "./SignaturesRepo.ts"
import * as Writing from "./TransactionWrites.ts"
import type { Change } from "./TransactionWrites.ts"
import * as TransactionsRepo from "./TransactionsRepo.ts"
import { makeFillers } from "./TransactionsRepo.ts"
import type { Gate } from "./TransactionsRepo.ts"

/** Sequences of one account that these signatures take. Dies if they are not consecutive. */
const assignmentOf = (account: string, sequences: ReadonlyArray<bigint>): Assignment => {
  const [from = 0n] = sequences
  sequences.forEach((sequence, index) => {
    if (sequence !== from + BigInt(index)) {
      throw new Error(`sequences of a commit are consecutive: ${sequence} is not ${from + BigInt(index)}`)
    }
  })
  return { account, from, count: BigInt(sequences.length) }
}

/** The sequences that these signatures take from accounts of the lane. Undefined: none. */
export const assignmentsOf = (signatures: ReadonlyArray<Signature>): Assignments | undefined => {
  const originals = signatures.filter(({ stored }) => stored.transaction.state === "pending")
  const [first] = originals
  if (first === undefined) return undefined
  const taken = new Map<string, Array<bigint>>()
  for (const { attempt, next } of originals) {
    const { account, sequence } = attempt.place
    if (sequence === undefined) continue
    const both = next === undefined ? [sequence] : [sequence, sequence + 1n]
    taken.set(account, [...(taken.get(account) ?? []), ...both])
  }
  const all = [...taken].map(([account, sequences]) => assignmentOf(account, sequences))
  const { from } = first.stored
  return {
    generation: first.attempt.generation,
    own: all.find(({ account }) => account === from),
    channels: all.filter(({ account }) => account !== from)
  }
}

export const makeLaneCommits = Effect.fnUntraced(function* ({ memory, fence }: LaneAccess, shared: SharedWrites) {
  const transactions = yield* TransactionsRepo.make
  const attempts = yield* makeAttempts
  const gapRows = yield* makeFillers
  const networks = yield* LedgerRules
  const { spend } = yield* makeFeeLimits
  const { writeSigned, writeUnchanged } = yield* Writing.make

  /**
   * What runs after the lane is locked and before the writes. Since the decision, another lane or an acceptance may have used the rest
   * of the limits, and a caller may have got a signature of this commit. Undefined: neither matters, so one statement locks and writes.
   */
  const beforeWrites = (hold: Hold, signatures: ReadonlyArray<Signature>, now: Moment) => {
    const spendings = spendingsOf(signatures, now)
    const nexts = signatures.filter(({ next }) => next !== undefined)
    if (spendings.length > 0 || nexts.length > 0) {
      const spent = Effect.mapError(spend(spendings, now), () => new LaneChanged({ laneId: hold.laneId }))
      const explained = Effect.forEach(nexts, (signature) => gapRows.insertNext(hold.laneId, signature, now))
      return Effect.asVoid(Effect.andThen(spendings.length > 0 ? spent : Effect.void, explained))
    }
    return signatures.some(({ stored }) => attempts.canRepeat(stored.chain)) ? Effect.void : undefined
  }

  /** Bytes that only private providers get are sealed here, whether the part is written with others or alone. */
  const partOf = Effect.fnUntraced(function* (
    hold: Hold,
    signatures: Array.NonEmptyReadonlyArray<Signature>,
    { own, channels = [], generation = 0 }: Partial<Assignments>,
    now: Moment
  ) {
    const signed = yield* Effect.forEach(signatures, ({ stored: { id, chain, from, transaction }, attempt, raw }) =>
      Effect.map(attempts.storedBytes(id, transaction, attempt, raw, chain), (bytes) => ({
        id,
        chain,
        address: from,
        attempt,
        bytes,
        epoch: hold.epoch
      }))
    )
    const part: Part = {
      hold,
      own: own === undefined ? undefined : { ...own, generation },
      channels,
      changes: Array.map(signatures, ({ stored, attempt, cause }) => ({
        before: stored,
        after: withAttempt(stored.transaction, attempt, cause, now)
      })),
      signed,
      now
    }
    return part
  })

  /** `nexts`: rows that explain second sequences. They are written before. */
  const writeAlone = Effect.fnUntraced(function* (
    { hold, changes, signed, now }: Part,
    gate: Gate | undefined,
    nexts: ReadonlyArray<TransactionId>
  ) {
    const written = yield* writeSigned(changes, now, signed, gate)
    if (written.length < changes.length) return yield* new LaneChanged({ laneId: hold.laneId })
    return nexts.length === 0 ? written : [...written, ...(yield* transactions.find(nexts))]
  })

  /** The bytes of one of them are those of another transaction: it ends if they cannot be varied. */
  const refuseRepeated = Effect.fnUntraced(function* (
    hold: Hold,
    signatures: Array.NonEmptyReadonlyArray<Signature>,
    now: Moment
  ) {
    const known = yield* attempts.own(
      hold.laneId,
      signatures.map(({ attempt }) => attempt.hash)
    )
    const changes = signatures.flatMap(({ stored, attempt }) => {
      const end = known.has(attempt.hash) ? networks.of(stored.chain).rules.repeated?.(stored.transaction) : undefined
      return end === undefined ? [] : [{ before: stored, after: apply(stored.transaction, end, now) }]
    })
    memory.update(hold, yield* fence.held(hold, writeUnchanged(changes, now)))
    return yield* new LaneChanged({ laneId: hold.laneId })
  })

  const commitSignatures = Effect.fn("LaneLedger.commitSignatures")(function* (
    hold: Hold,
    signatures: Array.NonEmptyReadonlyArray<Signature>
  ) {
    const now = yield* Clock.currentTimeMillis
    const assignments = assignmentsOf(signatures)
    const part = yield* partOf(hold, signatures, assignments ?? {}, now)
    const nexts = signatures.flatMap(({ next }) => (next === undefined ? [] : [next.id]))
    const committing = fence.assigning(
      hold,
      assignments,
      (gate) => writeAlone(part, gate, nexts),
      beforeWrites(hold, signatures, now)
    )
    const commit = Effect.catchTag(committing, "SignatureTaken", () => refuseRepeated(hold, signatures, now))
    // Limits of fees are compared with other commits, and second sequences have rows.
    const isAlone = spendingsOf(signatures, now).length > 0 || nexts.length > 0
    const written = yield* isAlone ? commit : shared.writeOr(part, commit)
    memory.update(hold, written)
    return written
  })

  const commitGaps = Effect.fn("LaneLedger.commitGaps")(function* (
    hold: Hold,
    owner: StoredTransaction,
    gaps: Array.NonEmptyReadonlyArray<GapSignature>
  ) {
    const now = yield* Clock.currentTimeMillis
    const written = yield* fence.held(
      hold,
      Effect.gen(function* () {
        yield* gapRows.insert(hold.laneId, owner, gaps, now)
        yield* attempts
          .insert(
            gaps.map(({ id, attempt, raw }) => ({
              id,
              chain: owner.chain,
              address: owner.from,
              attempt,
              // No-ops are no secret.
              bytes: { raw },
              epoch: hold.epoch
            }))
          )
          .pipe(Effect.orDie)
        return yield* transactions.find(gaps.map(({ id }) => id))
      })
    )
    memory.update(hold, written)
    return written
  })

  return { commitSignatures, commitGaps }
})

// Records what a poll of the chain, a broadcast or a decision has changed about a held lane.

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
export const freedBy = ({ stored: { transaction }, command }: Decided): ReadonlyArray<CounterMove> => {
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

/** Changes without new attempts, for a write of several lanes. */
const unsigned = (hold: Hold, changes: Array.NonEmptyReadonlyArray<Change>, now: Moment): Part => ({
  hold,
  own: undefined,
  channels: [],
  changes,
  signed: [],
  now
})

export const makeLaneRecords = Effect.fnUntraced(function* ({ memory, fence }: LaneAccess, shared: SharedWrites) {
  const sql = yield* client
  const lanes = yield* LanesRepo.make
  const accounts = yield* makeLaneAccounts
  const contents = yield* LaneContentsRepo.make
  const transactions = yield* TransactionsRepo.make
  const networks = yield* LedgerRules
  const { writeGated, writeUnchanged, writeHeld } = yield* Writing.make
  const publish = yield* Writing.publishing

  /** Lanes that poll at the same moment share a statement. None: the lane is not as it was read, it is locked, or the server has refused all. */
  const saveTogether = yield* Batcher.make<LaneSave, Option.Option<StoredLane>>(sql, {
    patience,
    all: (saves) =>
      lanes.saveAll(saves).pipe(
        Effect.catchDefect((defect) =>
          isRefused(defect) ? Effect.succeed(new Map<LaneId, StoredLane>()) : Effect.die(defect)
        ),
        Effect.map((saved) => saves.map(({ hold }) => Option.fromUndefinedOr(saved.get(hold.laneId))))
      )
  })

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
    const isShared = Array.isReadonlyArrayNonEmpty(changes) && changes.length === ids.length
    return yield* remembered(hold, isShared ? shared.writeOr(unsigned(hold, changes, now), recorded) : recorded)
  })

  const apply = Effect.fn("LaneLedger.apply")(function* (hold: Hold, decided: Array.NonEmptyReadonlyArray<Decided>) {
    const now = yield* Clock.currentTimeMillis
    const changes = changesOf(decided, now)
    // Most polls of a transaction that waits for its confirmations change nothing.
    if (!Array.isReadonlyArrayNonEmpty(changes)) return []
    const writes = (gate: Gate | undefined) =>
      Effect.tap(writeGated(changes, now, gate), (rows) => {
        // A row that was changed meanwhile keeps its place.
        const ids = new Set(rows.map(({ id }) => id))
        return accounts.moveChannels(hold.laneId, decided.filter(({ stored }) => ids.has(stored.id)).flatMap(freedBy))
      })
    const applied = fence.gated(hold, writes)
    const isAlone = decided.some((one) => freedBy(one).length > 0)
    return yield* remembered(hold, isAlone ? applied : shared.writeOr(unsigned(hold, changes, now), applied))
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
    const save = { hold, state, now: yield* Clock.currentTimeMillis }
    const together = hasOneAccount(state) ? yield* saveTogether(save) : Option.none()
    if (Option.isSome(together)) return together.value
    const saved = yield* lanes.save(save)
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
        found.map((before) => ({ before, after: asRestored(before.transaction, now) })),
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
