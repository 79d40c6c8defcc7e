// The keys of a start: those that the operator set, or else those that are kept in the data directory.
import { Effect, Layer, Option, Redacted } from "effect"
import * as Services from "../../server/Services.ts"
import { makeMasterKeyRepo } from "../../server/masterKey/MasterKeys.ts"
import { ServiceSecrets } from "../../server/secrets/Secrets.ts"
import * as Sql from "../../sql/Sql.ts"
import * as StartFailed from "../StartFailed.ts"
import * as Keys from "./Keys.ts"
import * as Settings from "./Settings.ts"

/** Reads the kept API key, or creates it. */
export const startApiKey = Effect.fnUntraced(function* ({ API_KEY, DATA_DIR }: Settings.Settings) {
  const given = API_KEY === undefined ? yield* Keys.apiKey(DATA_DIR) : { key: API_KEY }
  /** `keptApiKey` is absent if the operator set the API key. */
  return { apiKey: given.key, keptApiKey: "file" in given ? given : undefined }
})

/** The name of the administrator's key among the secrets of the service. */
const administratorKey = "administrator_key"

/**
 * Instances of one database that keep their own API key use the one that the first of them has stored, sealed. Otherwise a
 * balancer in front of them would lead to random 401s. The file gets that key.
 */
export const shareApiKey = Effect.fnUntraced(function* (
  kept: Keys.Kept,
  { masterKey, earlierMasterKeys }: Effect.Success<ReturnType<typeof startMasterKey>>,
  settings: Settings.Settings,
  database: Sql.Database
) {
  const known = [...earlierMasterKeys, ...Settings.decryptionKeys(settings)]
  const services = Services.layerSecrets({
    masterKey: Settings.masterKeyBytes(masterKey),
    decryptionKeys: known.map(Settings.masterKeyBytes)
  })
  const key = yield* Effect.flatMap(ServiceSecrets, ({ share }) => share(administratorKey, kept.key)).pipe(
    Effect.provide(
      Layer.provide(ServiceSecrets.layer, services).pipe(
        Layer.provideMerge(Sql.layerOpen(database, { maxConnections: 2 }))
      )
    )
  )
  if (Redacted.value(key) === Redacted.value(kept.key)) return kept
  yield* Keys.replaceApiKey(kept, key)
  yield* Effect.annotateLogs(Effect.logInfo("the API key of the other instances of the database is kept"), {
    file: kept.file
  })
  return { ...kept, key, made: false }
})

/** Ids of the master keys that the secrets in the database need. */
const neededKeyIds = (database: Sql.Database) =>
  Effect.flatMap(makeMasterKeyRepo, ({ all }) => all).pipe(
    Effect.map((marks) => marks.map(({ key_id }) => key_id)),
    Effect.provide(Sql.layerOpen(database, { maxConnections: 1 }))
  )

/** Creates a key only for a database without secrets: a new key beside secrets of another one would be taken for theirs. */
const keptMasterKey = Effect.fnUntraced(function* (dataDir: string, database: Sql.Database) {
  const { file, exists } = yield* Keys.storageEncryptionKeyFile(dataDir)
  const needed = exists ? [] : yield* neededKeyIds(database)
  return yield* needed.length === 0
    ? Keys.storageEncryptionKey(dataDir)
    : Effect.fail(StartFailed.withoutKeyFile(file, needed))
})

/** The master keys of a command that opens the database itself. It creates none. */
export const keptMasterKeys = Effect.fnUntraced(function* (settings: Settings.Settings) {
  const { DATA_DIR, STORAGE_ENCRYPTION_KEY } = settings
  const known = Settings.decryptionKeys(settings)
  if (STORAGE_ENCRYPTION_KEY !== undefined) return { current: STORAGE_ENCRYPTION_KEY, others: known }
  const { file, exists } = yield* Keys.storageEncryptionKeyFile(DATA_DIR)
  if (!exists) return yield* StartFailed.withoutAnyKeyFile(file)
  const { key, earlier } = yield* Keys.storageEncryptionKey(DATA_DIR)
  return { current: key, others: [...earlier, ...known] }
})

export const startMasterKey = Effect.fnUntraced(function* (settings: Settings.Settings, database: Sql.Database) {
  const { DATA_DIR, STORAGE_ENCRYPTION_KEY } = settings
  if (STORAGE_ENCRYPTION_KEY !== undefined) {
    return { masterKey: STORAGE_ENCRYPTION_KEY, earlierMasterKeys: [], masterKeyStore: Option.none() }
  }
  const kept = yield* keptMasterKey(DATA_DIR, database)
  return { masterKey: kept.key, earlierMasterKeys: kept.earlier, masterKeyStore: Option.some(Keys.store(kept)) }
})
