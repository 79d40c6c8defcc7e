// Finds environment variables that are probably misspelled settings: they would have no effect, and nobody would notice.
import { mistakes } from "../../domain/request/Suggestion.ts"
import { variables } from "./Variables.ts"

const names: ReadonlyArray<string> = Object.keys(variables)

/** Shorter names resemble too many variables of other programs, such as HOST and HOME: of them, only two letters may be swapped. */
const minLength = 7

/** Letters that are missing, added, replaced or swapped. */
const maxMistakes = ({ length }: string): number => (length < 10 ? 1 : 2)

const lettersOf = (name: string): string => [...name].sort().join("")

const isMisspelled = (given: string, name: string): boolean => {
  if (name.length < minLength && lettersOf(given) !== lettersOf(name)) return false
  return Math.abs(name.length - given.length) <= maxMistakes(name) && mistakes(given, name) <= maxMistakes(name)
}

export interface Misspelled {
  readonly variable: string
  readonly setting: string
}

type Source = Readonly<Record<string, string | undefined>>

/** Of `sources`, the names only: values may be secret. A setting that is set under its own name is not missing. */
export const find = (...sources: ReadonlyArray<Source>): ReadonlyArray<Misspelled> => {
  const given = new Set(sources.flatMap((source) => Object.keys(source)))
  const missing = names.filter((name) => !given.has(name))
  return [...given]
    .filter((variable) => !names.includes(variable))
    .flatMap((variable) => {
      const upper = variable.toUpperCase()
      const setting = missing.find((name) => isMisspelled(upper, name))
      return setting === undefined ? [] : [{ variable, setting }]
    })
}
