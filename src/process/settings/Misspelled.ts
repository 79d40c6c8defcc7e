// Finds environment variables that are probably misspelled settings: they would have no effect, and nobody would notice.
import { variables } from "./Variables.ts"

const names: ReadonlyArray<string> = Object.keys(variables)

/** Shorter names resemble too many variables of other programs, such as HOST and HOME. */
const minLength = 7

/** Letters that are missing, added, replaced or swapped. */
const maxMistakes = ({ length }: string): number => (length < 10 ? 1 : 2)

/** The number of such mistakes between two texts, which grows row by row (optimal string alignment). */
const mistakes = (one: string, other: string): number => {
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

export interface Misspelled {
  readonly variable: string
  readonly setting: string
}

type Source = Readonly<Record<string, string | undefined>>

/** Of `sources`, the names only: values may be secret. A setting that is set under its own name is not missing. */
export const find = (...sources: ReadonlyArray<Source>): ReadonlyArray<Misspelled> => {
  const given = new Set(sources.flatMap((source) => Object.keys(source)))
  const missing = names.filter((name) => name.length >= minLength && !given.has(name))
  return [...given]
    .filter((variable) => !names.includes(variable))
    .flatMap((variable) => {
      const upper = variable.toUpperCase()
      const setting = missing.find(
        (name) =>
          Math.abs(name.length - upper.length) <= maxMistakes(name) && mistakes(upper, name) <= maxMistakes(name)
      )
      return setting === undefined ? [] : [{ variable, setting }]
    })
}
