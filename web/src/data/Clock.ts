// The time of the service. Ages are counted by it, because the clock of a browser may be wrong by an hour.
let offset = 0

/** Milliseconds since 1970, by the clock of the service. */
export const now = (): number => performance.timeOrigin + performance.now() + offset

/** `date` is the header field `Date` of a response, which has a resolution of a second. */
export const noteServerTime = (date: string | undefined): void => {
  const served = Date.parse(date ?? "")
  if (!Number.isNaN(served)) offset = served - (performance.timeOrigin + performance.now())
}

/** Milliseconds by which the clock of the browser is ahead of that of the service. */
export const clockAhead = (): number => -offset
