// Secrets that an import moves out of its input, and the references that take their places.
import { variableName } from "../../domain/configuration/Reference.ts"

export const unescaped = (text: string): string => text.replaceAll("$${", () => "${")

export interface Secrets {
  /** Values by the names of their variables, for the file of secrets. */
  readonly moved: ReadonlyMap<string, string>
  /** The name of the variable. Another value under the same name gets a number. */
  readonly move: (parts: ReadonlyArray<string | number>, value: string) => string
  /** Names of all variables that the written document reads. */
  readonly needed: ReadonlySet<string>
  readonly need: (name: string) => void
}

/** A name of an environment variable, made of the parts. */
const variableOf = (parts: ReadonlyArray<string | number>): string => {
  const name = parts
    .join("_")
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, "_")
    .slice(0, 120)
  return /^[A-Z_]/.test(name) ? name : `_${name}`
}

/** `${NAME}` of a file that is a template, which another program fills in: no text of a running service contains it. */
const template = /(?<!\$)\$\{([A-Za-z_][A-Za-z0-9_]{0,127})\}/gu

/**
 * Texts of a service without variables. `${NAME}` stays a variable, because such a file is a template. Any other `${` is written as `$${`, so
 * that the loader of the file reads it as it was.
 */
export const escaped = (text: string): string => {
  const rest = text
    .split(template)
    .map((part, index) => (index % 2 === 1 ? `\${${part}}` : part.replaceAll("${", () => "$${")))
  return rest.join("")
}

/** The variable of `${NAME}` alone. */
export const wholeVariable = (text: string): string | undefined => {
  const name = /^\$\{([^}]+)\}$/u.exec(text)?.[1]
  return name !== undefined && variableName.test(name) ? name : undefined
}

interface Options {
  /** Gives the text of a secret as it was in the input: files of secrets have no variables. */
  readonly original?: (text: string) => string
  /** Names of variables of the input: a value that is moved must not get the name of another one. */
  readonly taken?: ReadonlySet<string>
}

export const make = ({ original = (text) => text, taken = new Set() }: Options = {}): Secrets => {
  const moved = new Map<string, string>()
  const needed = new Set<string>()
  return {
    moved,
    needed,
    need: (name) => void needed.add(name),
    move: (parts, given) => {
      const value = original(given)
      const base = variableOf(parts)
      let name = base
      for (
        let next = 2;
        (moved.has(name) && moved.get(name) !== value) || (!moved.has(name) && (needed.has(name) || taken.has(name)));
        next += 1
      ) {
        name = `${base}_${next}`
      }
      moved.set(name, value)
      needed.add(name)
      return name
    }
  }
}
