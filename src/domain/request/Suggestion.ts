// Finds the known name that a misspelled one resembles.

/** The number of characters to insert, delete or replace (Levenshtein). */
const distance = (one: string, other: string): number => {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const [index, character] of [...one].entries()) {
    const next = [index + 1]
    for (let column = 1; column <= other.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (character === other[column - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[other.length] ?? 0
}

/** A name with more different characters than this was not meant. */
const maxDistance = 3

/** Longer names are not compared, because the time grows with the square of their length. */
const maxLength = 64

export const suggestionFor = (name: string, known: ReadonlyArray<string>): string | undefined => {
  if (name.length > maxLength) return undefined
  const [best] = known
    .map((candidate) => ({ candidate, steps: distance(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, steps }) => steps <= Math.min(maxDistance, Math.floor(candidate.length / 2)))
    .sort((one, other) => one.steps - other.steps)
  return best?.candidate
}
