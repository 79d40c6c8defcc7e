// Leaves a library alone after it has blocked the service: opening a session and logging in run on the main thread.
import { ofError, unavailable } from "./Pkcs11Failures.ts"

/** Milliseconds. A library that fails after this time waits for a device that does not answer. */
const longestWait = 500

/** Milliseconds in which the library is not called after that. */
const pause = 60_000

export interface Pkcs11Pause {
  /** Runs a call of the library that blocks the service. Fails at once during a pause. */
  run<A>(call: () => A): A
}

/** `now`: the monotonic time in milliseconds. */
export const make = (now: () => number = () => performance.now()): Pkcs11Pause => {
  let until = 0
  return {
    run: (call) => {
      const began = now()
      if (began < until) {
        throw unavailable("unreachable", {
          detail: "the library has blocked the service, and is left alone for a minute"
        })
      }
      try {
        return call()
      } catch (error) {
        const { reason } = ofError(error)
        const isAway = reason === "unreachable" || reason === "unexpected"
        if (isAway && now() - began > longestWait) until = now() + pause
        throw error
      }
    }
  }
}
