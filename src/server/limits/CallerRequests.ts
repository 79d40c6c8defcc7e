// Limits what one caller takes of an instance: its requests in progress, and the database connections that they use.
import { Context, Effect, Layer, Semaphore } from "effect"
import { isAdministrator } from "../../domain/access/Caller.ts"
import type { Caller, TooManyRequests } from "../../domain/access/Caller.ts"
import * as ConnectionShare from "../../sql/ConnectionShare.ts"
import * as CallerLimit from "./CallerLimit.ts"

/** Requests of one caller that are in progress at the same time. Each may hold a body of 1 MiB in memory. */
export const maxRequests = 64

/** Connections of the pool that one caller uses at the same time. Its further statements wait for its own. */
export const maxConnections = 4

/**
 * Connections that all callers use at the same time, of the 10 of a pool. The others are for the administrator, for readiness,
 * for the lookup of API keys and for the background jobs, so that these never wait behind callers.
 */
export const maxConnectionsOfCallers = 6

export class CallerRequests extends Context.Service<
  CallerRequests,
  {
    /** Runs the request of the caller under its share of the connections. The administrator has no limits. */
    admit<A, E, R>(caller: Caller, request: Effect.Effect<A, E, R>): Effect.Effect<A, E | TooManyRequests, R>
  }
>()("effect-relayer/server/limits/CallerRequests") {
  static readonly layer = Layer.effect(
    CallerRequests,
    Effect.gen(function* () {
      const common = yield* Semaphore.make(maxConnectionsOfCallers)
      const shares = new Map<string, ConnectionShare.ConnectionShare>()
      const limit = yield* CallerLimit.make({
        name: "requests",
        max: maxRequests,
        onIdle: (callerId) => void shares.delete(callerId)
      })

      const shareOf = (callerId: string) => {
        const share = shares.get(callerId) ?? { own: Semaphore.makeUnsafe(maxConnections), common }
        shares.set(callerId, share)
        return share
      }

      return CallerRequests.of({
        admit: (caller, request) =>
          isAdministrator(caller)
            ? request
            : limit.run(
                caller,
                Effect.suspend(() => ConnectionShare.under(shareOf(caller.id))(request))
              )
      })
    })
  )
}
