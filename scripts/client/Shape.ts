// The type of a schema, as far as a declaration shows it. Brands are only in the schema's own properties, not in its AST.
import { SchemaAST } from "effect"
import type { Schema } from "effect"
import { documentationOf, unionMembers } from "../../src/domain/request/Field.ts"
import type { Documentation } from "../../src/domain/request/Field.ts"

export type Leaf = "string" | "number" | "boolean" | "bigint" | "null" | "never" | "unknown" | "DateTime.Utc"

export interface Property extends Documentation {
  readonly name: string
  readonly isOptional: boolean
  readonly shape: Shape
}

export type Shape =
  | { readonly kind: "leaf"; readonly leaf: Leaf }
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "brand"; readonly brand: string; readonly of: Shape }
  | { readonly kind: "redacted"; readonly of: Shape }
  | { readonly kind: "array"; readonly item: Shape }
  | { readonly kind: "tuple"; readonly items: ReadonlyArray<Shape> }
  | { readonly kind: "record"; readonly value: Shape }
  | { readonly kind: "struct"; readonly properties: ReadonlyArray<Property> }
  | { readonly kind: "union"; readonly members: ReadonlyArray<Shape> }
  /** `of` is evaluated once per name, so that types may contain themselves. */
  | { readonly kind: "named"; readonly name: string; readonly description: string; readonly of: () => Shape }

/** What schemas of `Schema.ts` have beside their AST. */
interface Parts extends Schema.Top {
  readonly fields?: Readonly<Record<string, Parts>>
  readonly members?: ReadonlyArray<Parts>
  readonly elements?: ReadonlyArray<Parts>
  readonly schema?: Parts
  readonly identifier?: unknown
  readonly to?: Parts
  readonly value?: Parts
}

const leaf = (leaf: Leaf): Shape => ({ kind: "leaf", leaf })

const leaves: Partial<Record<SchemaAST.AST["_tag"], Leaf>> = {
  String: "string",
  Number: "number",
  Boolean: "boolean",
  BigInt: "bigint",
  Null: "null",
  Never: "never",
  Unknown: "unknown"
}

const ofDeclaration = (ast: SchemaAST.Declaration): Shape => {
  const [inner] = ast.typeParameters
  const expected = ast.annotations?.["expected"]
  if (expected === "Redacted" && inner !== undefined) return { kind: "redacted", of: ofAst(inner) }
  if (expected === "DateTime.Utc") return leaf("DateTime.Utc")
  throw new Error(`a declaration of the clients has no type text for ${String(expected)}`)
}

const propertiesOf = (ast: SchemaAST.Objects, typeOf: (name: string, type: SchemaAST.AST) => Shape) => {
  const [encoded] = unionMembers(SchemaAST.toEncoded(ast))
  return SchemaAST.toType(ast).propertySignatures.map(({ name, type }): Property => {
    const documented = encoded?.propertySignatures.find((other) => other.name === name)?.type ?? type
    return {
      // A check on a struct, and what its annotations say, is only on the type side.
      ...documentationOf(type),
      ...documentationOf(documented),
      name: String(name),
      isOptional: type.context?.isOptional === true,
      shape: typeOf(String(name), type)
    }
  })
}

/** For schemas that were rebuilt from an AST. They have no brands. */
const ofAst = (encoded: SchemaAST.AST): Shape =>
  named(encoded, () => structureOfAst(SchemaAST.toType(encoded), encoded))

const structureOfAst = (ast: SchemaAST.AST, original: SchemaAST.AST): Shape => {
  const simple = leaves[ast._tag]
  if (simple !== undefined) return leaf(simple)
  if (SchemaAST.isLiteral(ast)) return { kind: "literal", text: JSON.stringify(ast.literal) }
  if (SchemaAST.isDeclaration(ast)) return ofDeclaration(ast)
  if (SchemaAST.isSuspend(ast)) return ofAst(ast.thunk())
  if (SchemaAST.isUnion(ast)) return { kind: "union", members: ast.types.map(ofAst) }
  if (SchemaAST.isArrays(ast)) return ofArrays(ast.elements.map(ofAst), ast.rest.map(ofAst))
  if (!SchemaAST.isObjects(ast)) throw new Error(`a declaration of the clients has no type text for ${ast._tag}`)
  const [index] = ast.indexSignatures
  if (index !== undefined) return { kind: "record", value: ofAst(index.type) }
  const documented = SchemaAST.isObjects(original) ? original : ast
  return { kind: "struct", properties: propertiesOf(documented, (_, type) => ofAst(type)) }
}

/** The clients have no tuples with a rest. */
const ofArrays = (items: ReadonlyArray<Shape>, [rest]: ReadonlyArray<Shape>): Shape =>
  rest === undefined ? { kind: "tuple", items } : { kind: "array", item: rest }

/** Structs and unions with an identifier have a name. Texts and single literals are clearer without. */
const named = (original: SchemaAST.AST, structure: () => Shape): Shape => {
  const ast = SchemaAST.toType(original)
  const name = SchemaAST.resolveIdentifier(ast)
  if (name === undefined || !(SchemaAST.isObjects(ast) || SchemaAST.isUnion(ast))) return structure()
  return { kind: "named", name, description: SchemaAST.resolveDescription(ast) ?? "", of: structure }
}

export const of = (schema: Schema.Top): Shape => ofParts(schema)

const ofParts = (schema: Parts): Shape => {
  const { ast, fields, members, schema: inner, to, value } = schema
  if (to !== undefined) return SchemaAST.isDeclaration(ast) ? ofAst(ast) : ofParts(to)
  if (fields !== undefined && SchemaAST.isObjects(ast)) {
    const typeOf = (name: string, type: SchemaAST.AST) => {
      const field = fields[name]
      return field === undefined ? ofAst(type) : ofParts(field)
    }
    return named(ast, () => ({ kind: "struct", properties: propertiesOf(ast, typeOf) }))
  }
  if (members !== undefined) return named(ast, () => ({ kind: "union", members: members.map(ofParts) }))
  if (value !== undefined && SchemaAST.isArrays(ast) && ast.elements.length === 0) {
    return { kind: "array", item: ofParts(value) }
  }
  if (value !== undefined && SchemaAST.isObjects(ast))
    return named(ast, () => ({ kind: "record", value: ofParts(value) }))
  if (inner === undefined) return ofAst(ast)
  return typeof schema.identifier === "string"
    ? { kind: "brand", brand: schema.identifier, of: ofParts(inner) }
    : ofParts(inner)
}
