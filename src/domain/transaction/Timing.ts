// The two moments of a send: it begins at `not_before`, and has no effect after `valid_until`.
import { DateTime } from "effect"
import type { Violation } from "../request/Request.ts"
import type { Moment } from "./Moment.ts"
import { maxValidity } from "./Numbers.ts"

type Timed = {
  readonly valid_until?: DateTime.Utc | undefined
  readonly not_before?: DateTime.Utc | undefined
}

const millisOf = (moment: DateTime.Utc | undefined): Moment | undefined =>
  moment === undefined ? undefined : DateTime.toEpochMillis(moment)

const days = maxValidity / 86_400_000
const tooFar = `must be within ${days} days`

/** `validity`: milliseconds until the deadline of a send that gives none. Each network type has its own. */
export const timing = (validity: number) => {
  /** The deadline that the request gives, else `validity` after it may begin. */
  const deadlineOf = ({ valid_until, not_before }: Timed, now: Moment): Moment =>
    millisOf(valid_until) ?? Math.max(millisOf(not_before) ?? now, now) + validity

  const deadline = (request: Timed, { now }: { readonly now: Moment }): Violation | undefined => {
    const validUntil = millisOf(request.valid_until)
    if (validUntil === undefined) return undefined
    if (validUntil <= now) return { field: "valid_until", message: "must be in the future" }
    return validUntil > now + maxValidity ? { field: "valid_until", message: tooFar } : undefined
  }

  const beginning = (request: Timed, { now }: { readonly now: Moment }): Violation | undefined => {
    const notBefore = millisOf(request.not_before)
    if (notBefore === undefined) return undefined
    if (notBefore >= now + maxValidity) return { field: "not_before", message: tooFar }
    return notBefore >= deadlineOf(request, now)
      ? { field: "not_before", message: "must be before valid_until" }
      : undefined
  }

  return { deadlineOf, deadline, beginning }
}
