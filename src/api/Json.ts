// JSON bodies that keep every digit of an integer; the error of a union without its discriminator reports all other fields, too.
import { Effect, Predicate, Result, Schema, SchemaAST, SchemaGetter, SchemaIssue, SchemaTransformation } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { brokenAt, parse } from "../domain/request/ExactJson.ts"
import { lackingOf } from "../domain/request/Violations.ts"

// The field that tells the members of a union apart. The error of a body without it reports the other invalid fields as well.

interface Discriminator {
  readonly key: PropertyKey
  readonly values: ReadonlyArray<unknown>
}

/** Undefined if the input is valid. */
type Decode = (input: unknown) => SchemaIssue.Issue | undefined

interface Shape {
  readonly ast: SchemaAST.AST
  readonly decode: Decode
}

const propertiesOf = (ast: SchemaAST.Objects) =>
  new Map(ast.propertySignatures.map(({ name, type }) => [name, type] as const))

const literalOf = (ast: SchemaAST.AST | undefined) =>
  ast !== undefined && SchemaAST.isLiteral(ast) ? ast.literal : undefined

/** Undefined if `ast` is no union of objects, or if no literal field is different in each of them. */
const discriminatorOf = (ast: SchemaAST.AST): Discriminator | undefined => {
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
const issueOf = (
  discriminator: Discriminator,
  { ast, decode }: Shape,
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

/** What is wrong with `input` beside what it lacks. Undefined if it lacks nothing, or if nothing else is wrong with it. */
const lackOf = (
  lacking: NonNullable<ReturnType<typeof lackingOf>>,
  { ast, decode }: Shape,
  input: unknown
): SchemaIssue.Issue | undefined => {
  if (!Predicate.isObject(input) || Array.isArray(input)) return undefined
  const absent = lacking(input as Readonly<Record<string, unknown>>)
  const wrong = absent.length === 0 ? undefined : decode(input)
  return (
    wrong &&
    new SchemaIssue.Composite(ast, [
      wrong,
      ...absent.map(
        ({ field, message }) =>
          new SchemaIssue.Pointer(field.split("."), new SchemaIssue.MissingKey({ messageMissingKey: message }))
      )
    ])
  )
}

const stock = SchemaTransformation.fromJsonString()

type Read = (text: string) => unknown

const read: Read = (text) => parse(text)

const readOrEmpty: Read = (text) => (text === "" ? {} : parse(text))

/** What is expected of a text that is none, with the place where it stops being one. */
const validJson = (text: string): string => {
  const place = brokenAt(text)
  return `valid JSON${place === undefined ? "" : ` (it breaks at line ${place.line}, column ${place.column})`}`
}

/** What is wrong with a value that the decoder of the schema does not say, or says in too few words. */
const problemIn = (schema: Schema.Constraint) => {
  const discriminator = discriminatorOf(schema.ast)
  const lacking = lackingOf(schema.ast)
  const decodeMember = Schema.decodeUnknownResult(schema as Schema.Codec<unknown>)
  return (value: unknown, options: SchemaAST.ParseOptions): SchemaIssue.Issue | undefined => {
    const decode: Decode = (input) =>
      Result.match(decodeMember(input, options), { onFailure: ({ issue }) => issue, onSuccess: () => undefined })
    const shape = { ast: schema.ast, decode }
    return (discriminator && issueOf(discriminator, shape, value)) ?? (lacking && lackOf(lacking, shape, value))
  }
}

/** `JSON.stringify` writes the `JSON.rawJSON` values of `domain/chain/Amount.ts` as they are, so the stock encoder works. */
const decodedBy = (read: Read, schema: Schema.Constraint) => {
  const problem = problemIn(schema)
  return new SchemaTransformation.Transformation<unknown, string>(
    SchemaGetter.transformEffect((text: string, options) =>
      Result.match(
        Result.try(() => read(text)),
        {
          onFailure: () => Effect.fail(new SchemaIssue.InvalidValue({ expected: validJson(text) }, text, options)),
          onSuccess: (value) => {
            const issue = problem(value, options)
            return issue === undefined ? Effect.succeed(value) : Effect.fail(issue)
          }
        }
      )
    ),
    stock.encode
  )
}

/** Decodes a value with the errors that its JSON text has. */
export const decodeValue = <S extends Schema.ConstraintDecoder<unknown>>(schema: S) => {
  const problem = problemIn(schema)
  const decode = Schema.decodeUnknownEffect(schema)
  return (value: unknown, options: SchemaAST.ParseOptions) => {
    const issue = problem(value, options)
    return issue === undefined ? decode(value, options) : Effect.fail(new Schema.SchemaError(issue))
  }
}

const textBy = <S extends Schema.Constraint>(schema: S, read: Read): Schema.fromJsonString<S> =>
  Schema.String.pipe(Schema.decodeTo(schema, decodedBy(read, schema) as never)) as never

/** The JSON text of `schema`. */
export const fromText = <S extends Schema.Constraint>(schema: S): Schema.fromJsonString<S> => textBy(schema, read)

/** A body of content type `application/json`. */
export const body = <S extends Schema.Constraint>(schema: S) =>
  fromText(schema).pipe(HttpApiSchema.asText({ contentType: "application/json" }))

/** A merge patch, under its own content type (RFC 7396, section 4) or plain `application/json`. */
export const mergePatch = <S extends Schema.Constraint>(schema: S) =>
  [body(schema), fromText(schema).pipe(HttpApiSchema.asText({ contentType: "application/merge-patch+json" }))] as const

/** A body that may be left out because every field of it may be. */
export const optionalBody = <S extends Schema.Constraint>(schema: S) =>
  textBy(schema, readOrEmpty).pipe(HttpApiSchema.asText({ contentType: "application/json" }))
