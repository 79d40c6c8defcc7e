// The commands that open the database themselves: `backup`, `restore`, `migrate`, `data` and `repair`.
import { Console, Effect, Layer, Logger, Option, Redacted } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as path from "node:path"
import { CurrentCaller } from "../../domain/access/Caller.ts"
import type { AuditHead } from "../../domain/audit/Audit.ts"
import * as AuditHeadFile from "../../process/AuditHeadFile.ts"
import * as StartFailed from "../../process/StartFailed.ts"
import * as Keys from "../../process/settings/Keys.ts"
import * as Settings from "../../process/settings/Settings.ts"
import type { FoundRow, FoundRows, RepairDecision } from "../../server/masterKey/RowRepair.ts"
import type { DataFiles } from "../../sql/embedded/DataFiles.ts"
import type { LeftFiles } from "../../sql/embedded/LeftFiles.ts"
import { databaseFlags } from "../kit/Environment.ts"
import type { ServeFlagValues } from "../kit/Environment.ts"
import * as Maintenance from "../kit/Maintenance.ts"
import { settingsWithKeys, settingsWithoutKeys } from "../kit/Maintenance.ts"
import { fieldRows, printable, tableLines } from "../kit/Terminal.ts"
import * as Verb from "../kit/Verb.ts"

const file = Argument.Path("file", { pathType: "either" }).pipe(Argument.withDescription("The file to write"))

interface BackupFlags {
  readonly file: string
  readonly database: ServeFlagValues
}

const backup = Effect.fnUntraced(function* ({ file, database }: BackupFlags) {
  const settings = yield* settingsWithoutKeys(database)
  yield* Maintenance.checkExists(settings)
  const Sql = yield* Effect.promise(() => import("../../sql/Sql.ts"))
  const Backup = yield* Effect.promise(() => import("../../sql/backup/Backup.ts"))
  const { header, rows } = yield* Backup.create(file, Maintenance.progress).pipe(
    Effect.flatMap(Backup.take),
    Effect.scoped,
    Effect.provide(Sql.maintenance(Settings.databaseOptions(settings))),
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

export const BackupCommand = Command.make("backup", { file, database: databaseFlags }, backup).pipe(
  Verb.about(
    "Write the database of DATABASE_URL, or the embedded one, into one file. The service may run meanwhile. The file contains no master key.",
    "backup relayer-2026-11-22.backup",
    "backup --data-dir /var/lib/relayer /mnt/backups/relayer.backup"
  )
)

// `restore`: replaces the whole database by the content of a backup.

/** Ids of the master keys that a start with these settings would have. */
const knownKeyIds = (settings: Settings.Settings) => {
  const current = settings.STORAGE_ENCRYPTION_KEY
  return current === undefined
    ? Keys.storedMasterKeyIds(settings.DATA_DIR)
    : Effect.succeed(
        [current, ...Settings.decryptionKeys(settings)].map((key) => Keys.masterKeyId(Redacted.value(key)))
      )
}

/** Without its key, a restored database could not be started, and its signers could not sign. */
const checkKeys = Effect.fnUntraced(function* (settings: Settings.Settings, needed: ReadonlyArray<string>) {
  const known = yield* Maintenance.report(knownKeyIds(settings))
  const missing = needed.filter((id) => !known.includes(id))
  if (missing.length === 0) return
  const place =
    settings.STORAGE_ENCRYPTION_KEY === undefined
      ? `copy its storage-encryption-key files into ${settings.DATA_DIR} first`
      : "set it as STORAGE_ENCRYPTION_KEY, or add it to STORAGE_DECRYPTION_KEYS"
  return yield* Maintenance.refused(`the backup needs the master key ${missing.join(" and ")}: ${place}`)
})

interface RestoreFlags {
  readonly file: string
  readonly replace: boolean
  readonly database: ServeFlagValues
}

const restore = Effect.fnUntraced(function* ({ file, replace, database }: RestoreFlags) {
  const settings = yield* settingsWithKeys(database)
  const Sql = yield* Effect.promise(() => import("../../sql/Sql.ts"))
  const Restore = yield* Effect.promise(() => import("../../sql/backup/Restore.ts"))
  const Backup = yield* Effect.promise(() => import("../../sql/backup/Backup.ts"))

  const lines = Backup.lines(file)
  const { header, rows } = yield* Maintenance.report(Restore.validate(lines))
  yield* checkKeys(settings, header.key_ids)
  yield* Effect.gen(function* () {
    if (!replace && !(yield* Restore.isEmpty)) {
      return yield* Maintenance.refused("the database is not empty: add --replace to delete everything in it")
    }
    yield* Restore.restore({ header, lines, progress: Maintenance.progress })
    if (settings.DATABASE_URL === undefined) yield* AuditHeadFile.remove(settings.DATA_DIR)
    yield* Maintenance.progressEnd
  }).pipe(Effect.provide(Sql.maintenance(Settings.databaseOptions(settings))), Maintenance.report)
  const total = Object.values(rows).reduce((sum, count) => sum + count, 0)
  yield* Console.log(`restored ${total} rows as of ${header.created_at}`)
})

export const RestoreCommand = Command.make(
  "restore",
  {
    file: Argument.Path("file", { pathType: "file", mustExist: true }).pipe(
      Argument.withDescription("The file that backup wrote")
    ),
    replace: Flag.Boolean("replace").pipe(
      Flag.withDefault(false),
      Flag.withDescription("Delete everything that the database contains now")
    ),
    database: databaseFlags
  },
  restore
).pipe(
  Verb.about(
    "Replace the database of DATABASE_URL, or the embedded one, by a backup. Every instance must be stopped. The whole file is checked first; if anything fails, the database stays as it was.",
    "restore relayer-2026-11-22.backup",
    "restore --data-dir /var/lib/relayer --replace /mnt/backups/relayer.backup"
  )
)

// `migrate`: brings the schema of the database up to date and ends.

const migrate = Effect.fnUntraced(function* (given: ServeFlagValues) {
  const options = Settings.databaseOptions(yield* settingsWithoutKeys(given))
  const Sql = yield* Effect.promise(() => import("../../sql/Sql.ts"))
  const { applied } = yield* Sql.open(options).pipe(
    Effect.mapError(StartFailed.fromDatabase),
    Effect.scoped,
    Effect.provide(Logger.layer([]))
  )
  for (const name of applied) yield* Console.log(`applied ${name}`)
  yield* Console.log("the database is up to date")
})

export const MigrateCommand = Command.make("migrate", databaseFlags, migrate).pipe(
  Verb.about(
    "Bring the schema of DATABASE_URL, or of the embedded database, up to date.",
    "migrate",
    "migrate --data-dir /var/lib/relayer"
  )
)

// `data`: where the embedded database keeps its files, and their removal.

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

const locate = Effect.fnUntraced(function* (given: ServeFlagValues) {
  const settings = yield* settingsWithoutKeys(given)
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
    database: databaseFlags,
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
  databaseFlags,
  Effect.fnUntraced(function* (given) {
    const { found } = yield* locate(given)
    const LeftFiles = yield* Effect.promise(() => import("../../sql/embedded/LeftFiles.ts"))
    yield* Console.log(tableLines([...rows(found), ...leftRows(yield* LeftFiles.find)]).join("\n"))
  }, Maintenance.report)
).pipe(
  Verb.about(
    "Show where the embedded database keeps its files, and which files removed data directories have left behind.",
    "data",
    "data --data-dir /var/lib/relayer"
  ),
  Command.withSubcommands([remove])
)

// `repair`: lists the rows of the database that cannot be verified, with the evidence, and accepts those that the operator names.

/** The caller in the audit log. No API key can have this id, because it has a blank. */
const caller = { id: "effect-relayer repair" }

/** One for the transaction, and some for what the service reads beside it. */
const connections = 4

const explanation = `The MAC of each of these rows is not that of its columns under the secret that the database has now. There are two causes: another program or
a person changed the row, or a defect of an earlier version lost the secret that the MAC was made with. The MAC alone cannot tell them apart.

  proves       cannot be made without the master key: the columns are as the service wrote them under this id, now or earlier
  fits         speaks for the row, but a program that can write the database can write this as well
  differs      speaks against the row, or needs the judgement of a person
  contradicts  the row is not as the service wrote it, and repair does not accept it
  open         says nothing

Compare each row with what you know, and the head of the audit log with one that you kept elsewhere. Restore a row that somebody changed from
a backup. Do not delete a signer: its key may exist nowhere else.`

const rowsOf = ({ content, evidence, fingerprint, id, table }: FoundRow) => [
  ...fieldRows(content),
  ...evidence.map(({ about, verdict, text }) => [about, `${verdict}: ${text}`]),
  [
    "to accept",
    fingerprint === undefined
      ? "not possible: the evidence contradicts the row"
      : `effect-relayer repair --accept ${table}/${id}=${fingerprint}`
  ]
]

const block = (row: FoundRow) =>
  [printable(`${row.table}/${row.id}`), ...tableLines(rowsOf(row)).map((line) => `  ${line}`)].join("\n")

interface Log {
  readonly valid: boolean
  readonly checked: number
  readonly head?: AuditHead
  readonly broken_at?: number
}

const logLine = ({ valid, checked, head, broken_at }: Log) =>
  valid
    ? `The audit log has ${checked} records that fit together${head === undefined ? "" : `; its head is ${head.position}:${head.hash}`}.`
    : `The audit log is broken${broken_at === undefined ? "" : ` at record ${broken_at}`}: what it says below proves nothing.`

const text = ({ total, unreadable }: FoundRows, log: Log) =>
  [
    `${unreadable.length} of ${total} rows of signers, relayers and networks cannot be verified.`,
    explanation,
    logLine(log),
    ...unreadable.map(block)
  ].join("\n\n")

const toDecision = (given: string) => {
  const parts = /^([^/]+)\/(.+)=([0-9a-f]+)$/.exec(given)
  const [, table = "", id = "", fingerprint = ""] = parts ?? []
  const decision: RepairDecision = { table, id, fingerprint }
  return parts === null
    ? Effect.fail(
        Maintenance.refused(
          `--accept ${given}: must be TABLE/ID=FINGERPRINT, as repair prints it without --accept; each row is accepted alone`
        )
      )
    : Effect.succeed(decision)
}

interface RepairFlags {
  readonly accept: ReadonlyArray<string>
  readonly database: ServeFlagValues
}

const repair = Effect.fnUntraced(function* ({ accept, database }: RepairFlags) {
  const decisions = yield* Effect.forEach(accept, toDecision)
  const settings = yield* settingsWithKeys(database)
  yield* Maintenance.checkExists(settings)
  const Sql = yield* Effect.promise(() => import("../../sql/Sql.ts"))
  const Services = yield* Effect.promise(() => import("../../server/Services.ts"))
  const Lifecycle = yield* Effect.promise(() => import("../../server/lifecycle/Lifecycle.ts"))
  const RowRepair = yield* Effect.promise(() => import("../../server/masterKey/RowRepair.ts"))
  const { Audit } = yield* Effect.promise(() => import("../../server/audit/Audit.ts"))
  const { keptMasterKeys } = yield* Effect.promise(() => import("../../process/settings/StartKeys.ts"))
  const keys = yield* Maintenance.report(keptMasterKeys(settings))

  const { missingSchema } = yield* Effect.promise(() => import("../../sql/Migrate.ts"))

  const verified = Effect.gen(function* () {
    const { verify } = yield* Audit
    let part = yield* verify()
    let { checked } = part
    while (part.next !== undefined && part.head !== undefined) {
      part = yield* verify({ from: part.head })
      checked += part.checked
    }
    return { ...part, checked }
  })

  const work = Effect.gen(function* () {
    const rows = yield* RowRepair.make
    if (decisions.length > 0) {
      yield* rows.accept(decisions)
      for (const { table, id } of decisions) yield* Console.log(printable(`accepted ${table}/${id}`))
    }
    const found = yield* rows.list
    if (found.unreadable.length === 0) {
      return yield* Console.log(`All ${found.total} rows of signers, relayers and networks can be verified.`)
    }
    if (decisions.length > 0) {
      return yield* Console.log(
        `${found.unreadable.length} rows cannot be verified; repair without --accept lists them.`
      )
    }
    yield* Console.log(text(found, yield* verified))
  }).pipe(
    Effect.provideService(CurrentCaller, caller),
    Effect.provide(
      Audit.layer.pipe(
        Layer.provideMerge(
          Services.layerSecrets({
            masterKey: Settings.masterKeyBytes(keys.current),
            decryptionKeys: keys.others.map(Settings.masterKeyBytes)
          })
        ),
        Layer.provideMerge(Lifecycle.layer)
      )
    )
  )
  yield* Effect.gen(function* () {
    const missing = yield* missingSchema
    if (missing !== undefined) return yield* Maintenance.refused(missing)
    yield* work
  }).pipe(
    Effect.provide(Sql.maintenance(Settings.databaseOptions(settings), connections)),
    Effect.catchTags({
      DatabaseError: (error) => Effect.fail(StartFailed.fromDatabase(error)),
      WrongMasterKey: (error) => Effect.fail(StartFailed.fromMasterKey(error))
    }),
    Maintenance.report
  )
})

export const RepairCommand = Command.make(
  "repair",
  {
    accept: Flag.String("accept").pipe(
      Flag.atLeast(0),
      Flag.withMetavar("<table/id=fingerprint>"),
      Flag.withDescription(
        "Accept this row as it was listed: it gets a new MAC, and the audit log a record. Repeat it for each row; there is no way to accept all"
      )
    ),
    database: databaseFlags
  },
  repair
).pipe(
  Verb.about(
    "List the rows of signers, relayers and networks that cannot be verified, and what shows whether somebody changed them. Without --accept it changes no row. It uses the database of DATABASE_URL, or the embedded one, also while the service runs.",
    "repair",
    "repair --accept signers/hot-1=9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
  )
)
