// The network address of a client, also if its request comes through proxies.
import { Effect, Option, Schema } from "effect"
import type { HttpServerRequest } from "effect/http"
import * as Address from "../../outbound/Address.ts"
import { CurrentRequest } from "./CurrentRequest.ts"

/** The addresses and ranges of proxies whose `X-Forwarded-For` is believed. */
export const TrustedProxies = Schema.Array(Schema.String)
  .check(
    Schema.makeFilter((entries: ReadonlyArray<string>) => {
      const wrong = entries.find((entry) => Address.parseRange(entry) === undefined)
      return wrong === undefined
        ? undefined
        : `entry "${wrong}" is not an IP address or a range such as 10.1.0.0/16 that starts at its first address`
    })
  )
  .pipe(Schema.brand("TrustedProxies"))
export type TrustedProxies = typeof TrustedProxies.Type

/** Throws if an entry is invalid. */
export const trustedProxies = (entries: ReadonlyArray<string>): TrustedProxies => TrustedProxies.make(entries)

/** The address of the current request's client. `undefined` outside of requests. */
export const current = Effect.map(CurrentRequest, (request) => request?.clientAddress)

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const withoutPort = (text: string): string => text.replace(/^(\[.*\]|[\d.]+):\d+$/, "$1")

const parse = (text: string) => Address.parse(withoutPort(text.trim()))

/** Node's socket names an IPv4 client of an IPv6 listener `::ffff:192.0.2.1`. */
const mapped = "::ffff:"

/**
 * Returns the address of a request's client: the sender of the request or, if that is a trusted proxy, the rightmost address
 * of `X-Forwarded-For` that is not one. Addresses further left come from the client, which may have made them up. If an entry is
 * no address, the client is the proxy that has added it; if all are trusted, it is the first of them.
 */
export const reader = (proxies: TrustedProxies) => {
  const ranges = proxies.flatMap((entry) => Address.parseRange(entry) ?? [])
  const isTrusted = (address: Address.Address) => ranges.some((range) => Address.isWithin(address, range))

  const behind = (sender: Address.Address, forwarded: string): Address.Address => {
    let client = sender
    for (const entry of forwarded.split(",").toReversed()) {
      const next = isTrusted(client) ? parse(entry) : undefined
      if (next === undefined) return client
      client = next
    }
    return client
  }

  return (request: HttpServerRequest.HttpServerRequest): string | undefined => {
    const sender = Option.getOrUndefined(request.remoteAddress)
    const forwarded = ranges.length === 0 ? undefined : request.headers["x-forwarded-for"]
    // Without proxies the text of the socket is used as it is, because this is done for every request.
    if (sender === undefined || (forwarded === undefined && !sender.startsWith(mapped))) return sender
    const address = Address.parse(sender)
    return address === undefined ? sender : String(behind(address, forwarded ?? ""))
  }
}
