// RPC providers: their URLs, of which responses contain only masked ones, what they can do, and how fresh their newest block is.
import { Effect, Result, Schema } from "effect"
import { field, shown } from "../request/Field.ts"
import type { Violation } from "../request/Request.ts"
import * as Shown from "../request/Shown.ts"
import { text } from "../request/Shown.ts"
import type { Moment } from "../../networks/core/TransactionValues.ts"

const maxUrlLength = 2048

/** `URL.parse` removes blanks at both ends, and tabs and line breaks anywhere, so that another URL would be called. */
const isWithoutBlanks = (url: string): boolean => !/[\p{Cc}\s]/u.test(url)

const isHttpUrl = Schema.makeFilter(
  (url: string) => {
    const parsed = isWithoutBlanks(url) ? URL.parse(url) : null
    return parsed !== null && (parsed.protocol === "http:" || parsed.protocol === "https:") && parsed.hostname !== ""
  },
  {
    expected: "an http or https URL",
    toJsonSchema: () => ({ format: "uri" }),
    arbitraryConstraint: { patterns: [{ source: "^https://[a-z]{1,12}\\.example(/[a-z0-9]{1,8})?$", flags: "" }] }
  }
)

export const HttpUrl = text(1, maxUrlLength).check(isHttpUrl)

/** A URL that responses show unmasked, so it must not contain a key. */
export const ShownUrl = HttpUrl.check(
  Schema.makeFilter(
    (url: string) => {
      const parsed = URL.parse(url)
      return parsed !== null && parsed.username + parsed.password === "" && !/[?#]/.test(url)
    },
    { expected: "a URL without credentials, query and fragment", toJsonSchema: () => [{}, true] }
  )
)

const share = "Share of the calls, relative to the other URLs. A URL with weight 0 is never called."

const Weight = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100 }))

/** An RPC URL as in requests. It is a secret. */
export const RpcConfig = Schema.Struct({
  url: field(
    HttpUrl,
    "URL of the provider. It is encrypted at rest and returned masked.",
    "https://rpc.example.com/v1/my-key"
  ),
  weight: field(Weight.pipe(Schema.withDecodingDefaultKey(Effect.succeed(100))), `${share} The default is 100.`, 100)
}).annotate({
  identifier: "RpcConfigRequest",
  description: "A provider of a chain.",
  expected: 'an object of url and weight, such as {"url":"https://rpc.example.com"}'
})
export type RpcConfig = typeof RpcConfig.Type

/**
 * Parameters of endpoints of Flashbots Protect that publish what they get (docs.flashbots.net, November 2026): a URL with one of them is not
 * private.
 */
const publishing = ["useMempool", "mempoolRPC"] as const

/** What in a URL makes an endpoint publish what it gets. Undefined: nothing. */
export const publishesBy = (url: string): string | undefined => {
  const given = URL.parse(url)?.searchParams
  return publishing.find((name) => given?.has(name) === true && given.get(name) !== "false")
}

/** An RPC URL as in responses. */
export const MaskedRpcConfig = Schema.Struct({
  url: field(
    Shown.MaskedUrl,
    "URL of the provider, without path, query and credentials.",
    "https://rpc.example.com/***"
  ),
  weight: field(Weight, share, 100)
}).annotate({ identifier: "RpcConfig", description: "A provider of a chain, with its URL masked." })
export type MaskedRpcConfig = typeof MaskedRpcConfig.Type

/** Keeps scheme, host and port. Path, query, fragment and credentials become `/***`. */
export const maskUrl = (url: string): string => {
  const parsed = URL.parse(url)
  if (parsed === null) return "***"
  const bare = parsed.pathname === "/" && parsed.username + parsed.password + parsed.search + parsed.hash === ""
  return bare ? parsed.origin : `${parsed.origin}/***`
}

/** Characters of a part of a URL that can be a secret: shorter ones are words such as `v2` and `rpc`. */
const shortestSecret = 6

/** A text of a provider without what `maskUrl` hides of its URL: providers repeat keys in their errors. */
export const withoutSecrets = (url: string, text: string): string => {
  const parsed = URL.parse(url)
  if (parsed === null) return text
  const { hash, password, pathname, searchParams, username } = parsed
  const parts = [...pathname.split("/"), ...searchParams.values(), username, password, hash.slice(1)]
  return parts
    .filter(({ length }) => length >= shortestSecret)
    .toSorted((one, other) => other.length - one.length)
    .reduce((masked, part) => masked.replaceAll(part, "***"), text)
}

/** Whether `maskUrl` has hidden a part of the URL. */
export const isMasked = (url: string): boolean => url.endsWith("/***")

export const maskRpc = (config: RpcConfig): MaskedRpcConfig => ({ url: maskUrl(config.url), weight: config.weight })

/**
 * The URLs of a change, in which a masked URL stands for a stored one: the n-th occurrence of a mask for the n-th stored
 * URL with that mask. `field` names the list in violations.
 */
export const unmask = (
  field: string,
  given: ReadonlyArray<RpcConfig>,
  stored: ReadonlyArray<RpcConfig>
): Result.Result<ReadonlyArray<RpcConfig>, ReadonlyArray<Violation>> => {
  const candidates = Map.groupBy(stored, ({ url }) => maskUrl(url))
  const violations: Array<Violation> = []
  const resolved = given.map(({ url, weight }, index) => {
    if (!isMasked(url)) return { url, weight }
    const found = candidates.get(url)?.shift()
    if (found !== undefined) return { url: found.url, weight }
    violations.push({
      field: `${field}.${index}.url`,
      message: "is masked, and no stored URL has this mask: send the URL itself"
    })
    return { url, weight }
  })
  return violations.length === 0 ? Result.succeed(resolved) : Result.fail(violations)
}

// What a provider can do, as a check of a network finds it. It decides how the service asks it, and what it can prove.

/** Each is absent if the provider did not say it, or if the network type has no such thing. */
export const factFields = {
  batch_size: shown(
    Schema.Natural,
    "Calls in one HTTP request that the service sends to it: 50 at most, or what it takes, as far as the instance that answers knows.",
    3
  ),
  client_version: shown(Shown.Words, "Software of its node, as it says.", "Geth/v1.16.9"),
  finalized: shown(Schema.Boolean, "Whether it knows the newest final block.", true),
  fee_history: shown(Schema.Boolean, "Whether it says which fees recent blocks took.", true),
  archive: shown(
    Schema.Boolean,
    "Whether it has the state of the first blocks (evm), or the transactions since the first slot (solana). Without it, what used a nonce long ago cannot be proven.",
    false
  )
}

const Facts = Schema.Struct(factFields)
export type ProviderFacts = typeof Facts.Type

// How long a provider has shown the same newest block, or given no answer, by the service's own clock.

/** Milliseconds without an answer or a new head, after which a provider is stalled, unless ten blocks take longer. */
const least = 30_000
const blocks = 10

export const stalledAfter = (blockTime: number): number => Math.max(least, blocks * blockTime)

export interface HeadWatch {
  /** The newest block, ledger or slot of the provider. Absent: it has not answered yet. */
  readonly hash?: string
  readonly height?: number
  /** When this head was first seen, or the observation began. */
  readonly since: Moment
  readonly askedAt: Moment
}

/** A provider was asked for its head. `head`: absent if it gave no answer. */
export const observedHead = (
  before: HeadWatch | undefined,
  head: { readonly hash: string; readonly number: number } | undefined,
  now: Moment,
  blockTime: number
): HeadWatch => {
  const seen = head === undefined ? {} : { hash: head.hash, height: head.number }
  if (before === undefined) return { ...seen, since: now, askedAt: now }
  // Nobody has asked meanwhile, so nothing is known of that time; but a provider that was stalled and shows the same still is.
  const isStill = head?.hash === before.hash && isStalled(before, blockTime)
  if (now - before.askedAt > stalledAfter(blockTime) && !isStill) return { ...seen, since: now, askedAt: now }
  if (head === undefined || head.hash === before.hash) return { ...before, askedAt: now }
  return { ...seen, since: now, askedAt: now }
}

export const isStalled = ({ since, askedAt }: HeadWatch, blockTime: number): boolean =>
  askedAt - since >= stalledAfter(blockTime)

/** A provider is far behind if its newest block is more than `blocks` lower than that of another one, and at least `milliseconds` older. */
const far = { blocks: 3, milliseconds: 30_000 } as const

/** The newest block of a provider, and when it was made. Absent `timestamp`: the provider does not say. */
interface Newest {
  readonly number: number
  readonly timestamp?: Moment
}

/** Whether the newest block is so old that another provider can be far ahead. */
export const mayBeBehind = ({ timestamp }: Newest, now: Moment): boolean =>
  timestamp !== undefined && now - timestamp >= far.milliseconds

/**
 * Whether a provider is far behind another one. It is then asked last, but it does not count as stalled and keeps its opinion: otherwise a
 * provider that invents a high block could silence those that contradict it.
 */
export const isFarBehind = (own: Newest, other: Newest): boolean =>
  other.number - own.number > far.blocks &&
  own.timestamp !== undefined &&
  other.timestamp !== undefined &&
  other.timestamp - own.timestamp >= far.milliseconds
