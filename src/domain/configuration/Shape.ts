// What may be at a place of a document, read from the encoded sides of the contract's schemas.
import { Predicate, SchemaAST } from "effect"

/** Values that the schemas redact. A file refers to them and never contains them. */
export const isSecret = (ast: SchemaAST.AST): boolean => {
  if (!SchemaAST.isDeclaration(ast)) return false
  const representation: unknown = ast.annotations?.["representation"]
  return Predicate.hasProperty(representation, "id") && representation.id === "effect/schema/Redacted"
}

/** An integer that a request may write as a number or as text: wei, lamports and stroops. */
export const isAmount = (ast: SchemaAST.AST): boolean => SchemaAST.isDeclaration(ast) && !isSecret(ast)

export const isText = (ast: SchemaAST.AST): boolean =>
  SchemaAST.isString(ast) || (SchemaAST.isLiteral(ast) && typeof ast.literal === "string")

const alternativesOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> => {
  if (isSecret(ast)) return [ast]
  const { encoding } = ast
  if (encoding !== undefined) return alternatives(encoding[encoding.length - 1]?.to ?? ast)
  if (SchemaAST.isUnion(ast)) return ast.types.flatMap(alternatives)
  return SchemaAST.isNull(ast) ? [] : [ast]
}

/** A cache of `alternatives`: all objects of a kind ask for the same types. */
const known = new WeakMap<SchemaAST.AST, ReadonlyArray<SchemaAST.AST>>()

/** The types that the encoded value may have: the members of unions. A secret is one member. Null is left out. */
export const alternatives = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> => {
  const found = known.get(ast)
  if (found !== undefined) return found
  const made = alternativesOf(ast)
  known.set(ast, made)
  return made
}

/** Whether the literal fields of a struct, such as `type`, have the values of an object. Absent fields match. */
const matches = (struct: SchemaAST.Objects, valueOf: (name: string) => unknown): boolean =>
  struct.propertySignatures.every(({ name, type }) => {
    const [only, ...others] = alternatives(type)
    if (only === undefined || others.length > 0 || !SchemaAST.isLiteral(only)) return true
    const value = valueOf(String(name))
    return value === undefined || value === only.literal
  })

/** The structs that an object may be. If its discriminator names none of them, it may be any. */
export const structsOf = (
  shapes: ReadonlyArray<SchemaAST.AST>,
  valueOf: (name: string) => unknown
): ReadonlyArray<SchemaAST.Objects> => {
  const structs = shapes.filter(SchemaAST.isObjects)
  const meant = structs.filter((struct) => matches(struct, valueOf))
  return meant.length === 0 ? structs : meant
}

export const fieldOf = (structs: ReadonlyArray<SchemaAST.Objects>, name: string): ReadonlyArray<SchemaAST.AST> =>
  structs.flatMap(({ propertySignatures }) =>
    propertySignatures.filter((field) => field.name === name).flatMap(({ type }) => alternatives(type))
  )

export const namesOf = (structs: ReadonlyArray<SchemaAST.Objects>): ReadonlyArray<string> => [
  ...new Set(structs.flatMap(({ propertySignatures }) => propertySignatures.map(({ name }) => String(name))))
]

export const itemsOf = (shapes: ReadonlyArray<SchemaAST.AST>): ReadonlyArray<SchemaAST.AST> =>
  shapes.filter(SchemaAST.isArrays).flatMap(({ elements, rest }) => [...elements, ...rest].flatMap(alternatives))
