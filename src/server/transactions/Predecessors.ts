// Why a transaction waits for the one in front of it in its lane, at the moment of the answer.
import { Clock, Effect, Option } from "effect"
import * as Caller from "../../domain/access/Caller.ts"
import type { Cause } from "../../domain/transaction/Cause.ts"
import type { Moment } from "../../domain/transaction/Moment.ts"
import { Ledger } from "../ledger/Ledger.ts"
import { LedgerRules } from "../ledger/LedgerRules.ts"
import type { StoredTransaction } from "../ledger/StoredTransaction.ts"

/** A cause, and since when. */
export interface Waiting {
  readonly why: Cause
  readonly since: Moment
}

export const make = Effect.gen(function* () {
  const ledger = yield* Ledger
  const networks = yield* LedgerRules

  const find = Effect.fnUntraced(function* ({ laneId, id }: StoredTransaction, front: "in_flight" | "pending") {
    return front === "in_flight"
      ? yield* ledger.firstInFlight(laneId)
      : yield* ledger.firstPendingBelow(laneId, id, yield* Clock.currentTimeMillis)
  })

  /** Undefined: it waits for no other, or none is found. The id is left out if the caller cannot use the relayer. */
  return Effect.fnUntraced(function* (stored: StoredTransaction): Effect.fn.Return<Waiting | undefined> {
    const { transaction, chain } = stored
    const { predecessors } = networks.of(chain).rules
    const wanted = predecessors?.frontOf(transaction)
    const front = wanted === undefined ? Option.none() : yield* find(stored, wanted)
    if (Option.isNone(front)) return undefined
    const { id, relayerId } = front.value
    const shownId = Caller.mayUseRelayer(yield* Caller.current, relayerId) ? id : undefined
    const why = predecessors?.causeBehind(transaction, front.value.transaction, shownId)
    if (why === undefined) return undefined
    const { causeSince } = transaction
    const isSame = why.code === transaction.cause?.code
    return { why, since: isSame ? causeSince : Math.max(causeSince, front.value.transaction.causeSince) }
  })
})
