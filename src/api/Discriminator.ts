// The field that tells the members of a union apart. The error of a body without it reports the other invalid fields as well.
import { Predicate, SchemaAST, SchemaIssue } from "effect"

interface Discriminator {
  readonly key: PropertyKey
  readonly values: ReadonlyArray<unknown>
}

/** Undefined if the input is valid. */
type Decode = (input: unknown) => SchemaIssue.Issue | undefined

const propertiesOf = (ast: SchemaAST.Objects) =>
  new Map(ast.propertySignatures.map(({ name, type }) => [name, type] as const))

const literalOf = (ast: SchemaAST.AST | undefined) =>
  ast !== undefined && SchemaAST.isLiteral(ast) ? ast.literal : undefined

/** Undefined if `ast` is no union of objects, or if no literal field is different in each of them. */
export const discriminatorOf = (ast: SchemaAST.AST): Discriminator | undefined => {
  const union = SchemaAST.toEncoded(ast)
  if (!SchemaAST.isUnion(union) || !union.types.every(SchemaAST.isObjects)) return undefined
  const members = union.types.map(propertiesOf)
  const names = [...(members[0]?.keys() ?? [])]
  for (const key of names) {
    const values = members.map((member) => literalOf(member.get(key))).filter(Predicate.isNotUndefined)
    if (new Set(values).size !== members.length) continue
    return { key, values }
  }
  return undefined
}

const oneOf = (values: ReadonlyArray<unknown>) => `${values.slice(0, -1).join(", ")} or ${String(values.at(-1))}`

/** The number of problems, without their texts. */
const sizeOf = (issue: SchemaIssue.Issue): number => {
  if ("issues" in issue) return issue.issues.reduce((sum, inner) => sum + sizeOf(inner), 0)
  return "issue" in issue ? sizeOf(issue.issue) : 1
}

/** Members and elements that are decoded once for each member of the union. No resource has as many. */
const maxCompared = 2000

/** Whether the value has more members and elements than `left`. */
const hasMore = (value: unknown, left: number): boolean => {
  const open: Array<unknown> = [value]
  for (let count = 0; open.length > 0;) {
    const next = open.pop()
    if (!Predicate.isObjectKeyword(next)) continue
    const inside = Object.values(next)
    count += inside.length
    if (count > left) return true
    open.push(...inside)
  }
  return false
}

/** The problems of `input` as the member that it resembles most. Empty if it lacks nothing but the discriminator. */
const others = ({ key, values }: Discriminator, decode: Decode, input: object): ReadonlyArray<SchemaIssue.Issue> => {
  if (hasMore(input, maxCompared)) return []
  const issues = values.map((value) => decode({ ...input, [key]: value })).filter(Predicate.isNotUndefined)
  return issues.length < values.length ? [] : issues.toSorted((a, b) => sizeOf(a) - sizeOf(b)).slice(0, 1)
}

/** What is wrong with `input` if it is an object that names no member. Undefined if it names one, or is no object. */
export const issueOf = (
  discriminator: Discriminator,
  { ast, decode }: { readonly ast: SchemaAST.AST; readonly decode: Decode },
  input: unknown
): SchemaIssue.Issue | undefined => {
  const { key, values } = discriminator
  if (!Predicate.isObject(input) || Array.isArray(input)) return undefined
  const given: unknown = Reflect.get(input, key)
  if (values.includes(given)) return undefined
  const own =
    given === undefined
      ? new SchemaIssue.MissingKey(undefined)
      : new SchemaIssue.InvalidValue({ expected: oneOf(values) })
  return new SchemaIssue.Composite(ast, [new SchemaIssue.Pointer([key], own), ...others(discriminator, decode, input)])
}
