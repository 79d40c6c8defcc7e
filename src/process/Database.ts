// Which database the settings name.
import type * as Settings from "./Settings.ts"
import type * as Sql from "../sql/Sql.ts"

/** Milliseconds of one statement: a management API has none that is so slow, but there may be locks. */
const longestStatement = 10_000

/** So that a request whose statement finds nobody is answered within its time. */
const pool = (settings: Settings.Settings): Sql.PoolOptions => ({
  statementTimeout: Math.min(longestStatement, Math.ceil(settings.REQUEST_TIMEOUT_MS / 2))
})

export const options = (settings: Settings.Settings): Sql.Options =>
  settings.DATABASE_URL === undefined
    ? {
        _tag: "Embedded",
        dataDir: settings.DATA_DIR,
        bin: settings.POSTGRES_BIN,
        pool: pool(settings)
      }
    : { _tag: "Url", url: settings.DATABASE_URL, pool: pool(settings) }
