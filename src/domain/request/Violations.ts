// What is wrong with the fields of a request, from the issues of its decoding, with the name that a misspelled one resembles.
import { Schema, SchemaAST, SchemaIssue } from "effect"
import { fieldsAt, tagOf, unionMembers } from "./Field.ts"

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

/** What is known of an unknown field, or of one that is absent, as the end of its message. */
const ends = new WeakMap<SchemaIssue.Issue, string>()

/** What a message says further if the error has room for it. */
const details = new WeakMap<SchemaIssue.Issue, string>()

/** Fields that a request may have, besides those that exist and cannot be given. */
const givable = ({ propertySignatures }: SchemaAST.Objects) =>
  propertySignatures.filter(({ type }) => !SchemaAST.isNever(type))

/** The union around a field, and the path of the field from there. */
interface Around {
  readonly union: SchemaAST.Union
  readonly path: ReadonlyArray<string>
}

/** The objects of a union, on their encoded side. The union itself may be that of a text. */
const membersOf = ({ types }: SchemaAST.Union): ReadonlyArray<SchemaAST.Objects> =>
  types.flatMap((type) => unionMembers(SchemaAST.toEncoded(type)))

/** The members of the union that have the field, by what tells them apart, such as `evm`. */
const membersWith = ({ union, path }: Around): ReadonlyArray<string> => {
  const members = membersOf(union)
  if (tagKeyOf(members) === undefined) return []
  return members.flatMap((member) =>
    fieldsAt(member, path).some((type) => !SchemaAST.isNever(type)) ? [tagOf(member)] : []
  )
}

/** `listed`: objects whose fields were listed before. */
const explainUnknown = (
  issue: SchemaIssue.UnexpectedKey,
  name: string,
  around: Around | undefined,
  listed: Set<SchemaAST.AST>
): void => {
  if (!SchemaAST.isObjects(issue.ast)) return
  const owners = around === undefined ? [] : membersWith(around)
  if (owners.length > 0)
    return void ends.set(issue, `: only ${owners.join(", ")} ${owners.length > 1 ? "have" : "has"} it`)
  const known = givable(issue.ast).map((property) => String(property.name))
  const found = suggestionFor(name, known)
  if (found !== undefined) return void ends.set(issue, `; did you mean ${found}?`)
  if (known.length === 0 || listed.has(issue.ast)) return
  listed.add(issue.ast)
  details.set(issue, ` (known: ${known.join(", ")})`)
}

/** What an absent field has to be: one of some values, or an object with some fields. */
const explainMissing = (issue: SchemaIssue.MissingKey, name: PropertyKey | undefined, parent: SchemaAST.AST): void => {
  const tag = SchemaAST.isUnion(parent) ? tagIn(parent) : undefined
  if (tag !== undefined && tag.key === name) return void details.set(issue, ` (${oneOf(tag.values)})`)
  const given = SchemaAST.isObjects(parent) ? typeOf(parent, name) : undefined
  if (given === undefined) return
  const type = SchemaAST.toEncoded(given)
  const values = literalsOf(type)
  if (values !== undefined) return void details.set(issue, ` (${oneOf(values)})`)
  const [object, ...others] = unionMembers(type)
  if (object === undefined || others.length > 0) return
  const required = givable(object).filter(({ type }) => type.context?.isOptional !== true)
  const names = required.map(({ name }) => String(name))
  if (names.length > 0) details.set(issue, ` (an object with ${names.join(", ")})`)
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

/** The values of a literal, or of a union of literals. Undefined: the type has others. */
const literalsOf = (ast: SchemaAST.AST | undefined): ReadonlyArray<SchemaAST.LiteralValue> | undefined => {
  if (ast === undefined) return undefined
  if (SchemaAST.isLiteral(ast)) return [ast.literal]
  if (!SchemaAST.isUnion(ast)) return undefined
  const all = ast.types.map(literalsOf)
  return all.every((one) => one !== undefined) ? all.flat() : undefined
}

const typeOf = ({ propertySignatures }: SchemaAST.Objects, key: PropertyKey | undefined): SchemaAST.AST | undefined =>
  propertySignatures.find(({ name }) => name === key)?.type

/** The field that tells objects apart: it has other values in each of them. Undefined: there is none. */
const tagKeyOf = (members: ReadonlyArray<SchemaAST.Objects>): string | undefined => {
  const [first, ...others] = members
  if (first === undefined || others.length === 0) return undefined
  for (const { name } of first.propertySignatures) {
    const values = members.map((member) => literalsOf(typeOf(member, name)))
    if (!values.every((one) => one !== undefined)) continue
    const all = values.flat()
    if (new Set(all).size === all.length) return String(name)
  }
  return undefined
}

/** The field that tells the members of a union of objects apart, and its values. */
const tagIn = (
  ast: SchemaAST.Union
): { readonly key: string; readonly values: ReadonlyArray<SchemaAST.LiteralValue> } | undefined => {
  const members = membersOf(ast)
  if (members.length < ast.types.length) return undefined
  const key = tagKeyOf(members)
  return key === undefined
    ? undefined
    : { key, values: members.flatMap((member) => literalsOf(typeOf(member, key)) ?? []) }
}

const oneOf = (all: ReadonlyArray<unknown>): string =>
  all.length < 2 ? all.join() : `${all.slice(0, -1).join(", ")} or ${String(all.at(-1))}`

/** The names of objects that have one field each. Undefined: the union has others. */
const singleKeysIn = (ast: SchemaAST.Union): ReadonlyArray<string> | undefined => {
  const members = membersOf(ast)
  const names = members.flatMap(({ propertySignatures: [first, ...others] }) =>
    first === undefined || others.length > 0 ? [] : [String(first.name)]
  )
  return names.length > 1 && names.length === members.length ? [...new Set(names)] : undefined
}

const unionInWords = (union: SchemaAST.Union): string | undefined => {
  const keys = singleKeysIn(union)
  if (keys !== undefined) return `an object with one of ${oneOf(keys)}`
  const tag = tagIn(union)
  return tag && `an object whose ${tag.key} is ${oneOf(tag.values)}`
}

const inWords = (ast: SchemaAST.AST): string => {
  const all = alternatives(ast)
  const usual = all.length === 0 ? "another value" : oneOf(all)
  return SchemaAST.isUnion(ast) ? (unionInWords(ast) ?? usual) : usual
}

/** Short messages for missing and unknown fields. All other messages say what was expected. */
const shortHook: SchemaIssue.LeafHook = (issue) => {
  if (issue._tag === "MissingKey") return issue.annotations?.messageMissingKey ?? "is required"
  if (issue._tag === "InvalidType") {
    const own = issue.ast.annotations?.["message"]
    return typeof own === "string" ? own : `Expected ${inWords(issue.ast)}`
  }
  return issue._tag === "UnexpectedKey"
    ? `is not a known field${ends.get(issue) ?? ""}`
    : SchemaIssue.defaultLeafHook(issue)
}

const longHook: SchemaIssue.LeafHook = (issue) => `${shortHook(issue)}${details.get(issue) ?? ""}`

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
const formats = {
  short: SchemaIssue.makeFormatterStandardSchemaV1({ leafHook: shortHook, checkHook }),
  long: SchemaIssue.makeFormatterStandardSchemaV1({ leafHook: longHook, checkHook })
}

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

/** What is wrong with the field at `key`, if the issue is one of an object that has it. */
const issueAt = (issue: SchemaIssue.Issue, key: string): SchemaIssue.Issue | undefined =>
  issue._tag === "Composite"
    ? issue.issues.find((part) => part._tag === "Pointer" && part.path.length === 1 && part.path[0] === key)
    : undefined

/**
 * The field that tells the members apart has a value of none of them: this is all that is known of the object. Members with several values are
 * compared with it, and would each report its own.
 */
const wrongTag = ({ ast, issues }: SchemaIssue.AnyOf): SchemaIssue.Issue | undefined => {
  const tag = issues.length === 0 ? undefined : tagIn(ast)
  if (tag === undefined || !issues.every((issue) => issueAt(issue, tag.key) !== undefined)) return undefined
  return new SchemaIssue.Pointer([tag.key], new SchemaIssue.InvalidType(Schema.Literals(tag.values).ast))
}

/** Keeps the first `maxViolations` issues, because formatting one takes microseconds and a body may cause 100,000. */
const prune = (whole: SchemaIssue.Issue): { readonly issue: SchemaIssue.Issue | undefined; readonly more: number } => {
  let count = 0
  const listed = new Set<SchemaAST.AST>()

  const keepLeaf = (leaf: SchemaIssue.Issue) => {
    count += 1
    return count > maxViolations ? undefined : leaf
  }

  const keep = (issue: SchemaIssue.Issue, parent: SchemaAST.AST, around?: Around): SchemaIssue.Issue | undefined => {
    switch (issue._tag) {
      case "Composite": {
        for (const part of issue.issues) if (part._tag === "Filter") checked.set(part, issue.ast)
        const parts = issue.issues.map((part) => keep(part, issue.ast, around))
        const [first, ...others] = parts.filter((kept) => kept !== undefined)
        return first === undefined ? undefined : new SchemaIssue.Composite(issue.ast, [first, ...others])
      }
      case "AnyOf": {
        // No member takes a value of this type.
        if (issue.issues.length === 0) return keepLeaf(new SchemaIssue.InvalidType(issue.ast))
        const tag = wrongTag(issue)
        if (tag !== undefined) return keepLeaf(tag)
        // None of its fields is known, so that nothing tells which one was meant.
        if (closest(issue.issues).length > 1 && singleKeysIn(issue.ast) !== undefined) {
          return keepLeaf(new SchemaIssue.InvalidType(issue.ast))
        }
        const inside = tagIn(issue.ast) === undefined ? around : { union: issue.ast, path: [] }
        const kept = closest(issue.issues)
          .map((member) => keep(member, issue.ast, inside))
          .filter((kept) => kept !== undefined)
        return kept.length === 0 ? undefined : new SchemaIssue.AnyOf(issue.ast, kept)
      }
      case "Pointer": {
        const here = around && { ...around, path: [...around.path, ...issue.path.map(String)] }
        const kept = keep(issue.issue, parent, here)
        if (kept === undefined) return undefined
        const name = issue.path.at(-1)
        if (kept._tag === "UnexpectedKey" && typeof name === "string") explainUnknown(kept, name, here, listed)
        if (kept._tag === "MissingKey") explainMissing(kept, name, parent)
        return new SchemaIssue.Pointer(issue.path, kept)
      }
      case "Encoding": {
        const kept = keep(issue.issue, parent, around)
        return kept === undefined ? undefined : new SchemaIssue.Encoding(issue.ast, kept)
      }
      default:
        return keepLeaf(issue)
    }
  }

  const issue = keep(whole, SchemaAST.unknown)
  return { issue, more: Math.max(0, count - maxViolations) }
}

/** The first issue of each field. `root` is the name of the value as a whole. `long`: with the fields that an object has, where one is unknown or it is absent. */
export const ofIssue = (whole: SchemaIssue.Issue, root: string, length: "short" | "long" = "long"): Violations => {
  const { issue, more } = prune(whole)
  const seen = new Map<string, Violation>()
  for (const { path, message } of issue === undefined ? [] : formats[length](issue).issues) {
    // A parameter of a query that may be repeated is a list here, and has one name there.
    const violation = { field: fieldName(root === "query" ? path?.slice(0, 1) : path, root), message }
    if (!seen.has(violation.field)) seen.set(violation.field, violation)
  }
  return { first: [...seen.values()], more }
}

// What a body lacks although its schema requires none of its fields alone. Rules check it later, and the error of a body that does not decode names
// it, too.

type Lacking = (given: Readonly<Record<string, unknown>>) => ReadonlyArray<Violation>

/** `violations`: what a body with these members lacks. Null counts as absent. */
export const lacking = <S extends Schema.Top>(schema: S, violations: Lacking): S["Rebuild"] =>
  schema.annotate({ lacking: violations })

/** The field is required unless one of the others is given. */
export const requiredUnless =
  (field: string, ...others: ReadonlyArray<string>): Lacking =>
  (given) =>
    [field, ...others].every((one) => (given[one] ?? undefined) === undefined)
      ? [{ field, message: `is required unless ${others.join(" or ")} is given` }]
      : []

export const lackingOf = (ast: SchemaAST.AST): Lacking | undefined =>
  ast.annotations?.["lacking"] as Lacking | undefined
