// The error text of a delete that is refused because the resource is in use.

/** At most this many users are named. */
export const maxNamed = 10

/** Such as `used by relayers: a, b`. With more than `maxNamed` users, it ends in `and more`. */
export const usedBy = (kind: string, ids: ReadonlyArray<string>): string => {
  const more = ids.length > maxNamed ? ", and more" : ""
  return `used by ${kind}: ${ids.slice(0, maxNamed).join(", ")}${more}`
}
