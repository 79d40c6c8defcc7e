// Which database the settings name.
import type * as Settings from "../process/Settings.ts"
import type * as Sql from "../sql/Sql.ts"

export const options = (settings: Settings.Settings): Sql.Options => {
  const pool = { statementTimeout: settings.REQUEST_TIMEOUT_MS }
  return settings.DATABASE_URL === undefined
    ? { _tag: "Embedded", dataDir: settings.DATA_DIR, bin: settings.POSTGRES_BIN, pool }
    : { _tag: "Url", url: settings.DATABASE_URL, pool }
}
