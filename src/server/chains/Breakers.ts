// The circuit breaker of each RPC URL, shared by all relayers of the process, and the metrics of calls.
import { Clock, Context, Duration, Effect, Exit, Layer, Metric, Option, Schedule, ScopedCache } from "effect"
import { CircuitBreaker } from "effect/persistence"
import * as crypto from "node:crypto"
import { BreakerState } from "../../domain/chain/ChainSnapshot.ts"
import { maskUrl } from "../../domain/chain/Rpc.ts"
import { withMonotonic, withMonotonicAround } from "../lifecycle/MonotonicClock.ts"
import type { Unanswered } from "./RpcBatch.ts"
import type { RpcFailure } from "./RpcFailure.ts"

// The circuit breaker of one URL. It stops calls to a provider that keeps failing, or that asked for a pause.

interface BreakerOptions {
  /** Failed calls in a row that open the breaker. */
  readonly failures: number
  /** The first time that it is open, in milliseconds. It doubles with each opening in a row, up to `longestOpenMs` in total. */
  readonly openMs: number
  /** Milliseconds. It also limits `Retry-After`. */
  readonly longestOpenMs: number
}

interface Breaker {
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
const isWell = <A>(exit: Exit.Exit<A, Unanswered>) =>
  Exit.isSuccess(exit) || Option.exists(Exit.findErrorOption(exit), ({ failure }) => failure.answered)

const outcome = <A>(exit: Exit.Exit<A, Unanswered>) =>
  isWell(exit) ? CircuitBreaker.success : CircuitBreaker.failure()

const stateOf = (state: CircuitBreaker.State): BreakerState => {
  if (state._tag === "Closed") return "closed"
  return state._tag === "Open" && Duration.isPositive(state.retryAfter) ? "open" : "half_open"
}

/** `onState` receives the state after every call. */
const makeBreaker = Effect.fnUntraced(function* (
  { failures, longestOpenMs, openMs }: BreakerOptions,
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

// The metrics of calls to RPC providers.

export const rpcCallsTotal = Metric.counter("rpc_calls_total", {
  description: "Calls to RPC providers, by network type and method.",
  incremental: true
})

export const rpcCallSeconds = Metric.histogram("rpc_call_seconds", {
  description: "Time from a call to an RPC provider to its answer or failure, in seconds.",
  boundaries: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
})

export const rpcFailuresTotal = Metric.counter("rpc_failures_total", {
  description: "Calls to RPC providers that failed, by network type, method and class.",
  incremental: true
})

export const rpcBreakers = Metric.gauge("rpc_breakers", {
  description: "Circuit breakers of RPC URLs, by state."
})

export const rpcMetrics = [rpcCallsTotal, rpcCallSeconds, rpcFailuresTotal, rpcBreakers]

export interface BreakersOptions extends Partial<BreakerOptions> {
  /** The number of URLs that have a breaker. The least recently used one is forgotten first. */
  readonly capacity?: number
}

const defaults = { failures: 3, openMs: 10_000, longestOpenMs: 300_000, capacity: 10_000 }

/** A hash, because the URL may contain an API key. */
const keyOf = (url: string) => crypto.createHash("sha256").update(url).digest("base64url")

const makeTally = () => {
  const counts = new Map<BreakerState, number>(BreakerState.literals.map((state) => [state, 0]))
  const show = (state: BreakerState) =>
    Metric.update(Metric.withAttributes(rpcBreakers, { state }), counts.get(state) ?? 0)
  const add = (state: BreakerState, change: 1 | -1) =>
    Effect.suspend(() => {
      counts.set(state, (counts.get(state) ?? 0) + change)
      return show(state)
    })
  return { add, showAll: Effect.forEach(BreakerState.literals, show, { discard: true }) }
}

const make = Effect.fnUntraced(function* (options: BreakersOptions) {
  const settings = { ...defaults, ...options }
  const tally = makeTally()
  yield* tally.showAll

  const lookup = Effect.fnUntraced(function* (_key: string) {
    let counted: BreakerState = "closed"
    yield* Effect.acquireRelease(tally.add(counted, 1), () => Effect.suspend(() => tally.add(counted, -1)))

    const onState = (state: BreakerState, failure: RpcFailure | undefined) =>
      Effect.suspend(() => {
        if (state === counted) return Effect.void
        const before = counted
        counted = state
        const log =
          state === "open"
            ? Effect.annotateLogs(Effect.logWarning("RPC provider suspended after failures"), { code: failure?.code })
            : Effect.void
        return Effect.all([tally.add(before, -1), tally.add(state, 1), log], { discard: true })
      })
    return yield* makeBreaker(settings, onState)
  })

  const breakers = yield* ScopedCache.make({ lookup, capacity: settings.capacity })

  const of = (url: string): UrlBreaker => {
    const key = keyOf(url)
    // Looked up for each call, because the cache may have forgotten it in between.
    const found = ScopedCache.get(breakers, key)
    const forget = ScopedCache.invalidate(breakers, key)
    return {
      state: Effect.flatMap(found, ({ state }) => state),
      isLimited: Effect.flatMap(found, ({ isLimited }) => isLimited),
      run: (call) =>
        Effect.annotateLogs(
          Effect.flatMap(found, ({ run }) => run(call)),
          { url: maskUrl(url) }
        ),
      pause: (failure) =>
        Effect.annotateLogs(
          Effect.flatMap(found, ({ pause }) => pause(failure)),
          { url: maskUrl(url) }
        ),
      insist: (call) =>
        Effect.flatMap(found, ({ insist }) => insist(call)).pipe(
          Effect.onExit((exit) => (isWell(exit) ? forget : Effect.void))
        )
    }
  }

  return Breakers.of({ of })
})

export type UrlBreaker = Breaker

export class Breakers extends Context.Service<
  Breakers,
  {
    /** The breaker of a URL. An answer to `insist` closes it. */
    of(url: string): UrlBreaker
  }
>()("effect-relayer/server/chains/Breakers") {
  static readonly layer = (options: BreakersOptions = {}) => Layer.effect(Breakers, make(options))
}
