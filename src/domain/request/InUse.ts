// Why something cannot be deleted: what uses it, by name.

/** Names of users that are told. */
export const maxNamed = 10

/** `used by relayers: a, b`; of more than `maxNamed`, the first, and that there are more. */
export const usedBy = (kind: string, ids: ReadonlyArray<string>): string => {
  const more = ids.length > maxNamed ? ", and more" : ""
  return `used by ${kind}: ${ids.slice(0, maxNamed).join(", ")}${more}`
}
