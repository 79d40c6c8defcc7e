// `migrate`: brings the schema of the database up to date and ends.
import { Console, Effect, Logger } from "effect"
import { Command } from "effect/cli"
import * as StartFailed from "../../process/StartFailed.ts"
import * as Settings from "../../process/settings/Settings.ts"
import * as DatabaseSettings from "../kit/DatabaseSettings.ts"
import * as ServeFlags from "../kit/ServeFlags.ts"
import * as Verb from "../kit/Verb.ts"

const migrate = Effect.fnUntraced(function* (given: ServeFlags.ServeFlagValues) {
  const options = Settings.databaseOptions(yield* DatabaseSettings.withoutKeys(given))
  const Sql = yield* Effect.promise(() => import("../../sql/Sql.ts"))
  const { applied } = yield* Sql.open(options).pipe(
    Effect.mapError(StartFailed.fromDatabase),
    Effect.scoped,
    Effect.provide(Logger.layer([]))
  )
  for (const name of applied) yield* Console.log(`applied ${name}`)
  yield* Console.log("the database is up to date")
})

export const MigrateCommand = Command.make("migrate", ServeFlags.databaseFlags, migrate).pipe(
  Verb.about(
    "Bring the schema of DATABASE_URL, or of the embedded database, up to date.",
    "migrate",
    "migrate --data-dir /var/lib/relayer"
  )
)
