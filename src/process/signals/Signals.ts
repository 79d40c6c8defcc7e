// Signals that would not stop the service properly by themselves.
import { Effect, Schedule } from "effect"

/**
 * Handles SIGHUP, which a closing terminal sends, like SIGTERM. Without a handler, Node would end at once and leave PostgreSQL
 * running. This also applies under `nohup`, because Node resets signals that its parent ignores.
 */
export const stopOnSighup = (): void => {
  process.on("SIGHUP", () => void process.emit("SIGTERM"))
}

/**
 * Stops the service with `npm start`. npm ends on a signal, but the shell between npm and this process does not pass the signal
 * on. This process sees that its parent is gone, and sends the signal to itself.
 */
export const stopWithParent = Effect.suspend(() => {
  const parent = process.ppid
  return Effect.sync(() => process.ppid !== parent).pipe(
    Effect.repeat({ schedule: Schedule.spaced("200 millis"), until: (gone) => gone }),
    Effect.andThen(Effect.sync(() => process.kill(process.pid, "SIGTERM")))
  )
})
