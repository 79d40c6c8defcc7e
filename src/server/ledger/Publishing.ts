// Publishes events about transactions, in the SQL transaction of the change that they report.
import { Array, Effect, Schema } from "effect"
import { EvmTransaction } from "../../domain/transaction/EvmTransaction.ts"
import { responseOf } from "../../domain/transaction/Presentation.ts"
import type { TransactionEventType } from "../../domain/transaction/TransactionEvents.ts"
import { Events } from "../events/Events.ts"
import { Outbox } from "../outbox/Outbox.ts"
import { currentRequestId } from "../responses/CurrentRequest.ts"
import type { StoredTransaction } from "./StoredTransaction.ts"

export interface TransactionEvent {
  readonly type: TransactionEventType
  /** After the change. */
  readonly stored: StoredTransaction
  /** Absent: the request that runs, if there is one. */
  readonly requestId?: string | null
}

const encode = Schema.encodeSync(EvmTransaction)

/** JSON text of the transaction as the API shows it. */
const textOf = ({ transaction, ...identity }: StoredTransaction): string =>
  JSON.stringify(encode(responseOf(transaction, identity)))

/** The rows of the transactions have to be held. No-ops that fill gaps are internal: nothing is published about them. */
export const make = Effect.gen(function* () {
  const events = yield* Events
  const outbox = yield* Outbox

  return Effect.fn("Ledger.publish")(function* (all: ReadonlyArray<TransactionEvent>) {
    const published = all.filter(({ stored }) => stored.transaction.origin === "request")
    if (published.length === 0) return
    const current = (yield* currentRequestId) ?? null
    const encoded = published.map(({ type, stored, requestId = current }) => ({
      type,
      id: stored.id,
      requestId,
      relayerId: stored.relayerId,
      data: textOf(stored)
    }))
    const ids = yield* events.emitMany(encoded)
    yield* outbox.putTransactions(
      Array.zipWith(Array.zip(published, encoded), ids, ([{ stored }, { type, id, data }], eventId) => ({
        eventId,
        type,
        id,
        data,
        relayerNumber: stored.transaction.relayerNumber
      }))
    )
  })
})
