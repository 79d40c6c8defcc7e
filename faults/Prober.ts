// Sends reads like a user, and health and readiness checks like a balancer, at a steady rate.
import { Effect } from "effect"
import type { Scope } from "effect"
import type { Outcome } from "./Requests.ts"
import * as Requests from "./Requests.ts"

export interface Prober {
  readonly reads: ReadonlyArray<Outcome>
  readonly health: ReadonlyArray<Outcome>
  readonly ready: ReadonlyArray<Outcome>
  /** Stops and waits for the last responses. */
  readonly stop: Effect.Effect<void>
}

/** The largest number of open requests of one kind. */
const most = 100

/** `interval`: milliseconds between two reads. Health and readiness are requested a fifth as often. */
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
