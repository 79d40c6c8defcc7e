// What can prevent an acceptance: an `external_id` that was used before, and limits of fees.
import { Effect } from "effect"
import { TransactionConflict } from "../../../domain/transaction/Cancellation.ts"
import type { Moment } from "../../../domain/transaction/Moment.ts"
import type { Account, FeeLimit, NewTransaction } from "../NewTransaction.ts"
import type { Acceptance } from "./NewTransactionsRepo.ts"
import * as FeeLimits from "./FeeLimits.ts"
import * as RelayerTransactionsRepo from "../read/RelayerTransactionsRepo.ts"
import * as TransactionsRepo from "../write/TransactionsRepo.ts"

export const make = Effect.gen(function* () {
  const transactions = yield* TransactionsRepo.make
  const relayers = yield* RelayerTransactionsRepo.make
  const { spend } = yield* FeeLimits.make

  const checkFees = (added: ReadonlyArray<NewTransaction>, limits: ReadonlyArray<FeeLimit>, now: Moment) => {
    const more = added.reduce((sum, { fee = 0n }) => sum + fee, 0n)
    return spend(
      limits.map((limit) => ({ ...limit, more })),
      now
    )
  }

  /** Transactions that were accepted before with the same `external_id`, by it. Fails if the body was another one. */
  const formerOf = Effect.fnUntraced(function* (account: Account, acceptances: ReadonlyArray<Acceptance>) {
    const hashes = new Map<string, string>()
    for (const { transaction, bodyHash } of acceptances) {
      if (transaction.externalId === undefined) continue
      if (hashes.has(transaction.externalId)) {
        return yield* new TransactionConflict({ error: "external_id: is used twice in this request" })
      }
      hashes.set(transaction.externalId, bodyHash)
    }
    const external = yield* relayers.external(account.relayerNumber, [...hashes.keys()])
    for (const [externalId, { bodyHash }] of external) {
      if (hashes.get(externalId) !== bodyHash) {
        return yield* new TransactionConflict({ error: "external_id: was used with another body" })
      }
    }
    const rows = yield* transactions.find([...external.values()].map(({ id }) => id))
    return new Map(rows.map((row) => [row.externalId, row]))
  })

  return { checkFees, formerOf }
})
