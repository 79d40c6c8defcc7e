// Writes changes of transactions: their rows, their attempts and the events about them, in the running SQL transaction.
import { Effect } from "effect"
import type { Attempt } from "../../../domain/transaction/Attempt.ts"
import { feeOf } from "../../../domain/transaction/FeeUse.ts"
import type { Moment } from "../../../domain/transaction/Moment.ts"
import type { Transaction } from "../../../domain/transaction/Transaction.ts"
import { eventsOf } from "../../../domain/transaction/TransactionEvents.ts"
import * as AttemptsRepo from "./AttemptsRepo.ts"
import type { Answered } from "./AttemptRow.ts"
import * as Publishing from "./Publishing.ts"
import type { StoredTransaction } from "../StoredTransaction.ts"
import * as TransactionsRepo from "./TransactionsRepo.ts"

export interface Change {
  /** As its row was read. */
  readonly before: StoredTransaction
  readonly after: Transaction
}

/** What the ledger has after a change. */
const storedAfter = ({ before, after }: Change, now: Moment): StoredTransaction => ({
  ...before,
  version: before.version + 1,
  transaction: after,
  ...(before.fee === undefined ? {} : { fee: feeOf(after, before.fee) }),
  ...(after.state === "confirmed" && before.transaction.state !== "confirmed" ? { confirmedAt: now } : {})
})

/** Attempts that were there before, and whose answers or receipt changed. */
const answeredIn = ({ before: { id, chain, transaction: before }, after }: Change): ReadonlyArray<Answered> => {
  const former = new Map(before.attempts.map((attempt) => [attempt.ordinal, attempt]))
  const minings = before.mined === after.mined ? [] : [before.mined?.ordinal, after.mined?.ordinal]
  const isChanged = (attempt: Attempt) =>
    former.has(attempt.ordinal) && (former.get(attempt.ordinal) !== attempt || minings.includes(attempt.ordinal))
  return after.attempts.filter(isChanged).map((attempt) => ({
    id,
    chain,
    attempt,
    receipt: after.mined?.ordinal === attempt.ordinal ? after.mined.receipt : undefined
  }))
}

export const make = Effect.gen(function* () {
  const transactions = yield* TransactionsRepo.make
  const attempts = yield* AttemptsRepo.make
  const publish = yield* Publishing.make

  /** Writes and returns those whose rows are as they were read. The others were changed meanwhile, and are left as they are. */
  const writeUnchanged = Effect.fn("Ledger.write")(function* (given: ReadonlyArray<Change>, now: Moment) {
    if (given.length === 0) return []
    const written = yield* transactions.update(
      given.map(({ before, after }) => ({ ...before, transaction: after })),
      now
    )
    const changes = given.filter(({ before }) => written.has(before.id))
    yield* attempts.update(changes.flatMap(answeredIn))
    const reported = changes.map((change) => ({ change, stored: storedAfter(change, now) }))
    yield* publish(
      reported.flatMap(({ change: { before, after }, stored }) =>
        eventsOf(before.transaction, after).map((type) => ({ type, stored }))
      )
    )
    return reported.map(({ stored }) => stored)
  })

  /** The running transaction holds the rows. */
  const writeHeld = Effect.fnUntraced(function* (changes: ReadonlyArray<Change>, now: Moment) {
    const written = yield* writeUnchanged(changes, now)
    if (written.length === changes.length) return written
    return yield* Effect.die(new Error(`${written.length} of ${changes.length} held transactions had their version`))
  })

  return { writeUnchanged, writeHeld }
})
