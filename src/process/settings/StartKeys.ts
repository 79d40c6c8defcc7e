// The keys of a start: those that the operator set, or else those that are kept in the data directory.
import { Effect, Option } from "effect"
import * as MasterKeyRepo from "../../server/masterKey/MasterKeyRepo.ts"
import * as Sql from "../../sql/Sql.ts"
import * as StartFailed from "../StartFailed.ts"
import * as Keys from "./Keys.ts"
import type { Settings } from "./Settings.ts"

/** Reads the kept API key, or creates it. */
export const startApiKey = Effect.fnUntraced(function* ({ API_KEY, DATA_DIR }: Settings) {
  const given = API_KEY === undefined ? yield* Keys.apiKey(DATA_DIR) : { key: API_KEY }
  /** `keptApiKey` is absent if the operator set the API key. */
  return { apiKey: given.key, keptApiKey: "file" in given ? given : undefined }
})

/** Ids of the master keys that the secrets in the database need. */
const neededKeyIds = (database: Sql.Database) =>
  Effect.flatMap(MasterKeyRepo.make, ({ all }) => all).pipe(
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

export const startMasterKey = Effect.fnUntraced(function* (settings: Settings, database: Sql.Database) {
  const { DATA_DIR, STORAGE_ENCRYPTION_KEY } = settings
  if (STORAGE_ENCRYPTION_KEY !== undefined) {
    return { masterKey: STORAGE_ENCRYPTION_KEY, earlierMasterKeys: [], masterKeyStore: Option.none() }
  }
  const kept = yield* keptMasterKey(DATA_DIR, database)
  return { masterKey: kept.key, earlierMasterKeys: kept.earlier, masterKeyStore: Option.some(Keys.store(kept)) }
})
