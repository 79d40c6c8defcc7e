// Why a transaction is in its state, since when, and what happens next.
import { DateTime, Effect, Option } from "effect"
import { cause } from "../../domain/transaction/Cause.ts"
import type { Moment } from "../../domain/transaction/Moment.ts"
import { statusOf } from "../../domain/transaction/Presentation.ts"
import { isFinal } from "../../domain/transaction/Transaction.ts"
import type { TransactionExplanation } from "../../domain/transaction/TransactionRequests.ts"
import { Ledger } from "../ledger/Ledger.ts"
import { LedgerRules } from "../ledger/LedgerRules.ts"
import type { StoredTransaction } from "../ledger/StoredTransaction.ts"

const instant = (moment: Moment): DateTime.Utc => DateTime.makeUnsafe(moment)

export const make = Effect.gen(function* () {
  const ledger = yield* Ledger
  const networks = yield* LedgerRules

  const causeOf = Effect.fnUntraced(function* ({ id, laneId, transaction }: StoredTransaction) {
    const why = transaction.cause ?? cause("queued")
    return why.code === "queued" ? cause("queued", { position: yield* ledger.ahead(laneId, id) }) : why
  })

  return Effect.fnUntraced(function* (stored: StoredTransaction) {
    const { transaction, laneId } = stored
    const ended = isFinal(transaction)
    const why = yield* causeOf(stored)
    const lane = ended ? Option.none() : yield* ledger.laneById(laneId)
    const explanation: TransactionExplanation = {
      status: statusOf(transaction.state),
      code: why.code,
      ...networks.of(stored.chain).rules.explain(why, ended),
      figures: why.figures,
      since: instant(transaction.causeSince),
      ...(Option.isNone(lane) ? {} : { next_at: instant(lane.value.nextPollAt) })
    }
    return explanation
  })
})
