// Limits what clients without a valid API key cost, by their address: refused requests, endpoints that need no key, unknown paths.
import { Clock, Context, Effect, Layer, Metric } from "effect"
import { NetAddress } from "effect/net"
import { TooManyRequests } from "../../domain/access/Caller.ts"
import type { Unauthorized } from "../../domain/access/Caller.ts"
import { parseAddress } from "../../outbound/Outbound.ts"
import { currentAddress } from "../responses/CurrentRequest.ts"
import { rateLimitedRequestsTotal, strangersRefusedTotal } from "./RateLimitMetrics.ts"

// A token bucket per client address, for requests that no API key pays for. In the memory of this instance.

export interface AddressLimitOptions {
  /** Requests of an address that was idle. */
  readonly burst: number
  readonly perSecond: number
}

/** Addresses in memory. Beyond it, the one that was refilled longest ago is forgotten, and starts with a full bucket again. */
const maxAddresses = 10_000

interface AddressBucket {
  readonly tokens: number
  /** From a monotonic clock, in milliseconds. */
  readonly at: number
}

/** A client with IPv6 usually has a network of 64 bits. */
const clientOf = (text: string): string => {
  if (!text.includes(":")) return text
  const address = parseAddress(text)
  return address !== undefined && NetAddress.isIpv6Address(address)
    ? NetAddress.ipv6ToOctets(address).slice(0, 8).join(".")
    : text
}

export const makeAddressLimit = ({ burst, perSecond }: AddressLimitOptions, now: () => number) => {
  const buckets = new Map<string, AddressBucket>()

  const tokensOf = (client: string): number => {
    const bucket = buckets.get(client)
    return bucket === undefined ? burst : Math.min(burst, bucket.tokens + ((now() - bucket.at) / 1000) * perSecond)
  }

  return {
    /** Takes a token. False: there is none. An unknown address, as of a Unix socket, has no limit. */
    take: (address: string | undefined): boolean => {
      if (address === undefined) return true
      const client = clientOf(address)
      const tokens = tokensOf(client)
      const oldest = buckets.keys().next()
      if (!buckets.delete(client) && buckets.size >= maxAddresses && oldest.done !== true) buckets.delete(oldest.value)
      buckets.set(client, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: now() })
      return tokens >= 1
    },
    /** Whether `take` would find no token. */
    isEmpty: (address: string | undefined): boolean => address !== undefined && tokensOf(clientOf(address)) < 1
  }
}

/** Refusals with 401. A client with a wrong key sends a few of them; others try keys. */
const refusals: AddressLimitOptions = { burst: 200, perSecond: 20 }

/** Requests of documents and metrics: the largest document has 600 kB. */
const openRequests: AddressLimitOptions = { burst: 100, perSecond: 10 }

/** Requests outside of `/api` that match no route. A browser sends a few of them, such as for its icon. */
const unmatchedRequests: AddressLimitOptions = { burst: 200, perSecond: 20 }

/** A browser sends one before its first request of each path, and remembers the answer. Browsers behind a proxy share its address. */
const preflights: AddressLimitOptions = { burst: 500, perSecond: 100 }

/** Seconds. A token is there again sooner. */
const retryAfter = 1

const makeStrangers = Effect.map(Clock.Clock, (clock) => {
  const now = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
  const refused = makeAddressLimit(refusals, now)
  const tooMany = Effect.andThen(
    Effect.all([Metric.update(strangersRefusedTotal, 1), Metric.update(rateLimitedRequestsTotal, 1)]),
    Effect.fail(new TooManyRequests({ retryAfter }))
  )

  const admitting = (options: AddressLimitOptions) => {
    const { take } = makeAddressLimit(options, now)
    return Effect.flatMap(currentAddress, (address) => (take(address) ? Effect.void : tooMany))
  }

  return {
    /** The refusal of the current request: `Unauthorized`, or `TooManyRequests` beyond the limit of its address. */
    refuse: (refusal: Unauthorized) =>
      Effect.flatMap(currentAddress, (address): Effect.Effect<never, Unauthorized | TooManyRequests> =>
        refused.take(address) ? Effect.fail(refusal) : tooMany
      ),
    /** Whether the address had too many refusals. Its unknown keys are then refused without a lookup. */
    isBlocked: (address: string | undefined): boolean => refused.isEmpty(address),
    /** Passed by each request of an open endpoint, except health and readiness. */
    admit: admitting(openRequests),
    /** Passed by each request outside of `/api` that matches no route. */
    admitUnmatched: admitting(unmatchedRequests),
    /** Passed by each preflight of a browser. */
    admitPreflight: admitting(preflights)
  }
})

export class Strangers extends Context.Service<Strangers, Effect.Success<typeof makeStrangers>>()(
  "effect-relayer/server/limits/Strangers"
) {
  static readonly layer = Layer.effect(Strangers, makeStrangers)
}
