// A migration with its mark: whether instances of earlier versions may go on beside it. Each file of a migration declares its mark.
import type { Effect } from "effect"
import type { SqlClient } from "effect/sql"

type Run = Effect.Effect<unknown, unknown, SqlClient.SqlClient>

export interface Migration {
  readonly isCompatible: boolean
  readonly run: Run
}

/**
 * `compatible`: it only adds. Nothing that earlier versions read or write goes, changes its meaning, or gets a condition that their
 * rows do not meet, so that instances of both versions work side by side.
 *
 * `incompatible`: it is refused while an instance of an earlier version is connected, and such an instance stops if it sees it.
 */
export const make = (mark: "compatible" | "incompatible", run: Run): Migration => ({
  isCompatible: mark === "compatible",
  run
})
