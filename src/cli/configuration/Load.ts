// Loads a configuration: its files and includes, merged with its overlays, and the secrets that it refers to.
import { Result } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Document from "../../domain/configuration/Document.ts"
import { decodeObject, idViolation, isKind, kinds, shapesOfObject } from "../../domain/configuration/Document.ts"
import type { Kind, WantedConfiguration, WantedObject } from "../../domain/configuration/Document.ts"
import { filesInFolder, interpret, matchingFiles, openRoots, readConfiguration } from "./Interpretation.ts"
import type { Roots } from "./Interpretation.ts"
import { parse } from "./Parse.ts"
import { isNull, placeOf, placeText } from "./Tree.ts"
import type { Entry, MapTree, Place, Problem, Tree, Variables } from "./Tree.ts"

// Merges the files of a configuration, and applies overlays (RFC 7396).

const sections: ReadonlySet<string> = new Set(kinds)

interface Merged {
  readonly tree: MapTree
  readonly problems: ReadonlyArray<Problem>
}

const joinSection = (name: string, one: Entry, other: Entry, problems: Array<Problem>): Entry => {
  if (isNull(other.value)) return one
  if (isNull(one.value)) return other
  if (one.value.type !== "map" || other.value.type !== "map") return one.value.type === "map" ? other : one
  const entries = new Map(one.value.entries)
  for (const [id, entry] of other.value.entries) {
    const known = entries.get(id)
    if (known === undefined) entries.set(id, entry)
    else {
      const message = `is here twice, the first time at ${placeText(known.place)}`
      problems.push({ path: `${name}.${id}`, message, place: entry.place })
    }
  }
  return { place: one.place, value: { ...one.value, entries } }
}

/** `version` and `name` may be in several files if they are equal. */
const joinHead = (name: string, one: Entry, other: Entry, problems: Array<Problem>): Entry => {
  const isSame = one.value.type === "scalar" && other.value.type === "scalar" && one.value.value === other.value.value
  if (!isSame) {
    problems.push({ path: name, message: `is different at ${placeText(one.place)}`, place: other.place })
  }
  return one
}

/** Joins the sections of files. The same id in two files is a problem that names both places. */
export const joinTrees = (first: MapTree, others: ReadonlyArray<MapTree>): Merged => {
  const problems: Array<Problem> = []
  const entries = new Map(first.entries)
  for (const other of others) {
    for (const [name, entry] of other.entries) {
      const known = entries.get(name)
      const joined = sections.has(name) ? joinSection : joinHead
      entries.set(name, known === undefined ? entry : joined(name, known, entry, problems))
    }
  }
  return { tree: { ...first, entries }, problems }
}

/** Applies a merge patch: null removes a member, a map patches a map, every other value replaces. */
export const overlayTree = (target: Tree | undefined, patch: Tree): Tree => {
  if (patch.type !== "map") return patch
  const entries = new Map(target?.type === "map" ? target.entries : [])
  for (const [name, entry] of patch.entries) {
    if (isNull(entry.value)) entries.delete(name)
    else entries.set(name, { place: entry.place, value: overlayTree(entries.get(name)?.value, entry.value) })
  }
  return { ...patch, entries }
}

export interface ConfigurationInput {
  /** Files and folders. */
  readonly files: ReadonlyArray<string>
  readonly overlays: ReadonlyArray<string>
  /** Folders that may be read beside the folder of the first file. */
  readonly roots: ReadonlyArray<string>
  readonly variables: Variables
}

export interface Loaded {
  readonly wanted: WantedConfiguration
  /** What the service gets: bodies with resolved references. It contains secrets. */
  readonly document: { readonly [name: string]: unknown }
  /** Texts with `${NAME}`, by path. */
  readonly templates: ReadonlyMap<string, string>
  /** Paths of values that are never shown. */
  readonly hidden: ReadonlySet<string>
}

type Problems = ReadonlyArray<Problem>

const members: ReadonlySet<string> = new Set(["version", "name", "include", ...kinds])

/** A file with no known member is no configuration: none of its keys is quoted. */
const checkMembers = (tree: Tree): Problems => {
  const notOne = [{ path: "", message: "is not a configuration of relayers", place: tree.place }]
  if (tree.type !== "map") return notOne
  return tree.entries.size === 0 || [...tree.entries.keys()].some((name) => members.has(name)) ? [] : notOne
}

const readTree = (roots: Roots, file: string, namedAt?: Place): Result.Result<MapTree, Problems> => {
  const read = readConfiguration(roots, file)
  if ("problem" in read) {
    const message = namedAt === undefined ? read.problem : `the included file ${read.problem}`
    return Result.fail([{ path: namedAt === undefined ? file : "include", message, place: namedAt }])
  }
  return Result.flatMap(parse(file, read.text), (tree) => {
    const problems = checkMembers(tree)
    return tree.type === "map" && problems.length === 0 ? Result.succeed(tree) : Result.fail(problems)
  })
}

/** The files of `include` with their places. */
const includesOf = (tree: MapTree, file: string, roots: Roots, problems: Array<Problem>) => {
  const include = tree.entries.get("include")?.value
  if (include === undefined || isNull(include)) return []
  const items = include.type === "list" ? include.items : [include]
  return items.flatMap((item) => {
    if (item.type !== "scalar" || typeof item.value !== "string" || item.value === "") {
      problems.push({ path: "include", message: "expected a list of files", place: item.place })
      return []
    }
    const found = matchingFiles(roots, path.dirname(file), item.value)
    if (found.length === 0) problems.push({ path: "include", message: "matches no file", place: item.place })
    return found.map((name) => ({ file: name, place: item.place }))
  })
}

const withoutInclude = (tree: MapTree): MapTree => ({
  ...tree,
  entries: new Map([...tree.entries].filter(([name]) => name !== "include"))
})

/** Reads files and what they include, each file once. Included files precede the file that includes them. */
const readAll = (files: ReadonlyArray<string>, roots: Roots, problems: Array<Problem>): ReadonlyArray<MapTree> => {
  const seen = new Set<string>()
  const trees: Array<MapTree> = []
  const visit = (file: string, namedAt?: Place) => {
    const identity = path.resolve(file)
    if (seen.has(identity)) return
    seen.add(identity)
    const read = readTree(roots, file, namedAt)
    if (Result.isFailure(read)) {
      problems.push(...read.failure)
      return
    }
    for (const included of includesOf(read.success, file, roots, problems)) visit(included.file, included.place)
    trees.push(withoutInclude(read.success))
  }
  for (const file of files) visit(file)
  return trees
}

/** The files of `-f`, with those of folders. */
const expand = (files: ReadonlyArray<string>, problems: Array<Problem>): ReadonlyArray<string> =>
  files.flatMap((file) => {
    const isFolder = fs.statSync(file, { throwIfNoEntry: false })?.isDirectory() === true
    if (!isFolder) return [file]
    const found = filesInFolder(file)
    if (found.length === 0) problems.push({ path: file, message: "has no *.yaml and no *.json", place: undefined })
    return found
  })

const rootsOf = (given: ConfigurationInput, problems: Array<Problem>): Roots => {
  const [first = "."] = given.files
  const isFolder = fs.statSync(first, { throwIfNoEntry: false })?.isDirectory() === true
  const folders = [isFolder ? first : path.dirname(first), ...given.roots].filter((folder) => {
    const exists = fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true
    if (!exists) problems.push({ path: folder, message: "is not a folder", place: undefined })
    return exists
  })
  return openRoots(folders)
}

const applyOverlays = (tree: MapTree, given: ConfigurationInput, roots: Roots, problems: Array<Problem>): MapTree => {
  let merged: MapTree = tree
  for (const file of given.overlays) {
    const read = readTree(roots, file)
    if (Result.isFailure(read)) {
      problems.push(...read.failure)
      continue
    }
    const include = read.success.entries.get("include")
    if (include !== undefined) {
      problems.push({ path: "include", message: "is not supported in an overlay", place: include.place })
    }
    const result = overlayTree(merged, read.success)
    if (result.type === "map") merged = result
  }
  return merged
}

/** The merged tree of all files, or what is wrong with them. */
const merge = (
  given: ConfigurationInput
): Result.Result<{ readonly tree: MapTree; readonly roots: Roots }, Problems> => {
  const problems: Array<Problem> = []
  const roots = rootsOf(given, problems)
  if (problems.length > 0) return Result.fail(problems)
  const [first, ...others] = readAll(expand(given.files, problems), roots, problems)
  if (first === undefined) {
    return Result.fail(problems.length > 0 ? problems : [{ path: "", message: "no file is given", place: undefined }])
  }
  const joined = joinTrees(first, others)
  problems.push(...joined.problems)
  const tree = applyOverlays(joined.tree, given, roots, problems)
  return problems.length === 0 ? Result.succeed({ tree, roots }) : Result.fail(problems)
}

const scalar = (tree: Tree | undefined): unknown => {
  if (tree?.type !== "scalar") return undefined
  return typeof tree.value === "bigint" ? Number(tree.value) : tree.value
}

/** The objects of a section, as bodies for the service. */
interface Section {
  readonly bodies: ReadonlyArray<readonly [id: string, body: unknown]>
  readonly objects: ReadonlyArray<WantedObject>
}

/** Resolves the references of a merged document and decodes it. All problems are reported at once. */
const resolve = (tree: MapTree, roots: Roots, variables: Variables): Result.Result<Loaded, Problems> => {
  const problems: Array<Problem> = []
  const templates = new Map<string, string>()
  const hidden = new Set<string>()

  const section = (kind: Kind, value: MapTree): Section => {
    const bodies: Array<readonly [string, unknown]> = []
    const objects: Array<WantedObject> = []
    for (const [id, entry] of value.entries) {
      const at = `${kind}.${id}`
      const wrongId = idViolation(kind, id)
      if (wrongId !== undefined) {
        problems.push({ path: at, message: wrongId, place: entry.place })
        continue
      }
      const found = interpret(entry.value, shapesOfObject(kind, id), at, { variables, roots })
      for (const [path, text] of found.templates) templates.set(path, text)
      for (const path of found.hidden) hidden.add(path)
      problems.push(...found.problems)
      bodies.push([id, found.body])
      // A reference that is not resolved is one problem, not two.
      if (found.problems.length > 0) continue
      const decoded = decodeObject(kind, id, found.body)
      if (Result.isSuccess(decoded)) objects.push(decoded.success)
      else {
        for (const { field, message } of decoded.failure) {
          const names = field === "" ? [] : field.split(".")
          const place = placeOf(entry.value, names, entry.place)
          problems.push({ path: [at, ...names].join("."), message, place })
        }
      }
    }
    return { bodies, objects }
  }

  const head = Object.fromEntries(
    [...tree.entries].filter(([name]) => !isKind(name)).map(([name, { value }]) => [name, scalar(value)])
  )
  for (const { field, message } of Document.headViolations(head)) {
    problems.push({ path: field, message, place: placeOf(tree, [field], tree.place) })
  }
  const document: Record<string, unknown> = { version: 1, name: head["name"] }
  const objects: Array<WantedObject> = []
  const sections = new Set<Kind>()
  for (const kind of kinds) {
    const value = tree.entries.get(kind)?.value
    if (value === undefined || isNull(value)) continue
    if (value.type !== "map") {
      problems.push({ path: kind, message: "expected a map of objects by their ids", place: value.place })
      continue
    }
    sections.add(kind)
    const read = section(kind, value)
    document[kind] = Object.fromEntries(read.bodies)
    objects.push(...read.objects)
  }
  if (problems.length > 0) return Result.fail(problems)
  return Result.succeed({ wanted: { name: String(head["name"]), sections, objects }, document, templates, hidden })
}

export const load = (given: ConfigurationInput): Result.Result<Loaded, Problems> =>
  Result.flatMap(merge(given), ({ tree, roots }) => resolve(tree, roots, given.variables))
