// The circuit breaker of one URL. It stops calls to a provider that keeps failing, or that asked for a pause.
import { Clock, Duration, Effect, Exit, Layer, Option, Schedule } from "effect"
import { CircuitBreaker } from "effect/persistence"
import type { BreakerState } from "../../domain/chain/ChainSnapshot.ts"
import { withMonotonic, withMonotonicAround } from "../lifecycle/MonotonicClock.ts"
import type { Unanswered } from "./RpcBatch.ts"
import type { RpcFailure } from "./RpcFailure.ts"

export interface Options {
  /** Failed calls in a row that open the breaker. */
  readonly failures: number
  /** The first time that it is open, in milliseconds. It doubles with each opening in a row, up to `longestOpenMs` in total. */
  readonly openMs: number
  /** Milliseconds. It also limits `Retry-After`. */
  readonly longestOpenMs: number
}

export interface Breaker {
  /** `half_open`: the next call closes or opens the breaker. */
  readonly state: Effect.Effect<BreakerState>
  /** Whether the time that the provider asked for with `Retry-After` has not ended. */
  readonly isLimited: Effect.Effect<boolean>
  /** None, without a call, if the breaker is open, or half open while another call runs. */
  run<A>(call: Effect.Effect<A, Unanswered>): Effect.Effect<Option.Option<A>, Unanswered>
  /** Calls even if the breaker is open. A success does not close it. */
  insist<A>(call: Effect.Effect<A, Unanswered>): Effect.Effect<A, Unanswered>
  /** The provider has answered some calls, and asks for a pause with the others. */
  pause(failure: RpcFailure): Effect.Effect<void>
}

/** Whether the provider has answered, possibly with an error. */
export const isWell = <A>(exit: Exit.Exit<A, Unanswered>) =>
  Exit.isSuccess(exit) || Option.exists(Exit.findErrorOption(exit), ({ failure }) => failure.answered)

const outcome = <A>(exit: Exit.Exit<A, Unanswered>) =>
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
  /** Nanoseconds of the monotonic clock. A wall clock that is set back would prolong the pause. */
  let limitedUntil = 0n

  const isLimited = Effect.map(Clock.monotonicTimeNanos, (now) => now < limitedUntil)
  const ofCircuit = circuit.state("").pipe(withMonotonic, Effect.map(stateOf), Effect.orDie)
  const state = Effect.flatMap(isLimited, (limited) => (limited ? Effect.succeed("open" as const) : ofCircuit))

  const limit = ({ failure: { retryAfter } }: Pick<Unanswered, "failure">) =>
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
      Effect.tapErrorTag("Unanswered", ({ failure }) => tell(failure)),
      Effect.asSome,
      Effect.catchTag("CircuitBreakerError", () => Effect.succeedNone)
    )
    return Effect.flatMap(isLimited, (limited) => (limited ? Effect.succeedNone : guarded))
  }

  const pause = (failure: RpcFailure) => Effect.andThen(limit({ failure }), tell(failure))

  const breaker: Breaker = { state, isLimited, run, insist: Effect.tapError(limit), pause }
  return breaker
})
