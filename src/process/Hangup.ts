// A terminal that hangs up asks to stop, as SIGTERM does: by itself, Node would end at once, and leave PostgreSQL behind.
// Under `nohup`, too, as Node undoes what that ignores.
import { Effect } from "effect"

export const stopAtHangup = Effect.acquireRelease(
  Effect.sync(() => {
    const stop = () => void process.emit("SIGTERM")
    process.on("SIGHUP", stop)
    return stop
  }),
  (stop) => Effect.sync(() => process.off("SIGHUP", stop))
)
