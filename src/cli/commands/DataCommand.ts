// `data`: where the embedded database keeps its files, and their removal.
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import type { DataFiles } from "../../sql/embedded/DataFiles.ts"
import * as DatabaseSettings from "../kit/DatabaseSettings.ts"
import * as Maintenance from "../kit/Maintenance.ts"
import * as ServeFlags from "../kit/ServeFlags.ts"
import * as Table from "../kit/Table.ts"
import * as Verb from "../kit/Verb.ts"

const megabytes = (bytes: number) => `${(bytes / 1_000_000).toFixed(1)} MB`

const rows = ({ dataDir, database, isElsewhere, pid, bytes, others }: DataFiles) => [
  ["data directory", dataDir],
  ["database", database ?? "none"],
  ...(database === undefined
    ? []
    : [
        ["size", megabytes(bytes)],
        [
          "place",
          isElsewhere ? "outside the data directory, because root started the service" : "in the data directory"
        ],
        ["server", pid === undefined ? "not running" : `running, process ${pid}`]
      ]),
  ["other files", others.length === 0 ? "none" : others.join(", ")]
]

const locate = Effect.fnUntraced(function* (given: ServeFlags.ServeFlagValues) {
  const settings = yield* DatabaseSettings.withoutKeys(given)
  const DataFiles = yield* Effect.promise(() => import("../../sql/embedded/DataFiles.ts"))
  return { DataFiles, found: yield* DataFiles.find(settings.DATA_DIR) }
})

const remove = Command.make(
  "remove",
  {
    database: ServeFlags.databaseFlags,
    yes: Flag.Boolean("yes").pipe(
      Flag.withDefault(false),
      Flag.withDescription("Remove the files; without it, the command only says what it would remove")
    )
  },
  Effect.fnUntraced(function* ({ database, yes }) {
    const { DataFiles, found } = yield* locate(database)
    if (found.database === undefined) return yield* Maintenance.refused(`there is no database in ${found.dataDir}`)
    if (!yes) {
      return yield* Maintenance.refused(
        `this would remove the database in ${found.database} for good: add --yes to do it`
      )
    }
    yield* DataFiles.remove(found)
    yield* Console.log(`removed the database in ${found.database}; the keys in ${found.dataDir} are still there`)
  }, Maintenance.report)
).pipe(
  Verb.about(
    "Remove the files of the embedded database, also those outside DATA_DIR. The service must be stopped. Keys stay, because backups need them.",
    "data remove --yes"
  )
)

export const DataCommand = Command.make(
  "data",
  ServeFlags.databaseFlags,
  Effect.fnUntraced(function* (given) {
    const { found } = yield* locate(given)
    yield* Console.log(Table.lines(rows(found)).join("\n"))
  }, Maintenance.report)
).pipe(
  Verb.about("Show where the embedded database keeps its files.", "data", "data --data-dir /var/lib/relayer"),
  Command.withSubcommands([remove])
)
