// The header fields of draft-ietf-httpapi-ratelimit-headers-10.
import type { Allowance, Options } from "./RateLimits.ts"

export const make = ({ burst, requestsPerSecond }: Options) => {
  const policy = `"default";q=${burst};w=${Math.ceil(burst / requestsPerSecond)}`
  return ({ remaining, resetSeconds }: Pick<Allowance, "remaining" | "resetSeconds">) =>
    [
      ["ratelimit-policy", policy],
      ["ratelimit", `"default";r=${remaining};t=${resetSeconds}`]
    ] as const
}
