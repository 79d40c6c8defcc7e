// The header fields of draft-ietf-httpapi-ratelimit-headers-10.
import { HttpServerResponse } from "effect/http"
import type { Allowance, Options } from "./RateLimits.ts"

/** Sets them on an answer. */
export const make = ({ burst, requestsPerSecond }: Options) => {
  const policy = `"default";q=${burst};w=${Math.ceil(burst / requestsPerSecond)}`
  return ({ remaining, resetSeconds }: Pick<Allowance, "remaining" | "resetSeconds">) =>
    HttpServerResponse.setHeaders({
      "ratelimit-policy": policy,
      ratelimit: `"default";r=${remaining};t=${resetSeconds}`
    })
}
