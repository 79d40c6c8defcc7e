// The JSON Schema of configuration files, for editors. It is derived from the requests of the contract; references take the
// places of secrets.
import { Schema, SchemaAST } from "effect"
import {
  ConfigurationName,
  isSecret,
  keyFields,
  kinds,
  pausable,
  requests
} from "../../domain/configuration/Document.ts"
import type { Kind } from "../../domain/configuration/Document.ts"
import { KeyReference, SecretReference, ValueReference } from "../../domain/configuration/Reference.ts"
import { documentationOf, tagOf, unionMembers } from "../../domain/request/Field.ts"
import type { Documentation } from "../../domain/request/Field.ts"
import { isNode, simplified } from "./Node.ts"
import type { Node } from "./Node.ts"

type Shape = Schema.Constraint

const shapeOf = (ast: SchemaAST.AST): Shape => Schema.make<Schema.Top>(ast)

const described = (shape: Shape, { description }: Documentation): Shape =>
  description === undefined ? shape : Schema.make<Schema.Top>(shape.ast).annotate({ description })

/** One step of the encoding, down to what JSON has. A redacted value ends the way. */
const encoded = (ast: SchemaAST.AST): SchemaAST.AST => {
  const last = ast.encoding?.at(-1)
  return isSecret(ast) || last === undefined ? ast : encoded(last.to)
}

const nameOf = (ast: SchemaAST.AST): string | undefined => {
  const identifier: unknown = SchemaAST.resolve(ast)?.["identifier"]
  return typeof identifier === "string" ? identifier : undefined
}

const union = (members: ReadonlyArray<Shape>): Shape =>
  Schema.Union(members.map(({ ast }) => Schema.make<Schema.Top>(ast)))

/** What a file may have in the place of a field. Named types would have the shapes of requests, so they lose their names. */
const inFile = (ast: SchemaAST.AST, field: string): Shape => {
  if (isSecret(ast)) return field === "key" ? KeyReference : SecretReference
  const type = encoded(ast)
  if (type !== ast) return inFile(type, field)
  if (SchemaAST.isUnion(type)) return union(type.types.map((member) => inFile(member, field)))
  if (SchemaAST.isArrays(type)) {
    const checks = type.checks === undefined ? [] : type.checks
    const items = union([...type.elements, ...type.rest].map((item) => inFile(item, field)))
    const list = Schema.Array(Schema.make<Schema.Top>(items.ast))
    return checks.reduce<Shape>((shape, check) => Schema.make<Schema.Top>(shape.ast).check(check), list)
  }
  if (SchemaAST.isObjects(type)) return struct(type, [])
  const plain = shapeOf(SchemaAST.toEncoded(type))
  return field === "url" && SchemaAST.isString(type) ? union([plain, ValueReference]) : plain
}

/** A struct without the fields that the key of the object determines. */
const struct = (
  { propertySignatures }: SchemaAST.Objects,
  hidden: ReadonlyArray<string>,
  optional: ReadonlyArray<string> = []
): Shape => {
  const fields = propertySignatures
    .filter(({ name }) => !hidden.includes(String(name)))
    .map(({ name, type }) => {
      const outer = type.encoding?.at(-1)?.to ?? type
      const isOptional = SchemaAST.isOptional(outer) || optional.includes(String(name))
      const inner = inFile(type, String(name))
      // A file may leave out a field by null.
      const mayBeNull = isOptional ? union([inner, Schema.Null]) : inner
      const shape = described(mayBeNull, documentationOf(outer))
      return [name, isOptional ? Schema.optionalKey(Schema.make<Schema.Top>(shape.ast)) : shape] as const
    })
  return Schema.Struct(Object.fromEntries(fields))
}

const optionsOf = { onExcessProperty: "error" } as const

/** The members of a request, by their discriminator. */
const objectsOf = (kind: Kind) =>
  unionMembers(encoded(requests[kind].ast)).map((member) => ({
    tag: tagOf(member),
    name: nameOf(member) ?? kind,
    shape: struct(member, keyFields[kind], pausable.has(kind) ? ["paused"] : [])
  }))

const idPattern = "^[A-Za-z0-9_-]{1,36}$"

const reference = (name: string) => ({ $ref: `#/$defs/${name}` })

interface Collected {
  readonly definitions: Map<string, unknown>
}

const add = ({ definitions }: Collected, name: string, shape: Shape): Node => {
  const document = Schema.toJsonSchemaDocument(shape, optionsOf)
  for (const [key, definition] of Object.entries(document.definitions)) definitions.set(key, definition)
  definitions.set(name, document.schema)
  return reference(name)
}

/** A section maps ids to objects. The key of a network starts with its type. */
const section = (kind: Kind, collected: Collected): Node => {
  const members = objectsOf(kind)
  if (kind === "networks") {
    return {
      type: "object",
      patternProperties: Object.fromEntries(
        members.map(({ tag, name, shape }) => [`^${tag}:[^\\s/]{1,64}$`, add(collected, name, shape)])
      ),
      additionalProperties: false
    }
  }
  const references = members.map(({ name, shape }) => add(collected, name, shape))
  const [only] = references
  return {
    type: "object",
    patternProperties: { [idPattern]: references.length === 1 ? only : { anyOf: references } },
    additionalProperties: false
  }
}

const descriptions: Readonly<Record<Kind, string>> = {
  networks: "Networks by type and name, such as evm:sepolia. A built-in network only has its overrides.",
  notifications: "Receivers of webhooks by id.",
  signers: "Signers by id.",
  relayers: "Relayers by id.",
  api_keys: "API keys by id."
}

/** Fields that name other objects or choose a type, and the members of references. A variable cannot be a part of them. */
const withoutVariables = /^(env|file|path|signer_id|notification_id|network|network_type|type|from|relayer_ids|scopes)$/

/** A text may have `${NAME}` instead of what its pattern says. */
const withVariables = (value: unknown, field: string): unknown => {
  if (Array.isArray(value)) return value.map((item) => withVariables(item, field))
  if (!isNode(value)) return value
  const node = Object.fromEntries(
    Object.entries(value).map(([name, inner]) =>
      name === "properties" && isNode(inner)
        ? [name, Object.fromEntries(Object.entries(inner).map(([key, shape]) => [key, withVariables(shape, key)]))]
        : [name, name === "examples" ? inner : withVariables(inner, field)]
    )
  )
  const { pattern } = node
  if (typeof pattern !== "string" || withoutVariables.test(field)) return node
  return { ...node, pattern: `(?:${pattern})|\\$\\{` }
}

/** Draft 2020-12. */
export const document = (): unknown => {
  const collected: Collected = { definitions: new Map() }
  const sections = kinds.map((kind) => [
    kind,
    { ...section(kind, collected), type: ["object", "null"], description: descriptions[kind] }
  ])
  const name: unknown = Schema.toJsonSchemaDocument(ConfigurationName).schema
  const include = { type: "array", items: { type: "string", minLength: 1 } }
  return simplified({
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Configuration of effect-relayer",
    type: "object",
    properties: {
      version: { const: 1, description: "Version of the format." },
      name,
      include: {
        ...include,
        description: "Files that are merged before this one, relative to it. * stands for a part of a name."
      },
      ...Object.fromEntries(sections)
    },
    additionalProperties: false,
    $defs: Object.fromEntries(
      [...collected.definitions]
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, definition]) => [name, withVariables(definition, "")])
    )
  })
}
