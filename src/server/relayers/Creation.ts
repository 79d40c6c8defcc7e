// Relayers that are created at the same time share a statement, and nothing else.
import { Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import * as Batcher from "../../sql/batch/Batcher.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { isUnavailable } from "../../sql/Unavailable.ts"
import { Changes } from "../changes/Changes.ts"
import { DueChecks } from "../health/DueChecks.ts"
import { NewRelayersRepo } from "./NewRelayersRepo.ts"
import type { NewRelayer } from "./NewRelayersRepo.ts"
import type { StoredRelayer } from "./StoredRelayer.ts"

/** For others that wait for a lock. */
const patience = "100 millis"

/** Creates a relayer, on record and told of. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const repo = yield* NewRelayersRepo
  const changes = yield* Changes
  const dueChecks = yield* DueChecks
  const savepoint = yield* Transaction.savepoint

  const made = Effect.andThen(changes.recorded, dueChecks.afterCommit)

  const together = yield* Batcher.make<NewRelayer, Option.Option<StoredRelayer>>(sql, {
    patience,
    all: (relayers) =>
      savepoint(repo.insertAll(relayers, changes.ofMadeRelayers)).pipe(
        Effect.tap(made),
        // The fault of one of them: each hears alone of its own.
        Effect.catchDefect((defect) =>
          isUnavailable(defect) ? Effect.die(defect) : Effect.succeed(relayers.map(Option.none<StoredRelayer>))
        )
      )
  })

  const alone = (relayer: NewRelayer) => savepoint(repo.insert(relayer, changes.ofMadeRelayers)).pipe(Effect.tap(made))

  return (relayer: NewRelayer) =>
    Effect.flatMap(
      together(relayer),
      Option.match({ onNone: () => alone(relayer), onSome: (stored) => Effect.succeed(stored) })
    )
})
