// Versions of a resource, and the conditions of requests on them (RFC 9110, sections 8.8.3 and 13.1).
import { Schema } from "effect"

/** A resource, and the name of its version. No other state of any resource under the same id ever has the same name. */
export interface Versioned<A> {
  readonly value: A
  readonly version: string
}

/** The resource has changed since the caller read it. */
export class PreconditionFailed extends Schema.TaggedError<PreconditionFailed>()("PreconditionFailed", {}) {
  override readonly message = "the resource has another version than If-Match names; read it again"
}

/** A strong entity tag. */
export const entityTag = (version: string): string => `"${version}"`

const tagsOf = (header: string): ReadonlyArray<string> => header.split(",").map((tag) => tag.trim())

/**
 * Whether `If-Match` names `version`. The comparison is strong: a weak tag (`W/"…"`) names nothing. Absent `ifMatch`: there is
 * no condition.
 */
export const isCurrent = (ifMatch: string | undefined, version: string): boolean => {
  if (ifMatch === undefined) return true
  const tags = tagsOf(ifMatch)
  return tags.includes("*") || tags.includes(entityTag(version))
}

const withoutWeakness = (tag: string): string => tag.replace(/^W\//, "")

/** Whether `If-None-Match` names `tag`. The comparison is weak: `W/"3"` names `"3"` as well. */
export const isKnown = (ifNoneMatch: string, tag: string): boolean => {
  const tags = tagsOf(ifNoneMatch)
  return tags.includes("*") || tags.map(withoutWeakness).includes(withoutWeakness(tag))
}
