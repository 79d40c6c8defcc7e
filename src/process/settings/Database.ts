// Turns the settings into the options of the database.
import type * as Settings from "./Settings.ts"
import type * as Sql from "../../sql/Sql.ts"

/** Milliseconds. No statement of the API is this slow, but it may wait for a lock. */
const longestStatement = 10_000

/** A statement ends in half of the request's time, so that the request gets a response in time. */
export const pool = (settings: Settings.Settings): Sql.PoolOptions => ({
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
