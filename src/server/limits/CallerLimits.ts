// Limits of what a caller has in progress in this instance: requests, database connections, work outside of the database.
import { Context, Effect, Layer, Metric, Semaphore } from "effect"
import type { Scope } from "effect"
import { OutboundLimit } from "../../api/Middleware.ts"
import * as Caller from "../../domain/access/Caller.ts"
import { isAdministrator, TooManyRequests } from "../../domain/access/Caller.ts"
import { withShare } from "../../sql/Query.ts"
import type { ConnectionShare } from "../../sql/Query.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { callerLimitRefusalsTotal, rateLimitedRequestsTotal } from "./RateLimitMetrics.ts"

// Limits how much work of one kind a caller has in progress at the same time in this instance. A new kind of limited work is
// one `make` with a name and a maximum.

/** Seconds after which a refused caller may try again. When its work ends is unknown. */
const retryAfter = 1

export interface CallerLimitOptions {
  /** The label `limit` of `caller_limit_refusals_total`. */
  readonly name: string
  /** Per caller with scopes. The administrator and host programs have no limit. */
  readonly max: number
  /** Called with the id of a caller when the last of its work has ended. */
  readonly onIdle?: (callerId: string) => void
}

interface CallerLimit {
  /** Runs the work, or refuses it if the caller has `max` of it in progress. */
  run<A, E, R>(caller: Caller.Caller, work: Effect.Effect<A, E, R>): Effect.Effect<A, E | TooManyRequests, R>
  /** The same for work that lasts until the scope closes. */
  begin(caller: Caller.Caller): Effect.Effect<void, TooManyRequests, Scope.Scope>
  /** Fails if `run` would refuse the caller now. Reserves nothing. */
  check(caller: Caller.Caller): Effect.Effect<void, TooManyRequests>
}

export const makeCallerLimit = Effect.fnUntraced(function* ({ name, max, onIdle }: CallerLimitOptions) {
  const refusals = Metric.withAttributes(callerLimitRefusalsTotal, { limit: name })
  yield* Metric.update(refusals, 0)
  const inProgress = new Map<string, number>()

  const refused = Effect.andThen(
    Effect.all([Metric.update(refusals, 1), Metric.update(rateLimitedRequestsTotal, 1)]),
    Effect.fail(new TooManyRequests({ retryAfter }))
  )

  const countOf = ({ id }: Caller.Caller) => inProgress.get(id) ?? 0

  const start = (caller: Caller.Caller) =>
    Effect.suspend(() => {
      if (countOf(caller) >= max) return refused
      inProgress.set(caller.id, countOf(caller) + 1)
      return Effect.void
    })

  const end = (caller: Caller.Caller) =>
    Effect.sync(() => {
      const count = countOf(caller) - 1
      if (count > 0) return void inProgress.set(caller.id, count)
      inProgress.delete(caller.id)
      onIdle?.(caller.id)
    })

  const limit: CallerLimit = {
    run: (caller, work) =>
      isAdministrator(caller)
        ? work
        : Effect.acquireUseRelease(
            start(caller),
            () => work,
            () => end(caller)
          ),
    begin: (caller) =>
      isAdministrator(caller) ? Effect.void : Effect.acquireRelease(start(caller), () => end(caller)),
    check: (caller) => Effect.suspend(() => (isAdministrator(caller) || countOf(caller) < max ? Effect.void : refused))
  }
  return limit
})

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
    admit<A, E, R>(caller: Caller.Caller, request: Effect.Effect<A, E, R>): Effect.Effect<A, E | TooManyRequests, R>
  }
>()("effect-relayer/server/limits/CallerLimits/CallerRequests") {
  static readonly layer = Layer.effect(
    CallerRequests,
    Effect.gen(function* () {
      const common = yield* Semaphore.make(maxConnectionsOfCallers)
      const shares = new Map<string, ConnectionShare>()
      const limit = yield* makeCallerLimit({
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
                Effect.suspend(() => withShare(shareOf(caller.id))(request))
              )
      })
    })
  )
}

// Work that waits for something outside of the database: chains, webhook receivers, Vault, the decryption of keystores.

/** Outbound work of one caller that runs at the same time in this instance. */
export const maxOutboundWork = 8

export class OutboundWork extends Context.Service<
  OutboundWork,
  {
    /**
     * Runs the work outside of the transaction of the request, which holds no connection meanwhile. A caller with scopes has
     * at most `maxPerCaller` of them at a time; the administrator and programs have no limit.
     */
    run<A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E | TooManyRequests, R>
    /** Fails if `run` would refuse the caller now. */
    readonly check: Effect.Effect<void, TooManyRequests>
  }
>()("effect-relayer/server/limits/CallerLimits/OutboundWork") {
  static readonly layer = Layer.effect(
    OutboundWork,
    Effect.gen(function* () {
      const outside = yield* Transaction.outside
      const limit = yield* makeCallerLimit({ name: "outbound_work", max: maxOutboundWork })
      return OutboundWork.of({
        run: (work) => Effect.flatMap(Caller.current, (caller) => limit.run(caller, outside(work))),
        check: Effect.flatMap(Caller.current, limit.check)
      })
    })
  )
}

/** The implementation of `OutboundLimit`. */
export const OutboundLimitHttp = Layer.effect(
  OutboundLimit,
  Effect.map(OutboundWork, ({ check }) => OutboundLimit.of((httpEffect) => Effect.andThen(check, httpEffect)))
)
