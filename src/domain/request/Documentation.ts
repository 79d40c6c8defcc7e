// What the OpenAPI document says about the fields of a schema: descriptions and examples.
import { SchemaAST } from "effect"
import type { Schema } from "effect"

export interface Documentation {
  readonly description?: string
  /** As it is on the wire. */
  readonly example?: unknown
  readonly default?: unknown
}

type Annotations = Schema.Annotations.Annotations

/** `encoded`: the encoded side of a field. The annotations of the field precede those of its type. */
export const of = (encoded: SchemaAST.AST): Documentation => {
  const own: Annotations = { ...SchemaAST.resolve(encoded), ...encoded.context?.annotations }
  // A boolean in a query is a text, and its content has the annotations.
  const { default: value, description, examples } = { ...(own["contentSchema"] as Annotations | undefined), ...own }
  return {
    ...(typeof description === "string" ? { description } : {}),
    ...(Array.isArray(examples) ? { example: examples[0] } : {}),
    ...(value === undefined ? {} : { default: value })
  }
}

/** The structs of a union, or the struct itself. */
export const members = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.Objects> => {
  if (SchemaAST.isUnion(ast)) return ast.types.flatMap(members)
  return SchemaAST.isObjects(ast) ? [ast] : []
}

/** The discriminator of a member of a union, such as `evm`. */
export const tagOf = (member: SchemaAST.Objects): string => {
  const literals = member.propertySignatures.flatMap(({ type }) => (SchemaAST.isLiteral(type) ? [type.literal] : []))
  return String(literals[0] ?? "")
}

/** The encoded sides of the field at a path. A union may have several. */
export const fieldsAt = (ast: SchemaAST.AST, [key, ...rest]: ReadonlyArray<string>): ReadonlyArray<SchemaAST.AST> =>
  key === undefined
    ? [ast]
    : members(ast).flatMap(({ propertySignatures }) =>
        propertySignatures.filter(({ name }) => name === key).flatMap(({ type }) => fieldsAt(type, rest))
      )
