// The field that tells the members of a union apart. A body without it lacks more than that field: report all of them.
import { Predicate, SchemaAST, SchemaIssue } from "effect"

interface Discriminator {
  readonly key: PropertyKey
  readonly values: ReadonlyArray<unknown>
  /** The fields that every member requires. */
  readonly required: ReadonlyArray<PropertyKey>
}

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
    const isRequired = (name: PropertyKey) =>
      members.every((member) => {
        const type = member.get(name)
        return type !== undefined && !SchemaAST.isOptional(type)
      })
    return { key, values, required: names.filter(isRequired) }
  }
  return undefined
}

const oneOf = (values: ReadonlyArray<unknown>) => `${values.slice(0, -1).join(", ")} or ${String(values.at(-1))}`

/** What `input` lacks if it is an object that names no member. Undefined if it names one, or is no object. */
export const issueOf = (
  { key, values, required }: Discriminator,
  ast: SchemaAST.AST,
  input: unknown
): SchemaIssue.Issue | undefined => {
  if (!Predicate.isObject(input) || Array.isArray(input)) return undefined
  const given: unknown = Reflect.get(input, key)
  if (values.includes(given)) return undefined
  const missing = required
    .filter((name) => name !== key && !Object.hasOwn(input, name))
    .map((name) => new SchemaIssue.Pointer([name], new SchemaIssue.MissingKey(undefined)))
  const own =
    given === undefined
      ? new SchemaIssue.MissingKey(undefined)
      : new SchemaIssue.InvalidValue({ expected: oneOf(values) })
  return new SchemaIssue.Composite(ast, [new SchemaIssue.Pointer([key], own), ...missing])
}
