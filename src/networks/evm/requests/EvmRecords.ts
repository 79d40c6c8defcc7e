// What the ledger has of the delegation of an account, for requests.
import { Effect, Option } from "effect"
import { Ledger } from "../../../server/ledger/Ledger.ts"
import { isLaneOf, isTransactionOf } from "../../../server/ledger/LedgerEntries.ts"
import type { Account, StoredLane, StoredTransaction } from "../../../server/ledger/LedgerEntries.ts"
import { exclusiveDelegation } from "../rules/Delegation.ts"
import type { Evm } from "../rules/Evm.ts"
import { evmRules } from "../rules/EvmRules.ts"

export const makeRecords = Effect.gen(function* () {
  const ledger = yield* Ledger

  const ofEvm = (stored: StoredLane): stored is StoredLane<Evm> => isLaneOf(evmRules, stored)
  const isOwn = (stored: StoredTransaction): stored is StoredTransaction<Evm> => isTransactionOf(evmRules, stored)

  /** The lane, with what it remembers. Undefined: nothing was ever sent. */
  const laneOf = (account: Account) =>
    Effect.map(ledger.laneOf(account), (found) => Option.getOrUndefined(Option.filter(found, ofEvm))?.lane)

  /** The open transaction that changes the delegation. Undefined: there is none. */
  const openOf = (account: Account) =>
    Effect.map(ledger.excluding(account, exclusiveDelegation), (found) =>
      Option.getOrUndefined(Option.filter(found, isOwn))
    )

  return { laneOf, openOf }
})
