import { Schema } from "effect"

/** The database cannot be used, for a reason that the operator has to mend. The message is one line and holds no secret. */
export class DatabaseError extends Schema.TaggedError<DatabaseError>()("DatabaseError", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}
