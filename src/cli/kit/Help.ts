// The help of flags that set fields of a request, from the descriptions and examples of the request's schema.
import { SchemaAST } from "effect"
import type { Schema } from "effect"
import { Flag } from "effect/cli"
import * as Documentation from "../../domain/request/Documentation.ts"

/** What the field is, and what happens without the flag. `effect-relayer openapi NAME` prints the other sentences. */
const inShort = (description: string): string => {
  const [first = "", ...others] = description.split(/(?<=\.) (?=[A-Z`])/)
  return [first, ...others.filter((sentence) => /^(If absent,|The default )/.test(sentence))].join(" ")
}

/** Longer ones, such as public keys, do not help on a terminal. A hash has 66 characters. */
const maxExampleLength = 66

const isScalar = (value: unknown): value is string | number => typeof value === "string" || typeof value === "number"

const typesOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> =>
  SchemaAST.isUnion(ast) ? ast.types.flatMap(typesOf) : SchemaAST.isNull(ast) ? [] : [ast]

const itemsOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> =>
  typesOf(ast).flatMap((type) => (SchemaAST.isArrays(type) ? type.rest.flatMap(typesOf) : [type]))

/** The help of a flag with choices ends with the choices, so that it needs no example. */
const exampleOf = (field: SchemaAST.AST): ReadonlyArray<string> => {
  const { default: value, example } = Documentation.of(field)
  if (isScalar(value)) return [`The default is ${value}.`]
  const [one] = Array.isArray(example) ? example : [example]
  if (!isScalar(one) || itemsOf(field).every(SchemaAST.isLiteral)) return []
  return String(one).length > maxExampleLength ? [] : [`Example: ${one}`]
}

const usageOf = (field: SchemaAST.AST, path: string): ReadonlyArray<string> => {
  const types = typesOf(field)
  return [
    ...(types.some(SchemaAST.isBoolean) ? [`--no-${path.replaceAll("_", "-")} means no.`] : []),
    ...(types.some(SchemaAST.isArrays) ? ["May be repeated."] : []),
    ...exampleOf(field)
  ]
}

/** The help of a flag for the field at `path`. Fields that only some members of a union have name these members. */
const of = (request: SchemaAST.AST, path: string, isFile: boolean): string => {
  const members = Documentation.members(SchemaAST.toEncoded(request))
  const found = members.flatMap((member) =>
    Documentation.fieldsAt(member, path.split(".")).map((field) => ({
      field,
      tag: Documentation.tagOf(member),
      text: inShort(Documentation.of(field).description ?? "")
    }))
  )
  const texts = [...Map.groupBy(found, ({ text }) => text)].map(([text, same]) =>
    same.length < members.length ? `${same.map(({ tag }) => tag).join(", ")}: ${text}` : text
  )
  const isCommon = texts.length === 1 && !isFile
  return [...texts, ...found.slice(0, isCommon ? 1 : 0).flatMap(({ field }) => usageOf(field, path))].join(" ")
}

type Flags = Readonly<Record<string, Flag.Flag<unknown>>>

const all = <F extends Flags>({ ast }: Schema.Top, flags: F, isFile: boolean): F =>
  Object.fromEntries(
    Object.entries(flags).map(([path, flag]) => [path, Flag.withDescription(flag, of(ast, path, isFile))])
  ) as F

/** `flags`: named by the path of the field that they set, such as `config.key_name`. */
export const describe = <F extends Flags>(schema: Schema.Top, flags: F): F => all(schema, flags, false)

/** Flags that name files with the value of the field. An example of a value would look like the name of a file. */
export const describeFiles = <F extends Flags>(schema: Schema.Top, flags: F): F => all(schema, flags, true)
