// What is wrong with the fields of a request, from the issues of its decoding, with the name that a misspelled one resembles.
import { SchemaAST, SchemaIssue } from "effect"

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

/** What is wrong with a field of a request. The field is a path such as `policies.min_balance`. */
export interface Violation {
  readonly field: string
  readonly message: string
}

export interface Violations {
  readonly first: ReadonlyArray<Violation>
  /** The number of further violations. */
  readonly more: number
}

/** Violations that a 400 reports. A caller that fixes them sees the others. */
export const maxViolations = 50

/** The known field that an unknown one resembles. */
const meant = new WeakMap<SchemaIssue.Issue, string>()

const suggest = ({ issue, path }: SchemaIssue.Pointer) => {
  const name = path.at(-1)
  if (issue._tag !== "UnexpectedKey" || issue.ast._tag !== "Objects" || typeof name !== "string") return
  const known = issue.ast.propertySignatures.map((property) => String(property.name))
  const found = suggestionFor(name, known)
  if (found !== undefined) meant.set(issue, found)
}

const unknownField = (issue: SchemaIssue.Issue): string => {
  const known = meant.get(issue)
  return `is not a known field${known === undefined ? "" : `; did you mean ${known}?`}`
}

/** What a value of a type is called. Absent: it is named by its words, or not at all, such as null, which counts as absent. */
const words: Partial<Record<SchemaAST.AST["_tag"], string>> = {
  Arrays: "a list",
  BigInt: "a whole number",
  Boolean: "true or false",
  Number: "a number",
  Objects: "an object",
  String: "a text",
  TemplateLiteral: "a text"
}

/** The words of a check, if it has any. */
const expectedOf = ({ annotations }: { readonly annotations?: SchemaAST.AST["annotations"] }): string | undefined => {
  const expected = annotations?.["expected"]
  return typeof expected === "string" ? expected : undefined
}

/** What many texts have in common, and says least about one. */
const isGeneral = (expected: string): boolean => /^(text without NUL|\d+ to \d+ characters$)/u.test(expected)

const isWholeNumber = ({ _tag, checks }: SchemaAST.AST): boolean =>
  _tag === "Number" && (checks ?? []).some((check) => expectedOf(check) === "an integer")

/** Words of Effect about checks, which do not say what a length counts, and in the place of each what a message says. */
const ranges: ReadonlyArray<readonly [RegExp, string]> = [
  [/^a value with a length between (\d+) and (\d+)$/u, "$1 to $2 LENGTH"],
  [/^a value with a length of (at least |at most )?(\d+)$/u, "$1$2 LENGTH"],
  [/^a value between (\S+) and (\S+)$/u, "NUMBER from $1 to $2"],
  [/^a value /u, "NUMBER "],
  [/^an array with unique items$/u, "each entry once"]
]

/** The words of a check of this type. Words that a schema gives its own checks stay. */
const wordsOfCheck = (expected: string, ast: SchemaAST.AST): string => {
  const [pattern, words] = ranges.find(([pattern]) => pattern.test(expected)) ?? []
  if (pattern === undefined || words === undefined) return expected
  const entries = ast._tag === "String" ? "characters" : "entries"
  return expected
    .replace(pattern, words)
    .replace(/\b1 LENGTH$/u, ast._tag === "String" ? "1 character" : "1 entry")
    .replace("LENGTH", entries)
    .replace("NUMBER", isWholeNumber(ast) ? "an integer" : "a number")
}

/** What the checks of a text or a number say about it. */
const checksOf = (ast: SchemaAST.AST): string | undefined => {
  const { _tag, checks } = ast
  const all = (checks ?? []).flatMap((check) => {
    const expected = expectedOf(check)
    return expected === undefined ? [] : [wordsOfCheck(expected, ast)]
  })
  if (_tag === "String") return all.find((expected) => !isGeneral(expected)) ?? all.at(-1)
  return _tag === "Number" ? all.at(-1) : undefined
}

/** The values that a type has, each in words. Names of schemas are none. */
const alternatives = (ast: SchemaAST.AST): ReadonlyArray<string> => {
  if (ast._tag === "Declaration" && ast.encoding !== undefined) return alternatives(SchemaAST.toEncoded(ast))
  const expected = expectedOf(ast)
  if (expected !== undefined) return [expected]
  if (ast._tag === "Union") return [...new Set(ast.types.flatMap(alternatives))]
  if (ast._tag === "Literal") return [ast.literal === "" ? "an empty text" : String(ast.literal)]
  if (ast._tag === "Suspend") return alternatives(ast.thunk())
  const word = words[ast._tag]
  if (word === undefined) return []
  const more = checksOf(ast)
  if (more === undefined) return [word]
  return [ast._tag === "Number" ? more : `${word}: ${more}`]
}

const inWords = (ast: SchemaAST.AST): string => {
  const all = alternatives(ast)
  const [last = "another value"] = all.slice(-1)
  return all.length < 2 ? last : `${all.slice(0, -1).join(", ")} or ${last}`
}

/** Short messages for missing and unknown fields. All other messages say what was expected. */
const leafHook: SchemaIssue.LeafHook = (issue) => {
  if (issue._tag === "MissingKey") return "is required"
  if (issue._tag === "InvalidType") {
    const own = issue.ast.annotations?.["message"]
    return typeof own === "string" ? own : `Expected ${inWords(issue.ast)}`
  }
  return issue._tag === "UnexpectedKey" ? unknownField(issue) : SchemaIssue.defaultLeafHook(issue)
}

/** The type whose check failed. */
const checked = new WeakMap<SchemaIssue.Issue, SchemaAST.AST>()

/** A check without words of its own says what is expected of its type: of a number that is no integer, its bounds, too. */
const checkHook: SchemaIssue.CheckHook = (issue) => {
  const own = SchemaIssue.defaultCheckHook(issue)
  const ast = checked.get(issue)
  const hasOwn = issue.issue._tag !== "InvalidValue" || expectedOf(issue.issue) !== undefined
  const expected = expectedOf(issue.filter)
  if (own !== undefined || hasOwn || ast === undefined || expected === undefined) return own
  return `Expected ${(expected === "an integer" ? checksOf(ast) : undefined) ?? wordsOfCheck(expected, ast)}`
}

/** `reportInput` is not set, so issues carry no input and no message can contain a value of the request. */
const format = SchemaIssue.makeFormatterStandardSchemaV1({ leafHook, checkHook })

const segment = (key: PropertyKey | { readonly key: PropertyKey }) => String(typeof key === "object" ? key.key : key)

/** Names of unknown fields come from the caller: they are cut, and unprintable characters become `?`. */
const fieldName = (path: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined, root: string) => {
  const name = (path ?? []).map(segment).join(".")
  return name === "" ? root : name.slice(0, 128).replace(/\p{C}/gu, "?")
}

const isUnknownField = (issue: SchemaIssue.Issue): boolean =>
  issue._tag === "Pointer" && issue.issue._tag === "UnexpectedKey"

/** `Infinity` if the issue is not one of an object. */
const unknownFields = (issue: SchemaIssue.Issue): number =>
  issue._tag === "Composite" ? issue.issues.filter(isUnknownField).length : Number.POSITIVE_INFINITY

/** The issues of the members of a union that know most fields of the object: the caller meant one of these members. */
const closest = (issues: ReadonlyArray<SchemaIssue.Issue>): ReadonlyArray<SchemaIssue.Issue> => {
  const fewest = Math.min(...issues.map(unknownFields))
  return issues.filter((issue) => unknownFields(issue) === fewest)
}

/** Keeps the first `maxViolations` issues, because formatting one takes microseconds and a body may cause 100,000. */
const prune = (whole: SchemaIssue.Issue): { readonly issue: SchemaIssue.Issue | undefined; readonly more: number } => {
  let count = 0

  const keepLeaf = (leaf: SchemaIssue.Issue) => {
    count += 1
    return count > maxViolations ? undefined : leaf
  }

  const keep = (issue: SchemaIssue.Issue): SchemaIssue.Issue | undefined => {
    switch (issue._tag) {
      case "Composite": {
        for (const part of issue.issues) if (part._tag === "Filter") checked.set(part, issue.ast)
        const [first, ...others] = issue.issues.map(keep).filter((kept) => kept !== undefined)
        return first === undefined ? undefined : new SchemaIssue.Composite(issue.ast, [first, ...others])
      }
      case "AnyOf": {
        // No member takes a value of this type.
        if (issue.issues.length === 0) return keepLeaf(new SchemaIssue.InvalidType(issue.ast))
        const kept = closest(issue.issues)
          .map(keep)
          .filter((kept) => kept !== undefined)
        return kept.length === 0 ? undefined : new SchemaIssue.AnyOf(issue.ast, kept)
      }
      case "Pointer": {
        const kept = keep(issue.issue)
        if (kept === undefined) return undefined
        suggest(issue)
        return new SchemaIssue.Pointer(issue.path, kept)
      }
      case "Encoding": {
        const kept = keep(issue.issue)
        return kept === undefined ? undefined : new SchemaIssue.Encoding(issue.ast, kept)
      }
      default:
        return keepLeaf(issue)
    }
  }

  const issue = keep(whole)
  return { issue, more: Math.max(0, count - maxViolations) }
}

/** The first issue of each field. `root` is the name of the value as a whole. */
export const ofIssue = (whole: SchemaIssue.Issue, root: string): Violations => {
  const { issue, more } = prune(whole)
  const seen = new Map<string, Violation>()
  for (const { path, message } of issue === undefined ? [] : format(issue).issues) {
    // A parameter of a query that may be repeated is a list here, and has one name there.
    const violation = { field: fieldName(root === "query" ? path?.slice(0, 1) : path, root), message }
    if (!seen.has(violation.field)) seen.set(violation.field, violation)
  }
  return { first: [...seen.values()], more }
}
