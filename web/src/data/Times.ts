// Durations and moments as people read them.
import { DateTime } from "effect"

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** `8 s`, `13 min`, `2 h 5 min`, `3 d 4 h`. */
export const duration = (ms: number): string => {
  const total = Math.max(0, ms)
  if (total < minute) return `${Math.floor(total / second)} s`
  if (total < hour) return `${Math.floor(total / minute)} min`
  if (total < day) {
    const minutes = Math.floor((total % hour) / minute)
    return `${Math.floor(total / hour)} h${minutes === 0 ? "" : ` ${minutes} min`}`
  }
  const hours = Math.floor((total % day) / hour)
  return `${Math.floor(total / day)} d${hours === 0 ? "" : ` ${hours} h`}`
}

/** Between two steps of a timeline: with a digit after the point below a minute. */
export const step = (ms: number): string => (ms < minute ? `${(Math.max(0, ms) / second).toFixed(1)} s` : duration(ms))

/** How long an answer took: `42 ms`, or as a step from a second on. */
export const latency = (ms: number): string => (ms < second ? `${Math.max(0, ms)} ms` : step(ms))

/** `2026-01-02T03:12:04.000Z`. */
export const iso = (at: number): string => DateTime.formatIso(DateTime.makeUnsafe(at))

/** `2026-01-02`, in UTC. */
const dateOf = (at: number): string => iso(at).slice(0, 10)

/** `03:12:04`, in UTC, as in logs. */
export const clock = (at: number): string => iso(at).slice(11, 19)

/** `2026-01-02 03:12:04 UTC`. */
export const utc = (at: number): string => `${dateOf(at)} ${clock(at)} UTC`

/** The moment in the time zone of the browser. */
export const local = (at: number): string => DateTime.formatLocal(DateTime.makeUnsafe(at))

/** Today only the time, else with the date, both in UTC: a moment of tomorrow may be less than a day away. */
export const moment = (at: number, now: number): string =>
  dateOf(at) === dateOf(now) ? clock(at) : `${dateOf(at)} ${clock(at)}`
