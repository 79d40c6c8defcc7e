// The failure of a start that cannot use the database.
import { Cause, Schema } from "effect"

/** What failed, for programs that react to it, such as a process that names its settings. */
const Reason = Schema.Literals([
  "AuthenticationFailed",
  "BinariesMissing",
  "BinariesUnusable",
  "DataVersionMismatch",
  "DirectoryInUse",
  "MigrationFailed",
  "OlderInstances",
  "SchemaTooNew",
  "SchemaTooOld",
  "ServerTooOld",
  "SessionsShared",
  "SystemFailure",
  "UrlInvalid"
])
type Reason = typeof Reason.Type

export class DatabaseError extends Schema.TaggedError<DatabaseError>()("DatabaseError", {
  reason: Reason,
  /** One line that says what happened. It contains no secret and names no setting. */
  message: Schema.NonEmptyString,
  cause: Schema.optionalKey(Schema.Defect())
}) {
  static of(reason: Reason, message: string, cause?: unknown): DatabaseError {
    return new DatabaseError({ reason, message, ...(cause === undefined ? {} : { cause }) })
  }

  /** For `Effect.mapError`: adds the first line of what the operating system, or a program, reports. */
  static system(message: string): (error: unknown) => DatabaseError {
    return (error) => {
      const cause = Cause.isUnknownError(error) ? error.cause : error
      const text = cause instanceof Error ? cause.message : String(cause)
      return DatabaseError.of("SystemFailure", `${message}: ${text.split("\n")[0]}`, cause)
    }
  }
}
