// Versions of a resource as entity tags (RFC 9110, section 8.8.3), for conditional requests.
import { Schema } from "effect"

/** A value with its version, which starts at 1 and counts changes. */
export interface Versioned<A> {
  readonly value: A
  readonly version: number
}

/** The resource has changed since the caller read it. */
export class PreconditionFailed extends Schema.TaggedError<PreconditionFailed>()("PreconditionFailed", {}) {}

/** A strong entity tag. */
export const entityTag = (version: number): string => `"${version}"`

/** Strong comparison: a weak tag (`W/"..."`) matches nothing. */
const matches = (ifMatch: string, version: number): boolean => {
  const tags = new Set(ifMatch.split(",").map((tag) => tag.trim()))
  return tags.has("*") || tags.has(entityTag(version))
}

/** True without `ifMatch`. */
export const isCurrent = (ifMatch: string | undefined, version: number): boolean =>
  ifMatch === undefined || matches(ifMatch, version)

const withoutWeakness = (tag: string): string => tag.trim().replace(/^W\//, "")

/** Whether `If-None-Match` names `tag`. The comparison is weak: `W/"3"` names `"3"` as well. */
export const isKnown = (ifNoneMatch: string, tag: string): boolean => {
  const tags = new Set(ifNoneMatch.split(",").map(withoutWeakness))
  return tags.has("*") || tags.has(withoutWeakness(tag))
}
