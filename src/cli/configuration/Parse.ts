// Parses YAML and JSON into trees with places. Nothing of the text is quoted in a problem.
import { Result } from "effect"
import { LineCounter, isAlias, isMap, isNode, isScalar, isSeq, parseDocument } from "yaml"
import type { Document, ErrorCode } from "yaml"
import { placeText } from "./Tree.ts"
import type { Entry, Place, Problem, Tree } from "./Tree.ts"

/** The limits of the service: 8 MiB and 200,000 members (the members of all maps and lists). */
export const maxBytes = 8 * 1024 * 1024
const maxMembers = 200_000

/** Deeper than any object of the contract, and far from overflowing the stack. */
const maxDepth = 64

const messages: Partial<Record<ErrorCode, string>> = {
  BAD_ALIAS: "the alias is not valid",
  BAD_DIRECTIVE: "the directive is not valid",
  BAD_DQ_ESCAPE: "the escape sequence in the quoted text is not valid",
  BAD_INDENT: "the indentation is not valid",
  BAD_SCALAR_START: "a text must not start with this character: quote it",
  BLOCK_AS_IMPLICIT_KEY: "nested mappings need lines of their own",
  BLOCK_IN_FLOW: "a block is not allowed between brackets",
  MISSING_CHAR: "a character such as a closing quote or bracket is missing",
  MULTILINE_IMPLICIT_KEY: "a key must be on one line",
  MULTIPLE_DOCS: "a file contains one document",
  RESOURCE_EXHAUSTION: "nests too deep",
  TAB_AS_INDENT: "tabs are not allowed as indentation",
  TAG_RESOLVE_FAILED: "tags are not supported"
}

interface Pair {
  readonly key: unknown
  readonly value?: unknown
}

const keyOf = (key: unknown): string | undefined => {
  if (!isScalar(key)) return undefined
  if (typeof key.value === "string") return key.value
  return key.source ?? (key.value === null ? undefined : String(key.value))
}

type PlaceAt = (offset: number | undefined) => Place

const empty = (place: Place): Tree => ({ type: "scalar", place, value: null, source: undefined })

const scalarValue = (value: unknown) => {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value
  return typeof value === "number" || typeof value === "bigint" ? value : String(value)
}

/** Converts the nodes of a document. Aliases are followed, and what they multiply counts as members. */
const convert = (document: Document, placeAt: PlaceAt, start: Place): Result.Result<Tree, ReadonlyArray<Problem>> => {
  const problems: Array<Problem> = []
  /** The nodes that aliases may refer to. */
  const anchors = new Map<string, unknown>()
  let members = 0
  /** After this problem nothing more is read. */
  let limit: Problem | undefined

  const exceeds = (place: Place, path: string, more: number, depth: number): boolean => {
    members += more
    if (members > maxMembers) limit ??= { path: "", message: `has more than ${maxMembers} members`, place }
    if (depth > maxDepth) limit ??= { path, message: `nests deeper than ${maxDepth} levels`, place }
    return limit !== undefined
  }

  const entriesOf = (pairs: ReadonlyArray<Pair>, path: string, depth: number, around: Place) => {
    const entries = new Map<string, Entry>()
    for (const { key, value } of pairs) {
      const name = keyOf(key)
      const place = isScalar(key) ? placeAt(key.range?.[0]) : around
      const at = path === "" ? (name ?? "") : `${path}.${name ?? ""}`
      const other = name === undefined ? undefined : entries.get(name)
      if (name === undefined) problems.push({ path, message: "a key must be a text", place })
      else if (other === undefined) entries.set(name, { place, value: treeOf(value, at, depth + 1, place) })
      else {
        problems.push({ path: at, message: `is here twice, the first time at ${placeText(other.place)}`, place })
      }
    }
    return entries
  }

  const treeOf = (node: unknown, path: string, depth: number, around: Place): Tree => {
    if (!isNode(node)) return empty(around)
    const place = placeAt(node.range?.[0])
    if (isAlias(node)) {
      if (exceeds(place, path, 1, depth)) return empty(place)
      if (!anchors.has(node.source)) problems.push({ path, message: "the alias refers to no anchor", place })
      return treeOf(anchors.get(node.source), path, depth + 1, place)
    }
    if (node.anchor !== undefined) anchors.set(node.anchor, node)
    if (node.tag !== undefined) problems.push({ path, message: "tags are not supported", place })
    if (isSeq(node)) {
      if (exceeds(place, path, node.items.length, depth)) return empty(place)
      return {
        type: "list",
        place,
        items: node.items.map((item, at) => treeOf(item, `${path}.${at}`, depth + 1, place))
      }
    }
    if (isMap(node)) {
      if (exceeds(place, path, node.items.length, depth)) return empty(place)
      return { type: "map", place, entries: entriesOf(node.items, path, depth, place) }
    }
    const isPlain = node.type === "PLAIN"
    return { type: "scalar", place, value: scalarValue(node.value), source: isPlain ? node.source : undefined }
  }

  const tree = treeOf(document.contents, "", 0, start)
  if (limit !== undefined) return Result.fail([limit])
  return problems.length === 0 ? Result.succeed(tree) : Result.fail(problems)
}

/** Parses the text of a file. JSON is read as YAML, which contains it. */
export const parse = (file: string, text: string): Result.Result<Tree, ReadonlyArray<Problem>> => {
  if (Buffer.byteLength(text) > maxBytes) {
    const place = { file, line: 1, column: 1 }
    return Result.fail([{ path: "", message: `is larger than ${maxBytes / 1024 / 1024} MiB`, place }])
  }
  const lineCounter = new LineCounter()
  const placeAt = (offset: number | undefined): Place => {
    const { line, col } = lineCounter.linePos(offset ?? 0)
    return { file, line: Math.max(1, line), column: Math.max(1, col) }
  }
  const document = parseDocument(text, {
    intAsBigInt: true,
    keepSourceTokens: false,
    lineCounter,
    merge: false,
    prettyErrors: false,
    schema: "core",
    uniqueKeys: false,
    version: "1.2"
  })
  const wrong = [...document.errors, ...document.warnings]
  if (wrong.length > 0) {
    return Result.fail(
      wrong.map(({ code, pos }) => ({
        path: "",
        message: messages[code] ?? "is not valid YAML",
        place: placeAt(pos[0])
      }))
    )
  }
  return convert(document, placeAt, { file, line: 1, column: 1 })
}
