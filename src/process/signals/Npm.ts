// Stops the service with `npm start`. npm ends on a signal, but the shell between npm and this process does not pass the signal on.
// This process sees that its parent is gone, and sends the signal to itself.
import { Effect, Schedule } from "effect"

export const stopWithParent = Effect.suspend(() => {
  const parent = process.ppid
  return Effect.sync(() => process.ppid !== parent).pipe(
    Effect.repeat({ schedule: Schedule.spaced("200 millis"), until: (gone) => gone }),
    Effect.andThen(Effect.sync(() => process.kill(process.pid, "SIGTERM")))
  )
})
