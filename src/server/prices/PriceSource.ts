// The prices of tokens, for quotes and before signatures: those of the policy, or those that a URL of the operator has.
import { Cache, Clock, Context, DateTime, Duration, Effect, Exit, Layer, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import { isWithin, PriceUnavailable } from "../../domain/price/Price.ts"
import type { PriceBounds, PriceSource as Policy, Rate, TokenPrice } from "../../domain/price/Price.ts"
import * as ExactJson from "../../domain/request/ExactJson.ts"
import { PositiveUint64 } from "../../domain/chain/Amount.ts"
import { Instant } from "../../domain/request/Shown.ts"
import { Outbound, refusal } from "../../outbound/Outbound.ts"

/** Milliseconds. An older price is none: markets move, and the relayer would pay the difference. */
const oldest = 60_000

/** Milliseconds from the lookup of the name to the last byte of the answer. */
const timeout = 3000

/** Bytes of an answer. */
const maxAnswer = 4096

/** Prices that are kept at the same time, and how long it takes until a source that failed is asked again. */
const capacity = 1000
const failedFor = Duration.seconds(5)

interface PricedToken {
  /** As the policy names it: the mint, or the asset. */
  readonly id: string
  /** The price of the policy. */
  readonly price?: TokenPrice
  readonly bounds?: PriceBounds
}

export interface PriceQuestion {
  /** Such as `solana:mainnet-beta`. */
  readonly network: string
  /** Absent: the policy has no source. */
  readonly source: Policy | undefined
  readonly token: PricedToken
}

const Answer = Schema.Struct({ units: PositiveUint64, native: PositiveUint64, at: Schema.optionalKey(Instant) })

const decodeAnswer = Schema.decodeUnknownEffect(Answer)

const unavailable = (reason: string) => new PriceUnavailable({ reason })

const unreadable = unavailable("the price source does not answer with JSON that has units and native")

const checkBounds = Effect.fnUntraced(function* (rate: Rate, { id, bounds }: PricedToken) {
  if (bounds !== undefined && !isWithin(rate, bounds)) {
    return yield* unavailable(`the price of ${id} is outside of its price_bounds`)
  }
  return rate
})

/** Names a price of a URL. */
const keyOf = (url: string, network: string, token: string): string => JSON.stringify([url, network, token])

export class PriceSource extends Context.Service<
  PriceSource,
  {
    /** Fails if there is no price, if it is older than `oldest`, or if it is outside of the bounds of the token. */
    rate(question: PriceQuestion): Effect.Effect<Rate, PriceUnavailable>
  }
>()("effect-relayer/server/prices/PriceSource") {
  /** @internal */
  static readonly layer = Layer.effect(
    PriceSource,
    Effect.gen(function* () {
      const { client } = yield* Outbound

      const read = Effect.fnUntraced(function* (text: string) {
        if (Buffer.byteLength(text) > maxAnswer)
          return yield* unavailable(`the price source answers with more than ${maxAnswer} bytes`)
        const now = yield* Clock.currentTimeMillis
        const json = yield* Effect.try({ try: () => ExactJson.parse(text), catch: () => unreadable })
        const { units, native, at } = yield* Effect.mapError(decodeAnswer(json), () => unreadable)
        // A clock that is ahead makes no price last longer.
        const rate: Rate = { units, native, at: at === undefined ? now : Math.min(DateTime.toEpochMillis(at), now) }
        return rate
      })

      const ask = Effect.fnUntraced(function* (key: string) {
        const [url, network, token] = JSON.parse(key) as [string, string, string]
        const request = HttpClientRequest.get(url).pipe(
          HttpClientRequest.setUrlParams({ network, token }),
          HttpClientRequest.acceptJson
        )
        const text = yield* client.execute(request).pipe(
          Effect.mapError((error) => unavailable(refusal(error)?.message ?? "the price source cannot be reached")),
          Effect.flatMap(({ status, text }) =>
            status === 200
              ? Effect.mapError(text, () => unreadable)
              : Effect.fail(unavailable(`the price source answers with status ${status}`))
          ),
          Effect.timeoutOrElse({
            duration: timeout,
            orElse: () => Effect.fail(unavailable(`the price source does not answer within ${timeout / 1000} seconds`))
          })
        )
        return yield* read(text)
      })

      const lifeOf = (exit: Exit.Exit<Rate, PriceUnavailable>) =>
        Exit.isSuccess(exit) ? Duration.millis(oldest) : failedFor

      const rates = yield* Cache.makeWith<string, Rate, PriceUnavailable>(ask, { capacity, timeToLive: lifeOf })

      /** A price that has become too old in the cache is read again once. */
      const fresh = Effect.fnUntraced(function* (key: string) {
        const isOld = Effect.fnUntraced(function* ({ at }: Rate) {
          return at + oldest < (yield* Clock.currentTimeMillis)
        })
        const kept = yield* Cache.get(rates, key)
        if (!(yield* isOld(kept))) return kept
        yield* Cache.invalidate(rates, key)
        const read = yield* Cache.get(rates, key)
        if (yield* isOld(read)) return yield* unavailable(`the price is older than ${oldest / 1000} seconds`)
        return read
      })

      const fixed = Effect.fnUntraced(function* ({ id, price }: PricedToken) {
        if (price === undefined) return yield* unavailable(`the policy has no price for ${id}`)
        const rate: Rate = { ...price, at: yield* Clock.currentTimeMillis }
        return rate
      })

      const rate = Effect.fn("PriceSource.rate")(function* ({ network, source, token }: PriceQuestion) {
        if (source === undefined) return yield* unavailable("the policy has no price_source")
        const found = yield* source.type === "fixed" ? fixed(token) : fresh(keyOf(source.url, network, token.id))
        return yield* checkBounds(found, token)
      })

      return PriceSource.of({ rate })
    })
  )
}
