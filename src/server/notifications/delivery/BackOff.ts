// When a delivery that has failed is tried again.
import { Duration } from "effect"

const shortest = 5_000
const longest = Duration.toMillis("1 hour")

/** Milliseconds until the next attempt after so many failures, from 1; `random` is from 0 to 1. */
export const delay = (failures: number, random: number): number =>
  Math.round(Math.min(shortest * 2 ** (failures - 1), longest) * (0.75 + 0.25 * random))

/** Milliseconds that a `Retry-After` header (RFC 9110, section 10.2.3) asks for: seconds, or a date. */
export const retryAfter = (header: string | undefined, now: number): number | undefined => {
  if (header === undefined) return undefined
  const seconds = /^\d+$/.test(header.trim()) ? Number(header) : undefined
  const until = seconds === undefined ? Date.parse(header) : now + seconds * 1000
  return Number.isNaN(until) ? undefined : Math.max(until - now, 0)
}
