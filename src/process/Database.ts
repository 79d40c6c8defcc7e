// Which database the settings name.
import type * as Settings from "./Settings.ts"
import type * as Sql from "../sql/Sql.ts"

/** Of a worker: a pool of 10, listening, and a check of the schema while another one starts. */
const perWorker = 13

/** The lock on the data directory, a migration, and those that a superuser keeps. */
const beside = 4

/** Milliseconds of one statement: a management API has none that is so slow, but there may be locks. */
const longestStatement = 10_000

/** So that a request whose statement finds nobody is answered within its time. */
export const pool = (settings: Settings.Settings): Sql.PoolOptions => ({
  statementTimeout: Math.min(longestStatement, Math.ceil(settings.REQUEST_TIMEOUT_MS / 2))
})

export const options = (settings: Settings.Settings): Sql.Options =>
  settings.DATABASE_URL === undefined
    ? {
        _tag: "Embedded",
        dataDir: settings.DATA_DIR,
        bin: settings.POSTGRES_BIN,
        maxConnections: Math.max(40, perWorker * settings.WORKERS + beside),
        pool: pool(settings)
      }
    : { _tag: "Url", url: settings.DATABASE_URL, pool: pool(settings) }
