// What runs on the ledger beside requests and lanes: the retention of final transactions, and gauges of the backlog.
import { Clock, Duration, Effect, Layer, Metric } from "effect"
import { operatorCodes } from "../../networks/core/Cause.ts"
import { client, query } from "../../sql/Transaction.ts"
import { deleteOld, measureGauge } from "../lifecycle/SharedJobs.ts"
import { feePeriod } from "./AcceptanceChecks.ts"
import * as RelayerTransactionsRepo from "./RelayerTransactionsRepo.ts"
import type { Backlog } from "./RelayerTransactionsRepo.ts"
import { makeGivenSignatures } from "./SignaturesRepo.ts"

const transactionsOpen = Metric.gauge("transactions_open", {
  description:
    "Transactions of all relayers that are not final, by state: `pending` ones have no nonce, `in_flight` ones have."
})

const transactionsOldestSeconds = Metric.gauge("transactions_oldest_seconds", {
  description:
    "Age of the oldest transaction that is not final, since its acceptance or its `not_before`, in seconds, by state."
})

const transactionsWaiting = Metric.gauge("transactions_waiting_for_operator", {
  description:
    "Open transactions of all relayers that no time ends, by code: an operator has to decide or to change something."
})

export const ledgerGauges = [transactionsOpen, transactionsOldestSeconds, transactionsWaiting]

const showBacklog = (now: number, { state, count, since }: Backlog) =>
  Effect.andThen(
    Metric.update(Metric.withAttributes(transactionsOpen, { state }), count),
    Metric.update(
      Metric.withAttributes(transactionsOldestSeconds, { state }),
      since === undefined ? 0 : Math.max((now - since) / 1000, 0)
    )
  )

/** Runs until its scope closes. */
export const ledgerGaugesLayer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { backlog, countCodes } = yield* RelayerTransactionsRepo.make
    const measure = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      for (const group of yield* backlog) yield* showBacklog(now, group)
      const counts = yield* countCodes(operatorCodes)
      for (const code of operatorCodes) {
        yield* Metric.update(Metric.withAttributes(transactionsWaiting, { code }), counts.get(code) ?? 0)
      }
    })
    yield* measureGauge(transactionsOpen.id, measure)
  })
)

// Deletes old rows of the table `transactions`, beginning with those that became final first.

export const makeTransactionRetention = Effect.gen(function* () {
  const sql = yield* client

  /**
   * Deletes at most `limit` transactions that became final longer than `age` ago. Returns how many. An array is read once: PostgreSQL may
   * read a list with a limit again for each row, and then it skips rows that it has locked, and takes others.
   */
  const prune = (age: Duration.Duration, limit: number) =>
    sql`
      DELETE FROM transactions WHERE id = ANY(ARRAY(
        SELECT id FROM transactions WHERE final_at < now() - ${Duration.toSeconds(age)}::float8 * interval '1 second'
        ORDER BY final_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
      )) RETURNING 1`.pipe(
      Effect.map((rows) => rows.length),
      query("TransactionRetentionRepo.prune")
    )

  return { prune }
})

// Deletes final transactions after their retention, with their requests and attempts, and signatures that were given and count
// nowhere. Open transactions are never deleted.

/** Transactions that one statement deletes. */
const batch = 500

/** Fees of signatures that were given count this long. */
const feesCount = Duration.millis(feePeriod)

/** Runs until its scope closes. `age`: how long final transactions are kept; `Duration.infinity` keeps them forever. */
export const transactionRetention = (age: Duration.Duration) =>
  Duration.isFinite(age)
    ? Layer.effectDiscard(
        Effect.gen(function* () {
          const transactions = yield* makeTransactionRetention
          const given = yield* makeGivenSignatures
          yield* deleteOld("transactions", batch, transactions.prune(age, batch))
          yield* deleteOld("signatures", batch, given.prune(Duration.max(age, feesCount), batch))
        })
      )
    : Layer.empty
