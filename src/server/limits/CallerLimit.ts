// Limits how much work of one kind a caller has in progress at the same time in this instance. A new kind of limited work is
// one `make` with a name and a maximum.
import { Effect, Metric } from "effect"
import type { Scope } from "effect"
import { TooManyRequests, isAdministrator } from "../../domain/access/Caller.ts"
import type { Caller } from "../../domain/access/Caller.ts"
import { callerLimitRefusalsTotal, rateLimitedRequestsTotal } from "./RateLimitMetrics.ts"

/** Seconds after which a refused caller may try again. When its work ends is unknown. */
const retryAfter = 1

export interface Options {
  /** The label `limit` of `caller_limit_refusals_total`. */
  readonly name: string
  /** Per caller with scopes. The administrator and host programs have no limit. */
  readonly max: number
  /** Called with the id of a caller when the last of its work has ended. */
  readonly onIdle?: (callerId: string) => void
}

interface CallerLimit {
  /** Runs the work, or refuses it if the caller has `max` of it in progress. */
  run<A, E, R>(caller: Caller, work: Effect.Effect<A, E, R>): Effect.Effect<A, E | TooManyRequests, R>
  /** The same for work that lasts until the scope closes. */
  begin(caller: Caller): Effect.Effect<void, TooManyRequests, Scope.Scope>
  /** Fails if `run` would refuse the caller now. Reserves nothing. */
  check(caller: Caller): Effect.Effect<void, TooManyRequests>
}

export const make = Effect.fnUntraced(function* ({ name, max, onIdle }: Options) {
  const refusals = Metric.withAttributes(callerLimitRefusalsTotal, { limit: name })
  yield* Metric.update(refusals, 0)
  const inProgress = new Map<string, number>()

  const refused = Effect.andThen(
    Effect.all([Metric.update(refusals, 1), Metric.update(rateLimitedRequestsTotal, 1)]),
    Effect.fail(new TooManyRequests({ retryAfter }))
  )

  const countOf = ({ id }: Caller) => inProgress.get(id) ?? 0

  const start = (caller: Caller) =>
    Effect.suspend(() => {
      if (countOf(caller) >= max) return refused
      inProgress.set(caller.id, countOf(caller) + 1)
      return Effect.void
    })

  const end = (caller: Caller) =>
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
