// `data`: where the embedded database keeps its files, and their removal.
import { Console, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import * as path from "node:path"
import type { DataFiles } from "../../sql/embedded/DataFiles.ts"
import type { LeftFiles } from "../../sql/embedded/LeftFiles.ts"
import * as DatabaseSettings from "../kit/DatabaseSettings.ts"
import * as Maintenance from "../kit/Maintenance.ts"
import * as ServeFlags from "../kit/ServeFlags.ts"
import * as Table from "../kit/Table.ts"
import * as Verb from "../kit/Verb.ts"

const megabytes = (bytes: number) => `${(bytes / 1_000_000).toFixed(1)} MB`

/** Files that no data directory leads to, with the command that removes them. */
const leftRows = (left: ReadonlyArray<LeftFiles>) =>
  left.flatMap(({ database, link }) => [
    ["left behind", `${database}, ${link === undefined ? "of an unknown data directory" : `which ${link} led to`}`],
    ["", `effect-relayer data remove --left ${path.dirname(database)} --yes`]
  ])

const rows = ({ dataDir, database, isElsewhere, pid, bytes, others }: DataFiles) => [
  ["data directory", dataDir],
  ["database", database ?? "none"],
  ...(database === undefined
    ? []
    : [
        ["size", megabytes(bytes)],
        [
          "place",
          isElsewhere
            ? "outside the data directory, because the user of PostgreSQL cannot enter the folders above it"
            : "in the data directory"
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

const unconfirmed = (database: string) =>
  Maintenance.refused(`this would remove the database in ${database} for good: add --yes to do it`)

const removeLeft = Effect.fnUntraced(function* (folder: string, yes: boolean) {
  const LeftFiles = yield* Effect.promise(() => import("../../sql/embedded/LeftFiles.ts"))
  const given = path.resolve(folder)
  const found = (yield* LeftFiles.find).find(({ database }) => given === path.dirname(database) || given === database)
  if (found === undefined) {
    return yield* Maintenance.refused(`no removed data directory has left a database in ${given}; data lists them`)
  }
  if (!yes) return yield* unconfirmed(found.database)
  yield* Effect.promise(() => LeftFiles.remove(found))
  yield* Console.log(`removed the database in ${found.database}`)
})

const remove = Command.make(
  "remove",
  {
    database: ServeFlags.databaseFlags,
    left: Flag.optional(Flag.String("left")).pipe(
      Flag.withMetavar("<folder>"),
      Flag.withDescription(
        "Remove the files in this folder, which a removed data directory has left behind; `data` lists them"
      )
    ),
    yes: Flag.Boolean("yes").pipe(
      Flag.withDefault(false),
      Flag.withDescription("Remove the files; without it, the command only says what it would remove")
    )
  },
  Effect.fnUntraced(function* ({ database, left, yes }) {
    if (Option.isSome(left)) return yield* removeLeft(left.value, yes)
    const { DataFiles, found } = yield* locate(database)
    if (found.database === undefined) return yield* Maintenance.refused(`there is no database in ${found.dataDir}`)
    if (!yes) return yield* unconfirmed(found.database)
    yield* DataFiles.remove(found)
    yield* Console.log(`removed the database in ${found.database}; the keys in ${found.dataDir} are still there`)
  }, Maintenance.report)
).pipe(
  Verb.about(
    "Remove the files of the embedded database, also those outside DATA_DIR. The service must be stopped. Keys stay, because backups need them.",
    "data remove --yes",
    "data remove --left /var/lib/effect-relayer/data-Xb3f9k --yes"
  )
)

export const DataCommand = Command.make(
  "data",
  ServeFlags.databaseFlags,
  Effect.fnUntraced(function* (given) {
    const { found } = yield* locate(given)
    const LeftFiles = yield* Effect.promise(() => import("../../sql/embedded/LeftFiles.ts"))
    yield* Console.log(Table.lines([...rows(found), ...leftRows(yield* LeftFiles.find)]).join("\n"))
  }, Maintenance.report)
).pipe(
  Verb.about(
    "Show where the embedded database keeps its files, and which files removed data directories have left behind.",
    "data",
    "data --data-dir /var/lib/relayer"
  ),
  Command.withSubcommands([remove])
)
