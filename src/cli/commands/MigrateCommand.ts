// `migrate`: brings the database up to date, and ends.
import { Console, Effect, Layer, Logger, Predicate } from "effect"
import { Command } from "effect/cli"
import * as Database from "../../process/Database.ts"
import * as DatabaseSettings from "../kit/DatabaseSettings.ts"
import * as ServeFlags from "../kit/ServeFlags.ts"
import * as Verb from "../kit/Verb.ts"

/** The name in a line that says what was applied. */
const migration = (message: unknown): string | undefined => {
  const details: unknown = Array.isArray(message) ? message[1] : undefined
  return Predicate.hasProperty(details, "migration") ? String(details.migration) : undefined
}

const migrate = Effect.fnUntraced(function* (given: ServeFlags.Given) {
  const applied: Array<string> = []
  const logger = Logger.make(({ message }) => {
    const name = migration(message)
    if (name !== undefined) applied.push(name)
  })
  const options = Database.options(yield* DatabaseSettings.withoutKeys(given))
  const Sql = yield* Effect.promise(() => import("../../sql/Sql.ts"))
  yield* Effect.scoped(Layer.build(Sql.layer(options))).pipe(Effect.provide(Logger.layer([logger])))
  for (const name of applied) yield* Console.log(`applied ${name}`)
  yield* Console.log("the database is up to date")
})

export const MigrateCommand = Command.make("migrate", ServeFlags.databaseFlags, migrate).pipe(
  Verb.about(
    "Bring the database of DATABASE_URL, or the embedded one, up to date, and end.",
    "migrate",
    "migrate --data-dir /var/lib/relayer"
  )
)
