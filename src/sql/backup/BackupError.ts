// Why a backup was not made, or not restored.
import { Schema } from "effect"

export class BackupError extends Schema.TaggedError<BackupError>()("BackupError", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}
