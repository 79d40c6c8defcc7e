// Asks at a steady pace, whether or not it is answered: reads as a user, and as a balancer would.
import { Effect } from "effect"
import type { Scope } from "effect"
import type { Outcome } from "./Requests.ts"
import * as Requests from "./Requests.ts"

export interface Prober {
  readonly reads: ReadonlyArray<Outcome>
  readonly health: ReadonlyArray<Outcome>
  readonly ready: ReadonlyArray<Outcome>
  /** Waits for the last answers. */
  readonly stop: Effect.Effect<void>
}

/** At most so many requests of a kind wait for their answers. */
const most = 100

/** Milliseconds between two reads; health and readiness are asked for a fifth as often. */
export const start = (baseUrl: string, interval = 25): Effect.Effect<Prober, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const waiting = new Set<Promise<void>>()
      const probe = (path: string, every: number) => {
        const outcomes: Array<Outcome> = []
        let open = 0
        const ask = async (): Promise<void> => {
          open += 1
          outcomes.push(await Requests.send(`${baseUrl}${path}`))
          open -= 1
        }
        const timer = setInterval(() => {
          if (open >= most) return
          const asked = ask().finally(() => waiting.delete(asked))
          waiting.add(asked)
        }, every)
        return { outcomes, timer }
      }
      const probes = [
        probe("/api/v1/relayers?per_page=10", interval),
        probe("/v1/health", interval * 5),
        probe("/api/v1/ready", interval * 5)
      ] as const
      const stop = Effect.promise(() => {
        for (const { timer } of probes) clearInterval(timer)
        return Promise.all(waiting)
      })
      const [reads, health, ready] = probes
      return { reads: reads.outcomes, health: health.outcomes, ready: ready.outcomes, stop: Effect.asVoid(stop) }
    }),
    ({ stop }) => stop
  )
