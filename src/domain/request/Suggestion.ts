// Finds the known name that a misspelled one resembles.

/** The number of missing, added, replaced or swapped letters, computed row by row (optimal string alignment). */
export const mistakes = (one: string, other: string): number => {
  let previous: ReadonlyArray<number> = []
  let last = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (let i = 1; i <= one.length; i++) {
    const row = [i]
    for (let j = 1; j <= other.length; j++) {
      const same = one[i - 1] === other[j - 1]
      const swapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]
      row[j] = Math.min(
        (last[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (last[j - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (previous[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY
      )
    }
    previous = last
    last = row
  }
  return last[other.length] ?? 0
}

/** If a name differs by more mistakes than this, the user did not mean it. */
const maxMistakes = 3

/** Longer names are not compared, because the time grows with the square of their length. */
const maxLength = 64

export const suggestionFor = (name: string, known: ReadonlyArray<string>): string | undefined => {
  if (name.length > maxLength) return undefined
  const [best] = known
    .map((candidate) => ({ candidate, count: mistakes(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, count }) => count <= Math.min(maxMistakes, Math.floor(candidate.length / 2)))
    .sort((one, other) => one.count - other.count)
  return best?.candidate
}
