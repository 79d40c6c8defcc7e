// Cancels transactions for a caller: one of them, or all that are open.
import { Array as Arr, Clock, Effect } from "effect"
import type { TransactionId } from "../../domain/transaction/TransactionId.ts"
import { Ledger } from "../ledger/Ledger.ts"
import * as Caller from "../../domain/access/Caller.ts"
import { CurrentRequest } from "../responses/CurrentRequest.ts"
import type * as OwnTransactions from "./OwnTransactions.ts"

/** Transactions that one SQL transaction cancels. Each can have 128 kB of data. */
const cancelsPerCommit = 100

/** The time limit of a cancel of all without an HTTP request, in milliseconds. */
const programTime = 30_000

/** After this part of its time, a cancel of all begins no further commit. The rest is for a commit that waits for locks. */
const cancelShare = 1 / 3

/** `checkOwn`: of `OwnTransactions.make`. */
export const make = Effect.fnUntraced(function* (checkOwn: Effect.Success<typeof OwnTransactions.make>) {
  const ledger = yield* Ledger

  const cancel = Effect.fnUntraced(function* (relayerNumber: number, id: TransactionId) {
    const { transactionLimits } = yield* Caller.current
    if (transactionLimits !== undefined) yield* checkOwn(yield* ledger.get(relayerNumber, id))
    return yield* ledger.cancel(relayerNumber, id)
  })

  /** The open transactions that the caller may cancel, and those that it may not. Each sending API key is checked once. */
  const cancelableOf = Effect.fnUntraced(function* (relayerNumber: number) {
    const open = yield* ledger.cancelable(relayerNumber)
    const senders = Arr.dedupeWith(open, (one, other) => one.apiKeyId === other.apiKeyId)
    const [allowed] = yield* Effect.partition(senders, (sender) => Effect.as(checkOwn(sender), sender.apiKeyId))
    const own = new Set(allowed)
    const idsIf = (isOwn: boolean) => open.flatMap(({ id, apiKeyId }) => (own.has(apiKeyId) === isOwn ? [id] : []))
    return { ids: idsIf(true), foreign: idsIf(false) }
  })

  /**
   * Reports transactions that were mined or became final meanwhile, and cancels the others, in the order of their acceptance.
   * It stops before the request's time limit; a repetition continues.
   */
  const cancelAll = Effect.fnUntraced(function* (number: number) {
    const time = (yield* CurrentRequest)?.timeLimit?.ms ?? programTime
    const deadline = (yield* Clock.currentTimeMillis) + time * cancelShare
    const { ids, foreign } = yield* cancelableOf(number)
    const queued = new Set<TransactionId>()
    let done = 0
    while (done < ids.length && (yield* Clock.currentTimeMillis) < deadline) {
      const some = ids.slice(done, done + cancelsPerCommit)
      for (const id of yield* ledger.cancelMany(number, some)) queued.add(id)
      done += some.length
    }
    const tried = ids.slice(0, done)
    const remaining = ids.length - done
    return {
      queued_for_cancellation_transaction_ids: tried.filter((id) => queued.has(id)),
      failed_to_queue_transaction_ids: [...tried.filter((id) => !queued.has(id)), ...foreign],
      total_processed: done + foreign.length,
      ...(remaining === 0 ? {} : { remaining })
    }
  })

  return { cancel, cancelAll }
})
