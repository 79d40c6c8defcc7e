// The pauses between two tries of something that has failed.
import { Effect } from "effect"

const second = 1_000

/** Longest pause, in milliseconds. */
const longest = 15 * second

/** Milliseconds before the next try: 1, 2, 4, 8 and then 15 seconds. */
export const pauseAfter = (failures: number): number => Math.min(second * 2 ** failures, longest)

/** Ends early when the browser is online again, or when the tab is looked at again. */
export const pause = (ms: number): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const done = () => resume(Effect.void)
    const timer = setTimeout(done, ms)
    addEventListener("online", done)
    document.addEventListener("visibilitychange", done)
    return Effect.sync(() => {
      clearTimeout(timer)
      removeEventListener("online", done)
      document.removeEventListener("visibilitychange", done)
    })
  })
