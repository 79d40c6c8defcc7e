// Computes when a failed delivery is attempted again.
import { Duration, Result } from "effect"
import { Headers } from "effect/http"

const shortest = 5_000
const longest = Duration.toMillis("1 hour")

/** Milliseconds until the next attempt after `failures`, from 1; `random` is from 0 to 1. */
export const delay = (failures: number, random: number): number =>
  Math.round(Math.min(shortest * 2 ** (failures - 1), longest) * (0.75 + 0.25 * random))

/** Milliseconds that a `Retry-After` header (RFC 9110, section 10.2.3) asks for. `now` is in milliseconds since 1970. */
export const retryAfter = (header: string | undefined, now: number): number | undefined => {
  const parsed = Result.getOrUndefined(Headers.parseRetryAfter(header ?? ""))
  return parsed === undefined ? undefined : Duration.toMillis(Headers.retryAfterDelay(parsed, now))
}
