// The queue of keystores that are decrypted: each takes a second or two of a core and up to 256 MiB.
import { Effect } from "effect"
import * as Caller from "../../../../domain/access/Caller.ts"
import { ServiceUnavailable } from "../../../../domain/request/Request.ts"

/** Keystores in this instance: one that is decrypted, and three that wait. */
export const maxQueued = 4

/** Keystores of one caller among them, so that one caller cannot keep out the others. */
export const maxOfCaller = 2

export interface KeystoreQueue {
  /** Runs the work in the queue. Fails if the queue is full; the administrator and programs always wait. */
  run<A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E | ServiceUnavailable, R>
}

export const make = (): KeystoreQueue => {
  /** Ids of the callers. */
  const queued: Array<string> = []

  const isFull = (id: string) =>
    queued.length >= maxQueued || queued.filter((other) => other === id).length >= maxOfCaller

  const enter = (caller: Caller.Caller) =>
    Effect.suspend(() => {
      if (!Caller.isAdministrator(caller) && isFull(caller.id)) return Effect.fail(new ServiceUnavailable({}))
      queued.push(caller.id)
      return Effect.succeed(caller.id)
    })

  const leave = (id: string) => Effect.sync(() => void queued.splice(queued.indexOf(id), 1))

  return {
    run: (work) => Effect.acquireUseRelease(Effect.flatMap(Caller.current, enter), () => work, leave)
  }
}
