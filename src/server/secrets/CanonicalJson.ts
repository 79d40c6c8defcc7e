// JSON text that is the same for equal values: the keys of objects are sorted, and absent fields are left out.

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, field]) => [key, sorted(field)])
  )
}

export const stringify = (value: unknown): string => JSON.stringify(sorted(value))
