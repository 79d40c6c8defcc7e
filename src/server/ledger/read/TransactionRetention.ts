// Deletes final transactions after their retention, with their requests and attempts, and signatures that were given and count
// nowhere. Open transactions are never deleted.
import { Duration, Effect, Layer } from "effect"
import { deleteOld } from "../../lifecycle/SharedJobs.ts"
import { feePeriod } from "../accept/FeeLimits.ts"
import * as GivenRepo from "../accept/GivenRepo.ts"
import * as TransactionRetentionRepo from "./TransactionRetentionRepo.ts"

/** Transactions that one statement deletes. */
const batch = 500

/** Fees of signatures that were given count this long. */
const feesCount = Duration.millis(feePeriod)

/** Runs until its scope closes. `age`: how long final transactions are kept; `Duration.infinity` keeps them forever. */
export const layer = (age: Duration.Duration) =>
  Duration.isFinite(age)
    ? Layer.effectDiscard(
        Effect.gen(function* () {
          const transactions = yield* TransactionRetentionRepo.make
          const given = yield* GivenRepo.make
          yield* deleteOld("transactions", batch, transactions.prune(age, batch))
          yield* deleteOld("signatures", batch, given.prune(Duration.max(age, feesCount), batch))
        })
      )
    : Layer.empty
