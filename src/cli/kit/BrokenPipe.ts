// Ends a command whose output is no longer read, such as `… | head`. That is not a failure.
import { Effect } from "effect"

/** Completes when the reader is gone. The listener stays after an interruption, because the last write may fail later. */
export const isGone = Effect.callback<void>((resume) => {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    resume(error.code === "EPIPE" ? Effect.void : Effect.die(error))
  })
})
