// A parsed file: values with their places, and the environment variables that it may read.
import { brokenAt } from "../../domain/request/ExactJson.ts"

export interface Place {
  readonly file: string
  readonly line: number
  readonly column: number
}

export interface Entry {
  /** Place of the key. */
  readonly place: Place
  readonly value: Tree
}

export interface MapTree {
  readonly type: "map"
  readonly place: Place
  readonly entries: ReadonlyMap<string, Entry>
}

export interface ListTree {
  readonly type: "list"
  readonly place: Place
  readonly items: ReadonlyArray<Tree>
}

export interface ScalarTree {
  readonly type: "scalar"
  readonly place: Place
  readonly value: string | number | bigint | boolean | null
  /** The text in the file, of a scalar without quotes. */
  readonly source: string | undefined
}

export type Tree = MapTree | ListTree | ScalarTree

/** What is wrong with a document, and where. It never contains a value of the document. */
export interface Problem {
  /** Names the field, such as `relayers.treasury.policies`. Empty for a file as a whole. */
  readonly path: string
  readonly message: string
  readonly place: Place | undefined
}

export const placeText = ({ file, line, column }: Place): string => `${file}:${line}:${column}`

/** Replaces characters of names that do not print. The names come from the file. */
const printable = (text: string): string => text.slice(0, 256).replace(/[\p{C}\u2028\u2029]/gu, "?")

export const problemText = ({ path, message, place }: Problem): string =>
  `${path === "" ? "" : `${printable(path)}: `}${message}${place === undefined ? "" : ` (${placeText(place)})`}`

export const isNull = (tree: Tree | undefined): boolean =>
  tree === undefined || (tree.type === "scalar" && tree.value === null)

const child = (tree: Tree | undefined, name: string): Tree | undefined => {
  if (tree?.type === "map") return tree.entries.get(name)?.value
  return tree?.type === "list" ? tree.items[Number(name)] : undefined
}

/** The place of the field at the path, or of the innermost object around it that exists. `start` is the place of the tree. */
export const placeOf = (tree: Tree, path: ReadonlyArray<string>, start: Place): Place => {
  let found = tree
  let place = start
  for (const name of path) {
    const entry = found.type === "map" ? found.entries.get(name) : undefined
    const next = entry?.value ?? child(found, name)
    if (next === undefined) break
    place = entry?.place ?? next.place
    found = next
  }
  return place
}

// The environment variables that a configuration may read: those that match a pattern of `--env`.

/** A pull request must not reach the other secrets of a CI job. */
const defaultPattern = "RELAYER_*"

type Found = { readonly value: string } | { readonly problem: string }

export type Variables = (name: string) => Found

const matches = (pattern: string, name: string): boolean => {
  const parts = pattern.split("*").map((part) => part.replace(/[^A-Za-z0-9_]/g, "\\$&"))
  return new RegExp(`^${parts.join("[A-Za-z0-9_]*")}$`, "u").test(name)
}

/** `files`: variables of files that the user has named, all of which may be read. The answer about a name that no pattern allows does not say whether the variable is set. */
export const variableReader = (
  environment: Readonly<Record<string, string | undefined>>,
  patterns: ReadonlyArray<string> = [],
  files: Readonly<Record<string, string | undefined>> = {}
): Variables => {
  const allowed = [defaultPattern, ...patterns]
  const refusal = `only variables ${allowed.join(", ")} are read; allow it with --env`
  return (name) => {
    const inFile = Object.hasOwn(files, name) ? files[name] : undefined
    if (inFile !== undefined && inFile !== "") return { value: inFile }
    if (!allowed.some((pattern) => matches(pattern, name))) return { problem: refusal }
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined
    return value === undefined || value === "" ? { problem: `the environment variable ${name} is not set` } : { value }
  }
}

/** Why a text is no JSON, with the place where it stops being JSON. Undefined: it is. Nothing of the text is quoted. */
export const jsonProblem = (file: string, given: string): Problem | undefined => {
  const place = brokenAt(given.replace(/^\uFEFF/, ""))
  return place && { path: "", message: "is not valid JSON", place: { file, ...place } }
}
