// A circuit breaker per URL, shared by all relayers of the process, and the metric of their states.
import { Context, Effect, Layer, Metric, ScopedCache } from "effect"
import type { Option } from "effect"
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

  const of = (url: string) => ScopedCache.get(breakers, keyOf(url))
  const shown = (url: string) => Effect.annotateLogs({ url: maskUrl(url) })

  return Breakers.of({
    state: (url) => Effect.flatMap(of(url), ({ state }) => state),
    isLimited: (url) => Effect.flatMap(of(url), ({ isLimited }) => isLimited),
    run: (url, call) => Effect.flatMap(of(url), ({ run }) => run(call)).pipe(shown(url)),
    insist: (url, call) =>
      Effect.flatMap(of(url), ({ insist }) => insist(call)).pipe(
        Effect.onExit((exit) => (Breaker.isWell(exit) ? ScopedCache.invalidate(breakers, keyOf(url)) : Effect.void))
      )
  })
})

export class Breakers extends Context.Service<
  Breakers,
  {
    state(url: string): Effect.Effect<BreakerState>
    /** Whether the time that the provider asked for with `Retry-After` has not ended. */
    isLimited(url: string): Effect.Effect<boolean>
    /** None, without a call, if the breaker is open, or half open while another call runs. */
    run<A>(url: string, call: Effect.Effect<A, RpcFailure>): Effect.Effect<Option.Option<A>, RpcFailure>
    /** Calls even if the breaker is open. An answer closes it. */
    insist<A>(url: string, call: Effect.Effect<A, RpcFailure>): Effect.Effect<A, RpcFailure>
  }
>()("effect-relayer/server/chains/Breakers") {
  static readonly layer = (options: Options = {}) => Layer.effect(Breakers, make(options))
}
