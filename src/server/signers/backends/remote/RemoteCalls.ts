// Calls a key service: up to three tries within eight seconds, at the rate of the account. An open circuit breaker stops all calls.
import { Clock, Duration, Effect, Exit, Layer, Option, Random, Result, Schedule } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { withMonotonicAround } from "../../../lifecycle/MonotonicClock.ts"
import { makeTokenBuckets } from "../../../limits/RateLimits.ts"
import { SignerUnavailable } from "../SignerBackend.ts"
import type { Identity } from "./RemoteKey.ts"

const tries = 3

/** Milliseconds for all tries and the waits between them. */
const totalMs = 8000

/** Milliseconds for one try. */
const tryMs = 3000

/** Milliseconds: the upper bound of the first random wait, which doubles with each try. */
const backOffMs = 200

/** Failed calls in a row that open the breaker. */
const failures = 5

/** How long the breaker stays open. The time doubles with each consecutive opening, until the total reaches a minute. */
const openFor = Schedule.upTo(Schedule.exponential("1 second"), { duration: "1 minute" })

export interface RemoteCalls {
  run<A>(identity: Identity, call: Effect.Effect<A, SignerUnavailable>): Effect.Effect<A, SignerUnavailable>
}

const failure = (reason: SignerUnavailable["reason"], message: string, retryAfter?: number) =>
  new SignerUnavailable({ reason, message, ...(retryAfter === undefined ? {} : { retryAfter }) })

/** Only missing, faulty or unexpected answers open the breaker. */
const classify = <A>(exit: Exit.Exit<A, SignerUnavailable>) => {
  const error = Option.getOrUndefined(Exit.findErrorOption(exit))
  return error?.reason === "unreachable" || error?.reason === "unexpected"
    ? CircuitBreaker.failure()
    : CircuitBreaker.success
}

const isTriedAgain = ({ reason }: SignerUnavailable, tried: number) =>
  reason === "throttled" || reason === "unreachable" ? tried < tries : reason === "login" && tried < 2

const waitAfter = ({ retryAfter }: SignerUnavailable, tried: number) =>
  retryAfter === undefined
    ? Effect.map(Random.next, (random) => random * backOffMs * 2 ** (tried - 1))
    : Effect.succeed(retryAfter)

const nowMs = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos / 1_000_000n))

export const make = Effect.gen(function* () {
  const breaker = yield* CircuitBreaker.make({
    tripPolicy: CircuitBreaker.consecutive(failures),
    openDuration: openFor
  }).pipe(Effect.provide(Layer.fresh(CircuitBreaker.layerStoreMemory())))
  const buckets = makeTokenBuckets()

  /** Waits until the rate of the account allows a call, if that is before `end`. */
  const takeTurn = Effect.fnUntraced(function* ({ account, rate, service }: Identity, end: number) {
    const bucket = { key: account, limit: rate, refillRate: Duration.millis(1000 / rate), allowOverflow: true }
    const [free, since] = yield* Effect.orDie(buckets.take({ ...bucket, tokens: 0 }))
    const wait = Math.ceil(Math.max(0, (1 - free) * (1000 / rate) - since))
    if ((yield* nowMs) + wait >= end) {
      return yield* failure("throttled", `the service signs ${rate} times a second with ${service}`, wait)
    }
    yield* Effect.orDie(buckets.take({ ...bucket, tokens: 1 }))
    if (wait > 0) yield* Effect.sleep(wait)
  })

  const leftAlone = (service: string, { reason }: CircuitBreaker.CircuitBreakerError) => {
    const wait = reason._tag === "CircuitOpen" ? Duration.toMillis(reason.retryAfter) : undefined
    return failure("unreachable", `${service} has failed several times and is not called for a while`, wait)
  }

  const once = <A>(identity: Identity, call: Effect.Effect<A, SignerUnavailable>, end: number) => {
    const silent = failure("unreachable", `${identity.service} does not answer`)
    const limited = Effect.flatMap(nowMs, (now) =>
      Effect.timeoutOrElse(call, {
        duration: Math.min(tryMs, Math.max(0, end - now)),
        orElse: () => Effect.fail(silent)
      })
    )
    const guarded = withMonotonicAround((self: typeof limited) =>
      breaker.execute(self, { key: identity.breaker, classify })
    )(limited)
    return Effect.andThen(takeTurn(identity, end), guarded)
  }

  const run: RemoteCalls["run"] = Effect.fn("RemoteCalls.run")(function* (identity, call) {
    const end = (yield* nowMs) + totalMs
    for (let tried = 1; ; tried++) {
      const result = yield* Effect.result(once(identity, call, end))
      if (Result.isSuccess(result)) return result.success
      const failed = result.failure
      if (failed._tag === "CircuitBreakerError") return yield* leftAlone(identity.service, failed)
      if (!isTriedAgain(failed, tried)) return yield* failed
      const wait = yield* waitAfter(failed, tried)
      if ((yield* nowMs) + wait >= end) return yield* failed
      yield* Effect.sleep(wait)
    }
  })

  const calls: RemoteCalls = { run }
  return calls
})
