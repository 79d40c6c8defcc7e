// Named points of the driver between two effects on the outside. Tests make a process die there; a service does nothing.
import { Context, Effect } from "effect"

/**
 * - `signed`: signatures are in memory, nothing is committed.
 * - `committed`: nonce and bytes are committed, nothing is sent.
 * - `sent`: nodes have the bytes, their answers are not recorded.
 * - `seen`: a poll is done, and its consequences are not recorded yet.
 */
export type CrashPoint = "signed" | "committed" | "sent" | "seen"

export const CrashPoints = Context.Reference<(point: CrashPoint) => Effect.Effect<void>>(
  "effect-relayer/server/lanes/CrashPoints",
  { defaultValue: () => () => Effect.void }
)

export const reach = (point: CrashPoint): Effect.Effect<void> => Effect.flatMap(CrashPoints, (at) => at(point))
