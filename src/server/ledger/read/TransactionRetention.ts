// Deletes final transactions after their retention, with their requests and attempts. Open ones are never deleted.
import { Duration, Effect, Layer } from "effect"
import * as Retention from "../../lifecycle/Retention.ts"
import * as TransactionRetentionRepo from "./TransactionRetentionRepo.ts"

/** Transactions that one statement deletes. */
const batch = 500

/** Runs until its scope closes. `age`: how long final transactions are kept; `Duration.infinity` keeps them forever. */
export const layer = (age: Duration.Duration) =>
  Duration.isFinite(age)
    ? Layer.effectDiscard(
        Effect.flatMap(TransactionRetentionRepo.make, ({ prune }) =>
          Retention.run(
            "transactions",
            Effect.map(prune(age, batch), (count) => count === batch)
          )
        )
      )
    : Layer.empty
