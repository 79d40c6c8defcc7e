// The circuit breaker of one URL: leaves a provider alone that failed again and again, or that asked for it.
import { Clock, Duration, Effect, Exit, Layer, Option, Schedule } from "effect"
import { CircuitBreaker } from "effect/persistence"
import type { BreakerState } from "../../domain/chain/ChainSnapshot.ts"
import { withMonotonic, withMonotonicAround } from "../lifecycle/MonotonicClock.ts"
import type { RpcFailure } from "./RpcFailure.ts"

export interface Options {
  /** Calls in a row that fail until it opens. */
  readonly failures: number
  /** How long it is open at first: twice as long each time that it opens again, until that is `longestOpenMs` in all. */
  readonly openMs: number
  /** Also what a `Retry-After` is cut to. */
  readonly longestOpenMs: number
}

interface Breaker {
  /** `half_open`: the next call decides. */
  readonly state: Effect.Effect<BreakerState>
  /** The provider said until when it wants no calls, and that is not yet over. */
  readonly isLimited: Effect.Effect<boolean>
  /** None where it is open, or half open with a call on its way. */
  run<A>(call: Effect.Effect<A, RpcFailure>): Effect.Effect<Option.Option<A>, RpcFailure>
  /** Where it is open too. It does not close by this. */
  insist<A>(call: Effect.Effect<A, RpcFailure>): Effect.Effect<A, RpcFailure>
}

/** The provider has answered, if only with an error. */
export const isWell = <A>(exit: Exit.Exit<A, RpcFailure>) =>
  Exit.isSuccess(exit) || Option.exists(Exit.findErrorOption(exit), ({ answered }) => answered)

const outcome = <A>(exit: Exit.Exit<A, RpcFailure>) =>
  isWell(exit) ? CircuitBreaker.success : CircuitBreaker.failure()

const stateOf = (state: CircuitBreaker.State): BreakerState => {
  if (state._tag === "Closed") return "closed"
  return state._tag === "Open" && Duration.isPositive(state.retryAfter) ? "open" : "half_open"
}

/** `onState` receives the state after every call. */
export const make = Effect.fnUntraced(function* (
  { failures, longestOpenMs, openMs }: Options,
  onState: (state: BreakerState, failure: RpcFailure | undefined) => Effect.Effect<void>
) {
  const circuit = yield* CircuitBreaker.make({
    tripPolicy: CircuitBreaker.consecutive(failures),
    openDuration: Schedule.upTo(Schedule.exponential(openMs), { duration: longestOpenMs })
  }).pipe(Effect.provide(Layer.fresh(CircuitBreaker.layerStoreMemory())))
  /** By a clock that nobody sets: one that is set back would leave the provider alone for as long. */
  let limitedUntil = 0n

  const isLimited = Effect.map(Clock.monotonicTimeNanos, (now) => now < limitedUntil)
  const ofCircuit = circuit.state("").pipe(withMonotonic, Effect.map(stateOf), Effect.orDie)
  const state = Effect.flatMap(isLimited, (limited) => (limited ? Effect.succeed("open" as const) : ofCircuit))

  const limit = ({ retryAfter }: RpcFailure) =>
    Effect.map(Clock.monotonicTimeNanos, (now) => {
      if (retryAfter === undefined) return
      const until = now + Duration.toNanosUnsafe(Duration.min(retryAfter, Duration.millis(longestOpenMs)))
      if (until > limitedUntil) limitedUntil = until
    })

  const tell = (failure?: RpcFailure) => Effect.flatMap(state, (now) => onState(now, failure))

  const run: Breaker["run"] = (call) => {
    const guarded = call.pipe(
      Effect.tapError(limit),
      withMonotonicAround(circuit.execute({ key: "", classify: outcome })),
      Effect.tap(() => tell()),
      Effect.tapErrorTag("RpcFailure", tell),
      Effect.asSome,
      Effect.catchTag("CircuitBreakerError", () => Effect.succeedNone)
    )
    return Effect.flatMap(isLimited, (limited) => (limited ? Effect.succeedNone : guarded))
  }

  const breaker: Breaker = { state, isLimited, run, insist: Effect.tapError(limit) }
  return breaker
})
