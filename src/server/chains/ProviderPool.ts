// The providers of one relayer, for one inspection or task. A call chooses them by weight and moves on to the next if one
// fails.
import { Effect, Option, Result } from "effect"
import type { ProviderReading } from "../../domain/chain/ChainSnapshot.ts"
import { maskRpc } from "../../domain/chain/Rpc.ts"
import type { RpcConfig } from "../../domain/chain/Rpc.ts"
import type { Breakers } from "./Breakers.ts"
import type * as JsonRpc from "./JsonRpc.ts"
import { answered, failure, firstOver } from "./RpcFailure.ts"
import type { RpcFailure } from "./RpcFailure.ts"
import type { Tries } from "./Tries.ts"
import * as Weights from "./Weights.ts"

export interface ProviderPool {
  /** Calls providers one after the other until one answers. */
  call<A>(call: JsonRpc.Call<A>): Effect.Effect<A, RpcFailure>
  /** Calls all providers and returns those with a right answer, as a pool. Fails if there are none. */
  probe<A>(call: JsonRpc.Call<A>, isRight: (answer: A) => boolean): Effect.Effect<ProviderPool, RpcFailure>
  /** The state of each URL, with its last failure in this pool and in pools that `probe` returned. */
  readonly readings: Effect.Effect<ReadonlyArray<ProviderReading>>
}

/** The largest number of providers that a probe calls. */
const maxProbed = 20

interface Ways {
  readonly breakers: Breakers["Service"]
  readonly tries: Tries
  /** The time limit of a call over all tries and providers. */
  readonly budgetMs: number
}

interface Provider extends RpcConfig {
  /** The last failure. */
  failure?: RpcFailure
}

/** A first round respects open breakers. If no provider answers in it, a second round calls the skipped providers. */
const rounds = ["open breakers hold", "open breakers do not hold"] as const
type Round = (typeof rounds)[number]

export const make = ({ breakers, budgetMs, tries }: Ways, urls: ReadonlyArray<RpcConfig>): ProviderPool => {
  const all = urls.map(({ url, weight }): Provider => ({ url, weight }))

  const guarded = <A>({ url }: Provider, call: JsonRpc.Call<A>) =>
    breakers.state(url).pipe(
      // A provider whose breaker is half open gets a single try.
      Effect.flatMap((state) => (state === "closed" ? tries.several(url, call) : tries.once(url, call))),
      (self) => breakers.run(url, self)
    )

  /** Calls a provider despite its open breaker, but not before the time that it asked for with `Retry-After`. */
  const insist = <A>({ url }: Provider, call: JsonRpc.Call<A>) =>
    Effect.flatMap(breakers.isLimited(url), (isLimited) =>
      isLimited ? Effect.fail(failure("rate_limited")) : breakers.insist(url, tries.once(url, call))
    ).pipe(Effect.asSome)

  /** None if the breaker let no call through. */
  const ask = <A>(round: Round, provider: Provider, call: JsonRpc.Call<A>, isRight?: (answer: A) => boolean) => {
    const note = (failed: RpcFailure) => Effect.sync(() => void (provider.failure = failed.of(call.method)))
    return (round === "open breakers hold" ? guarded(provider, call) : insist(provider, call)).pipe(
      Effect.filterOrFail(
        (answer) => isRight === undefined || Option.isNone(answer) || isRight(answer.value),
        () => answered("mismatch")
      ),
      Effect.tapError(note),
      Effect.onInterrupt(() => note(failure("unreachable"))),
      Effect.result
    )
  }

  const within = <A>(self: Effect.Effect<A, RpcFailure>, failures: ReadonlyArray<RpcFailure> = []) =>
    Effect.timeoutOrElse(self, {
      duration: budgetMs,
      orElse: () => Effect.fail(firstOver([...failures, failure("unreachable")]))
    })

  const narrow = (providers: ReadonlyArray<Provider>): ProviderPool => ({
    call: Effect.fn("ProviderPool.call")(function* (call) {
      const failures: Array<RpcFailure> = []
      const inTurn = Effect.gen(function* () {
        let left = yield* Weights.shuffle(providers)
        for (const round of rounds) {
          const shut: Array<Provider> = []
          for (const provider of left) {
            const asked = yield* ask(round, provider, call)
            if (Result.isFailure(asked)) failures.push(asked.failure)
            else if (Option.isSome(asked.success)) return asked.success.value
            else shut.push(provider)
          }
          left = shut
        }
        return yield* firstOver(failures)
      })
      return yield* within(inTurn, failures)
    }),

    probe: Effect.fn("ProviderPool.probe")(function* (call, isRight) {
      const failures: Array<RpcFailure> = []
      let left = (yield* Weights.shuffle(providers)).slice(0, maxProbed)
      for (const round of rounds) {
        const asked = yield* Effect.forEach(
          left,
          (provider) =>
            within(Effect.flatMap(ask(round, provider, call, isRight), Effect.fromResult)).pipe(
              Effect.result,
              Effect.map((answer) => ({ provider, answer }))
            ),
          { concurrency: "unbounded" }
        )
        const right = asked.filter(({ answer }) => Result.isSuccess(answer) && Option.isSome(answer.success))
        if (right.length > 0) return narrow(right.map(({ provider }) => provider))
        failures.push(...asked.flatMap(({ answer }) => (Result.isFailure(answer) ? [answer.failure] : [])))
        left = asked.flatMap(({ answer, provider }) => (Result.isSuccess(answer) ? [provider] : []))
      }
      return yield* firstOver(failures)
    }),

    readings: Effect.forEach(all, (provider) =>
      Effect.map(breakers.state(provider.url), (breaker) => ({
        ...maskRpc(provider),
        breaker,
        failed: provider.failure !== undefined || (provider.weight > 0 && breaker !== "closed"),
        ...(provider.failure === undefined ? {} : { code: provider.failure.code, error: provider.failure.text })
      }))
    )
  })

  return narrow(all)
}
