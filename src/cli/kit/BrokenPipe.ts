// Whoever reads what a command prints: `… | head` stops reading before all is written, which is no failure.
import { Effect } from "effect"

/** Ends when nobody reads any more. Listens on, also when it is interrupted: what was written last fails later. */
export const isGone = Effect.callback<void>((resume) => {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    resume(error.code === "EPIPE" ? Effect.void : Effect.die(error))
  })
})
