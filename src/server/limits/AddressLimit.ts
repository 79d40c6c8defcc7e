// A token bucket per client address, for requests that no API key pays for. In the memory of this instance.
import { NetAddress } from "effect/net"
import * as Address from "../../outbound/Address.ts"

export interface Options {
  /** Requests of an address that was idle. */
  readonly burst: number
  readonly perSecond: number
}

/** Addresses in memory. Beyond it, the one that was refilled longest ago is forgotten, and starts with a full bucket again. */
const maxAddresses = 10_000

interface Bucket {
  readonly tokens: number
  /** From a monotonic clock, in milliseconds. */
  readonly at: number
}

/** A client with IPv6 usually has a network of 64 bits. */
const clientOf = (text: string): string => {
  if (!text.includes(":")) return text
  const address = Address.parse(text)
  return address !== undefined && NetAddress.isIpv6Address(address)
    ? NetAddress.ipv6ToOctets(address).slice(0, 8).join(".")
    : text
}

export const make = ({ burst, perSecond }: Options, now: () => number) => {
  const buckets = new Map<string, Bucket>()

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
