// The request that is being answered: its id, its caller, its client's address, and header fields of its response.
import { Context, Effect, Option, Schema } from "effect"
import type { HttpServerRequest } from "effect/http"
import * as Caller from "../../domain/access/Caller.ts"
import { isWithin, parseAddress, parseRange } from "../../outbound/Outbound.ts"
import type { Address } from "../../outbound/Outbound.ts"

/** Work that waits for key services has limits of its own: it stops the time of the request. */
interface TimeLimit {
  readonly ms: number
  readonly stop: () => void
  /** From the beginning. */
  readonly restart: () => void
}

export interface RequestState {
  readonly id: string
  /** `ClientAddress.reader` finds it. `undefined` if the server knows none, as with Unix sockets. */
  readonly clientAddress: string | undefined
  /** Id of the caller. `undefined` until the caller is authenticated. */
  actor: string | undefined
  /** The time that the request has. Absent: it has no limit. */
  timeLimit?: TimeLimit
  /** Set by the endpoint. A response that is stored for its `Idempotency-Key` keeps them. */
  readonly headers: Map<string, string>
  /** What records of the log about this request have: its id and, as soon as it is known, its caller. */
  readonly annotations: Record<string, unknown>
  /** True of this response only, such as the state of the rate limit. They are never stored. */
  readonly ownHeaders: Map<string, string>
}

/** `around`: what records of the log have outside of this request. */
export const makeRequestState = (
  id: string,
  clientAddress: string | undefined,
  around: Readonly<Record<string, unknown>>
): RequestState => ({
  id,
  clientAddress,
  annotations: { ...around, request_id: id },
  actor: undefined,
  headers: new Map(),
  ownHeaders: new Map()
})

/** `undefined` outside of requests. */
export const CurrentRequest = Context.Reference<RequestState | undefined>(
  "effect-relayer/server/responses/CurrentRequest",
  { defaultValue: () => undefined }
)

/** `undefined` outside of requests. */
export const currentRequestId = Effect.map(CurrentRequest, (request) => request?.id)

/** Sets a header field of the endpoint. */
export const setHeader = (name: string, value: string) =>
  Effect.map(CurrentRequest, (request) => void request?.headers.set(name, value))

// Which caller and which request a change comes from.

export interface Origin {
  /** The id of the caller's API key. */
  readonly keyId: string
  /** Null outside of requests. */
  readonly requestId: string | null
  /** Null outside of requests. */
  readonly clientAddress: string | null
}

export const currentOrigin: Effect.Effect<Origin> = Effect.map(
  Effect.all([Caller.current, CurrentRequest]),
  ([{ id }, request]) => ({
    keyId: id,
    requestId: request?.id ?? null,
    clientAddress: request?.clientAddress ?? null
  })
)

// The network address of a client, also if its request comes through proxies.

/** The addresses and ranges of proxies whose `X-Forwarded-For` is believed. */
export const TrustedProxies = Schema.Array(Schema.String)
  .check(
    Schema.makeFilter((entries: ReadonlyArray<string>) => {
      const wrong = entries.find((entry) => parseRange(entry) === undefined)
      return wrong === undefined
        ? undefined
        : `entry "${wrong}" is not an IP address or a range such as 10.1.0.0/16 that starts at its first address`
    })
  )
  .pipe(Schema.brand("TrustedProxies"))
export type TrustedProxies = typeof TrustedProxies.Type

/** Throws if an entry is invalid. */
export const makeTrustedProxies = (entries: ReadonlyArray<string>): TrustedProxies => TrustedProxies.make(entries)

/** The address of the current request's client. `undefined` outside of requests. */
export const currentAddress = Effect.map(CurrentRequest, (request) => request?.clientAddress)

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const withoutPort = (text: string): string => text.replace(/^(\[.*\]|[\d.]+):\d+$/, "$1")

const addressOfPeer = (text: string) => parseAddress(withoutPort(text.trim()))

/** Node's socket names an IPv4 client of an IPv6 listener `::ffff:192.0.2.1`. */
const mapped = "::ffff:"

/**
 * Returns the address of a request's client: the sender of the request or, if that is a trusted proxy, the rightmost address
 * of `X-Forwarded-For` that is not one. Addresses further left come from the client, which may have made them up. If an entry is
 * no address, the client is the proxy that has added it; if all are trusted, it is the first of them.
 */
export const addressReader = (proxies: TrustedProxies) => {
  const ranges = proxies.flatMap((entry) => parseRange(entry) ?? [])
  const isTrusted = (address: Address) => ranges.some((range) => isWithin(address, range))

  const behind = (sender: Address, forwarded: string): Address => {
    let client = sender
    for (const entry of forwarded.split(",").toReversed()) {
      const next = isTrusted(client) ? addressOfPeer(entry) : undefined
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
    const address = parseAddress(sender)
    return address === undefined ? sender : String(behind(address, forwarded ?? ""))
  }
}
