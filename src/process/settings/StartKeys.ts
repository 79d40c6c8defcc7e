// The keys of a start: those that the operator set, or else those that are kept in the data directory.
import { Effect, Option } from "effect"
import * as Keys from "./Keys.ts"
import type { Settings } from "./Settings.ts"

export const startKeys = Effect.fnUntraced(function* (settings: Settings) {
  const { API_KEY, DATA_DIR, STORAGE_ENCRYPTION_KEY } = settings
  const given = API_KEY === undefined ? yield* Keys.apiKey(DATA_DIR) : { key: API_KEY }
  const master =
    STORAGE_ENCRYPTION_KEY === undefined
      ? yield* Keys.storageEncryptionKey(DATA_DIR)
      : { key: STORAGE_ENCRYPTION_KEY, earlier: [] }
  return {
    apiKey: given.key,
    /** Absent: the operator set the API key. */
    keptApiKey: "file" in given ? given : undefined,
    masterKey: master.key,
    earlierMasterKeys: master.earlier,
    masterKeyStore: "file" in master ? Option.some(Keys.store(master)) : Option.none()
  }
})
