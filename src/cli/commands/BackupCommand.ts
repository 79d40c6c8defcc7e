// `backup`: writes the whole database into one file, while the service goes on.
import { Console, Effect } from "effect"
import { Argument, Command } from "effect/cli"
import * as StartFailed from "../../process/StartFailed.ts"
import * as Settings from "../../process/settings/Settings.ts"
import * as DatabaseSettings from "../kit/DatabaseSettings.ts"
import * as Maintenance from "../kit/Maintenance.ts"
import * as ServeFlags from "../kit/ServeFlags.ts"
import * as Verb from "../kit/Verb.ts"

const file = Argument.Path("file", { pathType: "either" }).pipe(Argument.withDescription("The file to write"))

interface BackupFlags {
  readonly file: string
  readonly database: ServeFlags.ServeFlagValues
}

const backup = Effect.fnUntraced(function* ({ file, database }: BackupFlags) {
  const settings = yield* DatabaseSettings.withoutKeys(database)
  yield* Maintenance.checkExists(settings)
  const Sql = yield* Effect.promise(() => import("../../sql/Sql.ts"))
  const Snapshot = yield* Effect.promise(() => import("../../sql/backup/Snapshot.ts"))
  const BackupFile = yield* Effect.promise(() => import("../../sql/backup/BackupFile.ts"))
  const { header, rows } = yield* BackupFile.create(file, Maintenance.progress).pipe(
    Effect.flatMap(Snapshot.take),
    Effect.scoped,
    Effect.provide(Sql.maintenance(Settings.databaseOptions(settings))),
    Effect.catchTag("DatabaseError", (error) => Effect.fail(StartFailed.fromDatabase(error))),
    Maintenance.report
  )
  yield* Maintenance.progressEnd
  const total = Object.values(rows).reduce((sum, count) => sum + count, 0)
  yield* Console.log(`wrote ${file}: ${total} rows of schema ${header.schema}`)
  yield* Console.log(
    header.key_ids.length === 0
      ? "It contains no secrets."
      : `Its secrets need the master key ${header.key_ids.join(" and ")}, which is not in it: keep a copy of that key elsewhere.`
  )
})

export const BackupCommand = Command.make("backup", { file, database: ServeFlags.databaseFlags }, backup).pipe(
  Verb.about(
    "Write the database of DATABASE_URL, or the embedded one, into one file. The service may run meanwhile. The file contains no master key.",
    "backup relayer-2026-11-22.backup",
    "backup --data-dir /var/lib/relayer /mnt/backups/relayer.backup"
  )
)
