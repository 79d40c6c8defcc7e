// Begins restores of archived entries for calls that wait for them, if the requests of the calls pay for them.
import { Effect } from "effect"
import type { Stellar, StellarRequest } from "../../../domain/transaction/stellar/Stellar.ts"
import { stellarRules } from "../../../domain/transaction/stellar/StellarRules.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import { newestRequest } from "../../../domain/transaction/Transaction.ts"
import { TransactionId } from "../../../domain/transaction/TransactionValues.ts"
import { isTransactionOf } from "../../ledger/LedgerEntries.ts"
import type { StoredTransaction } from "../../ledger/LedgerEntries.ts"
import type { LaneLedger } from "../../ledger/LaneLedger.ts"
import type { Ledger } from "../../ledger/Ledger.ts"
import type { SecureRandom } from "effect/crypto"

interface Parts {
  readonly ledger: Pick<LaneLedger["Service"], "waitingForRestore" | "beginRestore">
  readonly transactions: Pick<Ledger["Service"], "get">
  readonly random: SecureRandom.SecureRandom["Service"]
}

/** The request of the restore: the newest version of the call, and its highest fee. */
const workOf = ({ id, transaction }: StoredTransaction<Stellar>): StellarRequest => {
  const { max_fee, operations, transaction_xdr } = newestRequest(transaction)
  return {
    restore: {
      for: id,
      call: { ...present("operations", operations), ...present("transaction_xdr", transaction_xdr) }
    },
    ...present("max_fee", max_fee)
  }
}

export const make = ({ ledger, random, transactions }: Parts): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (const { id, relayer_number } of yield* ledger.waitingForRestore(stellarRules.type)) {
      const stored = yield* transactions.get(relayer_number, id)
      if (!isTransactionOf<Stellar>(stellarRules, stored)) continue
      yield* ledger.beginRestore(stored.chain, id, {
        id: TransactionId.make(yield* random.uuidV7()),
        request: workOf(stored),
        validUntil: stored.transaction.validUntil
      })
    }
  }).pipe(
    // The transaction was deleted meanwhile.
    Effect.catchTag("TransactionNotFound", () => Effect.void),
    Effect.withSpan("RestoreUpkeep.run")
  )
