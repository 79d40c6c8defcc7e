// Moments and ages. The tooltip has the moment in UTC and in the time zone of the browser.
import type { DateTime } from "effect"
import { now } from "../data/Clock.ts"
import { duration, iso, local, moment, utc } from "../data/Times.ts"
import { words } from "../words.ts"
import { useSecond } from "./useAtom.ts"

type Moment = DateTime.Utc | number

const millis = (at: Moment) => (typeof at === "number" ? at : at.epochMilliseconds)

const tooltip = (at: number) => `${utc(at)}\n${local(at)} ${words.time.local}`

export const At = ({ at }: { readonly at: Moment }) => {
  const ms = millis(at)
  return (
    <time dateTime={iso(ms)} title={tooltip(ms)}>
      {moment(ms, now())}
    </time>
  )
}

/** `13 min`, counted by the clock of the service. */
export const Age = ({ at }: { readonly at: Moment }) => {
  useSecond()
  const ms = millis(at)
  return (
    <time dateTime={iso(ms)} title={tooltip(ms)}>
      {duration(now() - ms)}
    </time>
  )
}

/** `in 18 s`, or `now` when the moment has come. */
export const Until = ({ at }: { readonly at: Moment }) => {
  useSecond()
  const ms = millis(at)
  const left = ms - now()
  return (
    <time dateTime={iso(ms)} title={tooltip(ms)}>
      {left < 1_000 ? words.time.now : `${words.time.in} ${duration(left)}`}
    </time>
  )
}
