// Stopping with `npm start`. npm ends at a signal, and the shell between does not pass it on: this process only sees that
// its parent is gone, and then stops as it would have at the signal.
import { Effect, Schedule } from "effect"

export const stopWithParent = Effect.suspend(() => {
  const parent = process.ppid
  return Effect.sync(() => process.ppid !== parent).pipe(
    Effect.repeat({ schedule: Schedule.spaced("200 millis"), until: (gone) => gone }),
    Effect.andThen(Effect.sync(() => process.kill(process.pid, "SIGTERM")))
  )
})
