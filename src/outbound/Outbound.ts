// The HTTP client for URLs that users give: it reaches public and allowed hosts, within limits of time and size.
import { ByteSize, Cause, Context, Duration, Effect, Layer, Option, Result, Schema, SchemaTransformation } from "effect"
import {
  Headers,
  HttpBody,
  HttpClient,
  HttpClientError,
  HttpClientRequest,
  HttpClientResponse,
  HttpIncomingMessage,
  UrlParams
} from "effect/http"
import { Host, IpNetwork, NetAddress } from "effect/net"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { lookup } from "node:dns/promises"
import { isIP } from "node:net"
import type { LookupFunction } from "node:net"

// Destinations of requests: addresses and names of hosts, which of them are special, and which internal ones are allowed.

/**
 * In the form in which equal addresses reach the same host: an IPv4-mapped address (`::ffff:0:0/96`), and an address with the
 * well-known NAT64 prefix (`64:ff9b::/96`), is the IPv4 address that it contains.
 */
export type Address = NetAddress.IpAddress

export type Range = IpNetwork.IpNetwork

/** Why an address is not public. `reserved` covers ranges from which nothing is served. */
export type SpecialAddress =
  | "broadcast"
  | "cloud metadata"
  | "link-local"
  | "loopback"
  | "multicast"
  | "private"
  | "reserved"
  | "shared"
  | "unspecified"

const nat64 = IpNetwork.fromStringUnsafe("64:ff9b::/96")

const lastOctets = (address: NetAddress.Ipv6Address) =>
  NetAddress.ipv4FromBytesUnsafe(Uint8Array.from(NetAddress.ipv6ToOctets(address).slice(12)))

const canonical = (address: NetAddress.IpAddress): Address =>
  NetAddress.isIpv6Address(address) && IpNetwork.contains(nat64, address)
    ? lastOctets(address)
    : NetAddress.toCanonical(address)

/** Accepts the brackets of a URL and the zone of a resolver (`fe80::1%eth0`). */
const parseExact = (text: string): NetAddress.IpAddress | undefined => {
  const bare = /^\[.*:.*\]$/.test(text) ? text.slice(1, -1) : text
  const withoutZone = bare.includes(":") ? bare.replace(/%.*$/u, "") : bare
  return Result.getOrUndefined(NetAddress.ipFromString(withoutZone))
}

/** `undefined` if the text is not an address. */
export const parseAddress = (text: string): Address | undefined => {
  const address = parseExact(text)
  return address === undefined ? undefined : canonical(address)
}

/** The bits before the IPv4 address in an address that contains one. */
const embeddingBits = 96

/** An address, or a range such as `10.1.0.0/16` that starts at its first address. `undefined` if the text is neither. */
export const parseRange = (text: string): Range | undefined => {
  const [start = "", length, ...rest] = text.split("/")
  const exact = parseExact(start)
  if (exact === undefined || rest.length > 0 || (length !== undefined && !/^\d{1,3}$/u.test(length))) return undefined
  const address = canonical(exact)
  const embedding = NetAddress.width(exact) > NetAddress.width(address) ? embeddingBits : 0
  const prefix = length === undefined ? NetAddress.width(address) : Number(length) - embedding
  return Result.getOrUndefined(IpNetwork.make(address, prefix))
}

export const isWithin = (address: Address, range: Range): boolean => IpNetwork.contains(range, address)

/**
 * The IANA registries of special-purpose IPv4 and IPv6 addresses, and the addresses at which clouds serve credentials. The first match
 * counts. Teredo and ORCHID are in `2001::/23`; 6to4 (`2002::/16`) embeds IPv4 addresses and is no longer used.
 */
const special = Object.entries({
  "cloud metadata":
    "169.254.169.254 169.254.170.2 169.254.170.23 100.100.100.200 168.63.129.16 192.0.0.192 " +
    "fd00:ec2::254 fd00:ec2::23 fd20:ce::254",
  unspecified: "0.0.0.0/8 ::",
  loopback: "127.0.0.0/8 ::1",
  private: "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7 fec0::/10",
  "link-local": "169.254.0.0/16 fe80::/10",
  shared: "100.64.0.0/10",
  multicast: "224.0.0.0/4 ff00::/8",
  broadcast: "255.255.255.255",
  reserved:
    "192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 " +
    "2001::/23 2001:db8::/32 2002::/16 3fff::/20"
} satisfies Record<SpecialAddress, string>).map(([kind, ranges]) => ({
  kind: kind as SpecialAddress,
  ranges: ranges.split(" ").flatMap((range) => parseRange(range) ?? [])
}))

/** The rest of IPv6 is unassigned, or embeds an IPv4 address in a form that is no longer used. */
const assigned = ["0.0.0.0/0", "2000::/3"].map(IpNetwork.fromStringUnsafe)

/** `undefined` if the address is public. */
export const classifyAddress = (address: Address): SpecialAddress | undefined => {
  const found = special.find(({ ranges }) => ranges.some((range) => isWithin(address, range)))
  return found?.kind ?? (assigned.some((range) => isWithin(address, range)) ? undefined : "reserved")
}

// Parses host names, and tells names of internal hosts from public ones.

/** Why a name is not public. */
export type SpecialHostName = "cloud metadata" | "loopback" | "private"

/** In lower case and ASCII, without dots at the end. `undefined` if the text is not a host name. */
export const parseHostName = (text: string): string | undefined =>
  Result.getOrUndefined(Result.map(Host.domainNameFromString(text.replace(/\.+$/u, "")), Host.toRelative))

const metadata = new Set([
  "instance-data",
  "instance-data.ec2.internal",
  "metadata",
  "metadata.goog",
  "metadata.google.internal",
  "metadata.tencentyun.com"
])

const isBelow = (name: string, domain: string) => name === domain || name.endsWith(`.${domain}`)

/** RFC 6761, 6762 and 8375, and the domain that ICANN reserved for private use in 2024. */
const inside = ["local", "localdomain", "internal", "home.arpa"]

/** For a name that `parse` returned. `undefined` if the name is not special; its addresses may still be. */
export const classifyHostName = (name: string): SpecialHostName | undefined => {
  if (metadata.has(name)) return "cloud metadata"
  if (isBelow(name, "localhost") || isBelow(name, "localhost.localdomain")) return "loopback"
  return inside.some((domain) => isBelow(name, domain)) ? "private" : undefined
}

// The internal hosts and address ranges that URLs of users may point to.

/** A list in a setting: `localhost,10.1.0.0/16`. White space and empty entries are ignored. */
export const CommaSeparated = Schema.String.pipe(
  Schema.decodeTo(
    Schema.Array(Schema.String),
    SchemaTransformation.transform({
      decode: (text: string): ReadonlyArray<string> =>
        text
          .split(",")
          .map((entry) => entry.trim())
          .filter((entry) => entry !== ""),
      encode: (entries) => entries.join(",")
    })
  )
)

/** As much of an entry as a message shows. */
const printable = (entry: string) => entry.slice(0, 64).replace(/\p{C}/gu, "?")

const isEntry = (text: string) => parseRange(text) !== undefined || parseHostName(text) !== undefined

const AllowList = Schema.Array(Schema.String)
  .check(
    Schema.makeFilter((entries: ReadonlyArray<string>) => {
      const wrong = entries.findIndex((entry) => !isEntry(entry))
      if (wrong === -1) return undefined
      return `entry ${wrong + 1}, "${printable(entries[wrong] ?? "")}", is not a host name, an IP address, or a range that starts at its first address`
    })
  )
  .pipe(Schema.brand("AllowList"))
export type AllowList = typeof AllowList.Type

/** `localhost,10.1.0.0/16`. */
export const AllowListFromText = CommaSeparated.pipe(Schema.decodeTo(AllowList))

/** Throws if an entry is invalid. */
export const makeAllowList = (entries: ReadonlyArray<string>): AllowList => AllowList.make(entries)

/** A range allows the addresses in it and no names. A name allows itself, whatever it resolves to. */
export const compileAllowList = (list: AllowList) => {
  const names = new Set(list.map(parseHostName))
  const ranges = list.flatMap((entry) => parseRange(entry) ?? [])
  return {
    /** For a name that `HostName.parse` returned. */
    name: (name: string) => names.has(name),
    address: (address: Address) => ranges.some((range) => isWithin(address, range))
  }
}

// The guard's refusal, its words, and the failed request that it causes.

/** Why a destination may not be reached. It contains nothing of the URL. */
export type Refusal =
  | { readonly _tag: "NotHttp" }
  /** By http to a host that is not allowed by name, though https is required of other hosts. */
  | { readonly _tag: "NotHttps" }
  | { readonly _tag: "InvalidHostName" }
  | {
      readonly _tag: "NotPublic"
      /** Whether the URL itself, or the addresses of its name, are not public. */
      readonly source: "url" | "lookup"
      readonly kind: SpecialAddress
      readonly what: "address" | "host"
    }

/** Follows the name of the field of the URL. `notAllowed` ends the message about a destination that is not public. */
export const describeRefusal = (refusal: Refusal, notAllowed = ", which is not allowed"): string => {
  if (refusal._tag === "NotHttp") return "is not an http or https URL"
  if (refusal._tag === "InvalidHostName") return "does not have a valid host name"
  if (refusal._tag === "NotHttps") return `the URL has http instead of https${notAllowed}`
  const { source, kind, what } = refusal
  const article = kind === "unspecified" ? "an" : "a"
  return `${source === "url" ? "points" : "resolves"} to ${article} ${kind} ${what}${notAllowed}`
}

/** `message` contains nothing of the URL, for example "resolves to a private address, which is not allowed". */
export class OutboundRefused extends Schema.TaggedError<OutboundRefused>()("OutboundRefused", {
  message: Schema.NonEmptyString
}) {}

/** Why the guard refused the request. `undefined`: the request failed for another reason. */
export const refusal = (error: HttpClientError.HttpClientError): OutboundRefused | undefined =>
  error.reason.cause instanceof OutboundRefused ? error.reason.cause : undefined

/** The part of a request that errors and responses may show. Paths, queries, headers and bodies may contain secrets. */
const withoutUrl = (request: HttpClientRequest.HttpClientRequest, url: URL | undefined) =>
  HttpClientRequest.makeWith(
    request.method,
    url?.origin ?? "",
    UrlParams.empty,
    Option.none(),
    Headers.empty,
    HttpBody.empty
  )

const outboundFailure = (request: HttpClientRequest.HttpClientRequest, cause: unknown, description?: string) => {
  const text = cause instanceof OutboundRefused ? cause.message : description
  const reason = { request, cause, ...(text === undefined ? {} : { description: text }) }
  return new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError(reason) })
}

// Decides whether a destination may be reached: by its URL, and by the addresses of its name.

export interface Guard {
  /** Checks a URL before its name is resolved. `httpsOnly`: http only leads to hosts that are allowed by name. `undefined`: it may be reached. */
  url(url: string, httpsOnly?: boolean): Refusal | undefined
  /** Checks the addresses that a name resolved to. One internal address is enough to refuse it. */
  addresses(name: string, addresses: ReadonlyArray<string>): Refusal | undefined
}

export const makeGuard = (list: AllowList): Guard => {
  const allowed = compileAllowList(list)

  const kindOf = (text: string): SpecialAddress | undefined => {
    const address = parseAddress(text)
    if (address === undefined) return "reserved"
    return allowed.address(address) ? undefined : classifyAddress(address)
  }

  return {
    url: (url, httpsOnly = false) => {
      const parsed = URL.parse(url)
      if (parsed === null || !/^https?:$/u.test(parsed.protocol)) return { _tag: "NotHttp" }
      const isWrongScheme = httpsOnly && parsed.protocol === "http:"
      const address = parseAddress(parsed.hostname)
      if (address !== undefined) {
        const kind = kindOf(parsed.hostname)
        if (kind !== undefined) return { _tag: "NotPublic", source: "url", kind, what: "address" }
        return isWrongScheme && !allowed.address(address) ? { _tag: "NotHttps" } : undefined
      }
      const name = parseHostName(parsed.hostname)
      if (name === undefined) return { _tag: "InvalidHostName" }
      if (allowed.name(name)) return undefined
      const kind = classifyHostName(name)
      if (kind !== undefined) return { _tag: "NotPublic", source: "url", kind, what: "host" }
      return isWrongScheme ? { _tag: "NotHttps" } : undefined
    },
    addresses: (text, addresses) => {
      const name = parseHostName(text)
      if (name !== undefined && allowed.name(name)) return undefined
      const kind = addresses.map(kindOf).find((kind) => kind !== undefined)
      return kind === undefined ? undefined : { _tag: "NotPublic", source: "lookup", kind, what: "address" }
    }
  }
}

// The DNS lookup of the HTTP agent: it returns only addresses that the guard has checked.

/** Returns all addresses of a name, in the order in which they are tried. */
type Resolve = (name: string) => Promise<ReadonlyArray<string>>

/** Returns the message of the refusal. `undefined`: the addresses may be reached. */
type LookupCheck = (name: string, addresses: ReadonlyArray<string>) => string | undefined

/** Resolves as the operating system does, which includes its hosts file. */
const resolveBySystem: Resolve = async (name) => {
  const found = await lookup(name, { all: true })
  return found.map(({ address }) => address)
}

/** Node connects to the addresses that this returns, and does not resolve the name again. */
const makeLookup = (check: LookupCheck, resolve: Resolve): LookupFunction => {
  const find = async (name: string) => {
    const addresses = await resolve(name)
    const message = check(name, addresses)
    if (message !== undefined) throw new OutboundRefused({ message })
    const [first, ...others] = addresses.map((address) => ({ address, family: isIP(address) }))
    if (first === undefined) throw new Error("the name has no address")
    return { first, others }
  }
  return (name, { all }, callback) => {
    find(name).then(
      ({ first, others }) => {
        if (all === true) callback(null, [first, ...others])
        else callback(null, first.address, first.family)
      },
      (error: NodeJS.ErrnoException) => callback(error, [])
    )
  }
}

export interface Options {
  /** Hosts, addresses and ranges that are not public, but may be reached. An invalid entry is a defect. Absent: none. */
  readonly allow?: ReadonlyArray<string>
  /** Ends the message about a destination that is not public. Absent: `, which is not allowed`. */
  readonly notAllowed?: string | undefined
  /** The time from the lookup of the name to the last byte of the body. Absent: 10 seconds. */
  readonly timeout?: Duration.Input
  /** Bytes of a response body. Absent: 1 MiB. */
  readonly maxResponseBytes?: number
  /** Absent: as the operating system resolves names. */
  readonly resolve?: Resolve
}

/** Milliseconds. Servers usually keep idle connections longer, so that no request meets a connection that the server closes. */
const idleMs = 4000

const withoutBody = new Set([204, 205, 304])

const failing = (cause: unknown) => new ReadableStream({ start: (controller) => controller.error(cause) })

/**
 * Reads a response completely, so that it holds no connection. A response whose body exceeds `maxBytes`, or breaks off, is still a response: only reading its body fails. Fails with the cause if
 * Node accepts a response that the Fetch standard does not, such as the status 999.
 */
const readAnswer = Effect.fnUntraced(function* (response: HttpClientResponse.HttpClientResponse, maxBytes: number) {
  const { headers, status } = response
  const body = yield* response.arrayBuffer.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(maxBytes)),
    Effect.result
  )
  const content = Result.isSuccess(body) ? body.success : failing(body.failure.reason.cause)
  return yield* Effect.try(() => new Response(withoutBody.has(status) ? null : content, { headers, status }))
})

const make = Effect.fnUntraced(function* (options: Options) {
  const { allow = [], maxResponseBytes = 1_048_576, resolve = resolveBySystem } = options
  const timeout = Duration.fromInputUnsafe(options.timeout ?? "10 seconds")
  const guard = makeGuard(yield* Effect.sync(() => makeAllowList(allow)))
  const words = (refusal: Refusal | undefined) =>
    refusal === undefined ? undefined : describeRefusal(refusal, options.notAllowed)
  const refuse = (url: string, httpsOnly?: boolean) => words(guard.url(url, httpsOnly))
  const lookup = makeLookup((name, addresses) => words(guard.addresses(name, addresses)), resolve)
  const agent = yield* NodeHttpClient.makeAgent({ lookup, keepAlive: true, timeout: idleMs })
  const node = yield* Effect.provideService(NodeHttpClient.makeNodeHttp, NodeHttpClient.HttpAgent, agent)
  const { execute } = HttpClient.withScope(node)

  /** When this ends, the connection is free or closed. Fails with the cause. */
  const exchange = (request: HttpClientRequest.HttpClientRequest) =>
    // Without compression, the limit on the body counts the bytes on the wire.
    execute(HttpClientRequest.removeHeader(request, "accept-encoding")).pipe(
      Effect.mapError(({ reason }) => reason.cause),
      // Node throws if it cannot send something, such as a line break in a header.
      Effect.catchDefect(Effect.fail),
      Effect.flatMap((response) => readAnswer(response, maxResponseBytes)),
      Effect.scoped,
      // The client would put the whole URL into a span, and trace headers into requests to strangers.
      Effect.provideService(HttpClient.TracerDisabledWhen, () => true)
    )

  const send = (request: HttpClientRequest.HttpClientRequest) => {
    const url = Option.getOrUndefined(HttpClientRequest.toUrl(request))
    const shown = withoutUrl(request, url)
    const message = refuse(url?.href ?? "")
    return (message === undefined ? exchange(request) : Effect.fail(new OutboundRefused({ message }))).pipe(
      Effect.mapBoth({
        onFailure: (cause) => outboundFailure(shown, cause),
        onSuccess: (answer) => HttpClientResponse.fromWeb(shown, answer)
      }),
      Effect.timeoutOrElse({
        duration: timeout,
        orElse: () =>
          Effect.fail(outboundFailure(shown, new Cause.TimeoutError(), `no answer in ${Duration.format(timeout)}`))
      }),
      Effect.withSpan("Outbound.send", {
        kind: "client",
        attributes: { "http.request.method": request.method, "server.address": url?.hostname }
      })
    )
  }

  return Outbound.of({
    refuse,
    client: HttpClient.makeWith<never, never, HttpClientError.HttpClientError, never>(
      Effect.flatMap(send),
      Effect.succeed
    )
  })
})

const restrict = ({ client, refuse }: Outbound["Service"], rule: (url: URL) => string | undefined) => {
  const check = (request: HttpClientRequest.HttpClientRequest) => {
    const url = Option.getOrUndefined(HttpClientRequest.toUrl(request))
    const message = url === undefined ? undefined : rule(url)
    return message === undefined
      ? Effect.succeed(request)
      : Effect.fail(outboundFailure(withoutUrl(request, url), new OutboundRefused({ message })))
  }
  return {
    refuse: (text: string, httpsOnly?: boolean) => {
      const url = URL.parse(text)
      return refuse(text, httpsOnly) ?? (url === null ? undefined : rule(url))
    },
    client: HttpClient.mapRequestEffect(client, check)
  }
}

export class Outbound extends Context.Service<
  Outbound,
  {
    /**
     * Says why a URL may not be reached, before its name is resolved: "points to a loopback address, which is not allowed".
     * The text contains nothing of the URL. `undefined`: it may be reached. `httpsOnly`: by http only if the list of what may
     * be reached names the host, or the range of the address.
     */
    refuse(url: string, httpsOnly?: boolean): string | undefined
    /** It does not follow redirects, keep cookies, or use a proxy. */
    readonly client: HttpClient.HttpClient
  }
>()("effect-relayer/outbound/Outbound") {
  /**
   * @internal
   * For a feature that reaches other hosts than URLs of users may. Its connections end with the scope.
   */
  static readonly make = make

  static readonly layer = (options: Options = {}) => Layer.effect(Outbound, make(options))

  /**
   * Adds a rule of a host program to the policy of another `Outbound`. The rule says why a URL may not be reached, as a text
   * that follows the name of the field, such as "points to a host that is not on our list". `undefined`: it may be reached.
   */
  static readonly layerRestricted = (rule: (url: URL) => string | undefined) =>
    Layer.effect(
      Outbound,
      Effect.map(Outbound, (outbound) => Outbound.of(restrict(outbound, rule)))
    )
}
