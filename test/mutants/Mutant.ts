// A mutant: the service without one of its rules, and the test that has to notice it. `npm run mutants` applies each to a copy.
import { readFileSync } from "node:fs"

export interface Mutant {
  /** Names the rule, in words joined by hyphens. */
  readonly name: string
  /** The rule that is taken out, in one sentence. */
  readonly rule: string
  /** Where the rule is written down: a document and its row. */
  readonly source: string
  /** The source file that is changed. */
  readonly file: string
  /** Occurs once in the file. */
  readonly before: string
  /** Stands there instead. */
  readonly after: string
  /** The test file that must fail. */
  readonly test: string
  /** A part of the names of the tests that are run. Absent: all of the file. */
  readonly only?: string
}

/** Why a mutant cannot be applied. Undefined: it can. */
export const misfit = ({ file, before, after }: Mutant, root = "."): string | undefined => {
  if (before === after) return "changes nothing"
  const places = readFileSync(`${root}/${file}`, "utf8").split(before).length - 1
  return places === 1 ? undefined : `its text is in ${file} ${places} times`
}

/** The text of the file without the rule. */
export const mutated = ({ before, after }: Mutant, text: string): string => text.split(before).join(after)

/** The mutants of one source file. */
export const inFile = (file: string, mutants: ReadonlyArray<Omit<Mutant, "file">>): ReadonlyArray<Mutant> =>
  mutants.map((mutant) => ({ file, ...mutant }))
