// Deletes final transactions after their retention, with their requests and attempts, and signatures that were given and count
// nowhere. Open transactions are never deleted.
import { Duration, Effect, Layer } from "effect"
import * as Retention from "../../lifecycle/Retention.ts"
import { feePeriod } from "../accept/FeeLimits.ts"
import * as GivenRepo from "../accept/GivenRepo.ts"
import * as TransactionRetentionRepo from "./TransactionRetentionRepo.ts"

/** Transactions that one statement deletes. */
const batch = 500

/** Fees of signatures that were given count this long. */
const feesCount = Duration.millis(feePeriod)

const isFull = (count: number): boolean => count === batch

/** Runs until its scope closes. `age`: how long final transactions are kept; `Duration.infinity` keeps them forever. */
export const layer = (age: Duration.Duration) =>
  Duration.isFinite(age)
    ? Layer.effectDiscard(
        Effect.gen(function* () {
          const transactions = yield* TransactionRetentionRepo.make
          const given = yield* GivenRepo.make
          yield* Retention.run("transactions", Effect.map(transactions.prune(age, batch), isFull))
          yield* Retention.run("signatures", Effect.map(given.prune(Duration.max(age, feesCount), batch), isFull))
        })
      )
    : Layer.empty
