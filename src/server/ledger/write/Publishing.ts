// Publishes events about transactions, in the SQL transaction of the change that they report.
import { Array, Effect } from "effect"
import type { TransactionEventType } from "../../../domain/transaction/TransactionEvents.ts"
import { Events } from "../../events/Events.ts"
import { Outbox } from "../../outbox/Outbox.ts"
import { currentRequestId } from "../../responses/CurrentRequest.ts"
import { LedgerRules } from "../LedgerRules.ts"
import type { LedgerNetwork } from "../LedgerRules.ts"
import type { StoredTransaction } from "../StoredTransaction.ts"

export interface TransactionEvent {
  readonly type: TransactionEventType
  /** After the change. */
  readonly stored: StoredTransaction
  /** Absent: the request that runs, if there is one. */
  readonly requestId?: string | null
}

/** JSON text of the transaction as the API shows it. */
const textOf = ({ rules, shown }: LedgerNetwork, { transaction, ...identity }: StoredTransaction): string =>
  shown.text(rules.show(transaction, identity))

/** The rows of the transactions have to be held. No-ops that fill gaps are internal: nothing is published about them. */
export const make = Effect.gen(function* () {
  const events = yield* Events
  const networks = yield* LedgerRules
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
      data: textOf(networks.of(stored.chain), stored)
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
