/** The same for a property that existing clients do not know. */
export const shownAddition = <S extends Schema.Top>(schema: S, description: string, example: S["Encoded"]) =>
  shown(schema, added(description), example)

// What the OpenAPI document says about the fields of a schema: descriptions and examples, written and read.
import { Schema, SchemaAST } from "effect"
import type { Meaning } from "./Change.ts"

/**
 * A field with a description and an example. They are attached to the encoded side, which is the side that the document
 * shows, so `example` is a value as it is on the wire.
 */
export const field = <S extends Schema.Top>(
  schema: S,
  description: string,
  ...examples: ReadonlyArray<S["Encoded"]>
): S["Rebuild"] => {
  const documentation = examples.length === 0 ? { description } : { description, examples }
  return schema.ast.encoding === undefined
    ? schema.annotateKey(documentation)
    : Schema.flip(Schema.flip(schema).annotateKey(documentation))
}

/** Annotations of a field, beside those that it has. */
const marked = <S extends Schema.Top>(schema: S, marks: Readonly<Record<string, unknown>>): S["Rebuild"] =>
  schema.ast.encoding === undefined ? schema.annotateKey(marks) : Schema.flip(Schema.flip(schema).annotateKey(marks))

const marksOf = (type: SchemaAST.AST): Schema.Annotations.Annotations =>
  (type.encoding?.at(-1)?.to ?? type).context?.annotations ?? {}

/** A field that says what a change of it means. */
export const judged = <S extends Schema.Top>(schema: S, change: Meaning): S["Rebuild"] => marked(schema, { change })

/** What a change of the field means. Undefined: its schema does not say it. */
export const meaningOf = (type: SchemaAST.AST): Meaning | undefined => marksOf(type)["change"] as Meaning | undefined

/** In what people enter an amount of the smallest unit: a price per gas, or the native token. */
export type Unit = "price" | "native"

/** A field with an amount that people enter in a larger unit. */
export const measured = <S extends Schema.Top>(schema: S, unit: Unit): S["Rebuild"] => marked(schema, { unit })

export const unitOf = (type: SchemaAST.AST): Unit | undefined => marksOf(type)["unit"] as Unit | undefined

/** The description of a field that the wire format of existing clients does not have. */
export const added = (description: string): string => `${description} An addition to the common wire format.`

/** A property that a response omits while it is unknown. `example` is what stands in the JSON. */
export const shown = <S extends Schema.Top>(schema: S, description: string, example: S["Encoded"]) =>
  Schema.optionalKey(field(schema, description, example))

// What the OpenAPI document says about the fields of a schema: descriptions and examples.

export interface Documentation {
  readonly description?: string
  /** As it is on the wire. */
  readonly example?: unknown
  readonly default?: unknown
}

type Annotations = Schema.Annotations.Annotations

/** `encoded`: the encoded side of a field. The annotations of the field precede those of its type. */
export const documentationOf = (encoded: SchemaAST.AST): Documentation => {
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
export const unionMembers = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.Objects> => {
  if (SchemaAST.isUnion(ast)) return ast.types.flatMap(unionMembers)
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
    : unionMembers(ast).flatMap(({ propertySignatures }) =>
        propertySignatures.filter(({ name }) => name === key).flatMap(({ type }) => fieldsAt(type, rest))
      )

/** The fields of the struct, or of all structs of the union, that can be given. */
export const namesIn = (schema: Schema.Constraint): ReadonlySet<string> =>
  new Set(
    unionMembers(SchemaAST.toEncoded(schema.ast)).flatMap(({ propertySignatures }) =>
      propertySignatures.filter(({ type }) => !SchemaAST.isNever(type)).map(({ name }) => String(name))
    )
  )
