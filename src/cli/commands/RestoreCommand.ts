// `restore`: replaces the whole database by the content of a backup.
import { Console, Effect, Redacted } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as AuditHeadFile from "../../process/AuditHeadFile.ts"
import * as Keys from "../../process/settings/Keys.ts"
import * as StartFailed from "../../process/StartFailed.ts"
import * as Settings from "../../process/settings/Settings.ts"
import * as DatabaseSettings from "../kit/DatabaseSettings.ts"
import * as Maintenance from "../kit/Maintenance.ts"
import * as ServeFlags from "../kit/ServeFlags.ts"
import * as Verb from "../kit/Verb.ts"

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
  readonly database: ServeFlags.ServeFlagValues
}

const restore = Effect.fnUntraced(function* ({ file, replace, database }: RestoreFlags) {
  const settings = yield* DatabaseSettings.withKeys(database)
  const Sql = yield* Effect.promise(() => import("../../sql/Sql.ts"))
  const Backup = yield* Effect.promise(() => import("../../sql/backup/Restore.ts"))
  const BackupFile = yield* Effect.promise(() => import("../../sql/backup/BackupFile.ts"))
  const { validate } = yield* Effect.promise(() => import("../../sql/backup/Validation.ts"))

  const lines = BackupFile.lines(file)
  const { header, rows } = yield* Maintenance.report(validate(lines))
  yield* checkKeys(settings, header.key_ids)
  yield* Effect.gen(function* () {
    if (!replace && !(yield* Backup.isEmpty)) {
      return yield* Maintenance.refused("the database is not empty: add --replace to delete everything in it")
    }
    yield* Backup.restore({ header, lines, progress: Maintenance.progress })
    if (settings.DATABASE_URL === undefined) yield* AuditHeadFile.remove(settings.DATA_DIR)
    yield* Maintenance.progressEnd
  }).pipe(
    Effect.provide(Sql.maintenance(Settings.databaseOptions(settings))),
    Effect.catchTag("DatabaseError", (error) => Effect.fail(StartFailed.fromDatabase(error))),
    Maintenance.report
  )
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
    database: ServeFlags.databaseFlags
  },
  restore
).pipe(
  Verb.about(
    "Replace the database of DATABASE_URL, or the embedded one, by a backup. Every instance must be stopped. The whole file is checked first; if anything fails, the database stays as it was.",
    "restore relayer-2026-11-22.backup",
    "restore --data-dir /var/lib/relayer --replace /mnt/backups/relayer.backup"
  )
)
