// RPC endpoints. Providers put keys into paths and queries, so only masked URLs leave the service.
import { Effect, Result, Schema } from "effect"
import type { Violation } from "../request/Request.ts"
import { text } from "../request/Text.ts"

const maxUrlLength = 2048

const isHttpUrl = Schema.makeFilter(
  (url: string) => {
    const parsed = URL.parse(url)
    return parsed !== null && (parsed.protocol === "http:" || parsed.protocol === "https:") && parsed.hostname !== ""
  },
  {
    expected: "an http or https URL",
    arbitraryConstraint: { patterns: [{ source: "^https://[a-z]{1,12}\\.example(/[a-z0-9]{1,8})?$", flags: "" }] }
  }
)

export const HttpUrl = text(1, maxUrlLength).check(isHttpUrl).annotate({ format: "uri" })

/** A URL that is shown as it is, and so can hold no key. */
export const ShownUrl = HttpUrl.check(
  Schema.makeFilter(
    (url: string) => {
      const parsed = URL.parse(url)
      return parsed !== null && parsed.username + parsed.password === "" && !/[?#]/.test(url)
    },
    { expected: "a URL without credentials, query and fragment" }
  )
)

const Weight = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100 }))

/** As given by a caller: secret. */
export const RpcConfig = Schema.Struct({
  url: HttpUrl,
  /** Share of the calls, relative to the other URLs; 0 is never chosen. */
  weight: Weight.pipe(Schema.withDecodingDefaultKey(Effect.succeed(100)))
}).annotate({ identifier: "RpcConfigRequest" })
export type RpcConfig = typeof RpcConfig.Type

/** As shown: the URL is masked. */
export const MaskedRpcConfig = Schema.Struct({ url: Schema.String, weight: Weight }).annotate({
  identifier: "RpcConfig",
  description: "The URL without its path, query and credentials."
})
export type MaskedRpcConfig = typeof MaskedRpcConfig.Type

/** Keeps scheme, host and port; path, query, fragment and credentials become `/***`. */
export const maskUrl = (url: string): string => {
  const parsed = URL.parse(url)
  if (parsed === null) return "***"
  const bare = parsed.pathname === "/" && parsed.username + parsed.password + parsed.search + parsed.hash === ""
  return bare ? parsed.origin : `${parsed.origin}/***`
}

/** Whether a URL is what `maskUrl` shows of one that it has hidden something of. */
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
      message: "is masked and stands for no stored URL: send the URL itself"
    })
    return { url, weight }
  })
  return violations.length === 0 ? Result.succeed(resolved) : Result.fail(violations)
}
