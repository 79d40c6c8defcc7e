// Words the failure of a start for the operator: what happened, and which setting to change.
import { Effect, Schema } from "effect"
import type { HttpServerError } from "effect/http"
import { SqlError } from "effect/sql"
import type { WrongMasterKey } from "../server/masterKey/MasterKeys.ts"
import type { DatabaseError } from "../sql/Connection.ts"
import { isUnavailable } from "../sql/Transaction.ts"
import type { Settings } from "./settings/Settings.ts"

/** The message is one line. */
export class StartFailed extends Schema.TaggedError<StartFailed>()("StartFailed", {
  message: Schema.String,
  cause: Schema.Defect()
}) {}

const ownBinaries =
  "set POSTGRES_BIN to the folder of initdb and postgres, or DATABASE_URL to the URL of a PostgreSQL server"

const remedies: Partial<Record<DatabaseError["reason"], string>> = {
  AuthenticationFailed: "correct them in DATABASE_URL",
  BinariesMissing: ownBinaries,
  BinariesUnusable: ownBinaries,
  DataVersionMismatch: "set POSTGRES_BIN to the binaries of the version that created the data",
  SessionsShared: "DATABASE_URL has to lead to a pooler in session mode, or to the server itself",
  DirectoryInUse: "stop it first, or choose another DATA_DIR"
}

export const fromDatabase = (cause: DatabaseError): StartFailed => {
  const remedy = remedies[cause.reason]
  return new StartFailed({ message: remedy === undefined ? cause.message : `${cause.message}: ${remedy}`, cause })
}

export const fromMasterKey = (cause: WrongMasterKey): StartFailed => {
  const ids = cause.unknown.join(", ")
  if (cause.isGiven) {
    const remedy = "start the version that used the database last, and run its rotate-key, or restore a backup"
    return new StartFailed({ message: `${cause.unopened}: ${remedy}`, cause })
  }
  const message = cause.isPartial
    ? `the database still contains secrets under another master key (key id ${ids}): add that key to STORAGE_DECRYPTION_KEYS, or run rotate-key with both keys first`
    : `the database was written with another master key (key id ${ids}): set STORAGE_ENCRYPTION_KEY to that key, or add it to STORAGE_DECRYPTION_KEYS`
  return new StartFailed({ message, cause })
}

export const withoutKeyFile = (file: string, ids: ReadonlyArray<string>): StartFailed => {
  const message = `${file} does not exist, and the database contains secrets under the master key ${ids.join(" and ")}: copy the file back from where you keep it, or set STORAGE_ENCRYPTION_KEY to that key`
  return new StartFailed({ message, cause: undefined })
}

export const withoutAnyKeyFile = (file: string): StartFailed => {
  const message = `${file} does not exist: copy the file back from where you keep it, or set STORAGE_ENCRYPTION_KEY to that key`
  return new StartFailed({ message, cause: undefined })
}

const serveMessage = ({ HOST, PORT }: Settings, cause: unknown): string => {
  const code = (cause as NodeJS.ErrnoException).code
  if (code === "EADDRINUSE") return `${HOST}:${PORT} is in use: choose another PORT`
  if (code === "EACCES") return `${HOST}:${PORT} requires more rights: choose a PORT above 1023`
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
    return `${HOST} is no address of this machine: choose another HOST`
  return `cannot listen on ${HOST}:${PORT}: ${String(cause)}`
}

const fromServer =
  (settings: Settings) =>
  (error: HttpServerError.ServeError): StartFailed =>
    new StartFailed({ message: serveMessage(settings, error.cause), cause: error })

/** A query failed because the database was unavailable or too busy. `reason.cause` is the error of the driver, whose message quotes the server. */
const fromUnavailable = (defect: SqlError.SqlError): StartFailed => {
  const { cause, message } = defect.reason
  const reason = cause instanceof Error ? cause.message : message
  const happened = `the database was unavailable or too busy: ${reason.replaceAll(/\s+/g, " ")}`
  return new StartFailed({ message: `${happened}: start again when it answers`, cause: defect })
}

/** For `Effect.catchDefect`: a database that fails during the start, as one line. */
export const onDefect = (defect: unknown) =>
  SqlError.isSqlError(defect) && isUnavailable(defect) ? Effect.fail(fromUnavailable(defect)) : Effect.die(defect)

/** For `Effect.catchTags`: every failure of a start as one line. */
export const handlers = (settings: Settings) => ({
  ServeError: (error: HttpServerError.ServeError) => Effect.fail(fromServer(settings)(error)),
  DatabaseError: (error: DatabaseError) => Effect.fail(fromDatabase(error)),
  WrongMasterKey: (error: WrongMasterKey) => Effect.fail(fromMasterKey(error))
})
