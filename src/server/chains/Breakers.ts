// A circuit breaker per URL, shared by all relayers of the process, and the metric of their states.
import { Context, Effect, Layer, Metric, ScopedCache } from "effect"
import * as crypto from "node:crypto"
import { BreakerState } from "../../domain/chain/ChainSnapshot.ts"
import { maskUrl } from "../../domain/chain/Rpc.ts"
import { rpcBreakers } from "./ChainMetrics.ts"
import * as Breaker from "./Breaker.ts"
import type { RpcFailure } from "./RpcFailure.ts"

export interface Options extends Partial<Breaker.Options> {
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

const make = Effect.fnUntraced(function* (options: Options) {
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
    return yield* Breaker.make(settings, onState)
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
          Effect.onExit((exit) => (Breaker.isWell(exit) ? forget : Effect.void))
        )
    }
  }

  return Breakers.of({ of })
})

export type UrlBreaker = Breaker.Breaker

export class Breakers extends Context.Service<
  Breakers,
  {
    /** The breaker of a URL. An answer to `insist` closes it. */
    of(url: string): UrlBreaker
  }
>()("effect-relayer/server/chains/Breakers") {
  static readonly layer = (options: Options = {}) => Layer.effect(Breakers, make(options))
}
