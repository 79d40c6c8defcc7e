// Names of schemas: one component per schema, under the name that the schema has in the contract.
import { child, isNode, isSame, items, mapNodes } from "./Node.ts"
import type { Node } from "./Node.ts"

const prefix = "#/components/schemas/"

export const nameOf = (node: unknown): string | undefined =>
  isNode(node) && typeof node.$ref === "string" && node.$ref.startsWith(prefix)
    ? node.$ref.slice(prefix.length)
    : undefined

const schemasOf = (document: Node): Node => child(child(document, "components"), "schemas")

const withSchemas = (document: Node, schemas: Node): Node => ({
  ...document,
  components: { ...child(document, "components"), schemas }
})

/** A schema without a name in the contract, such as the optional form of a named one. */
const isNameless = (name: string) => /Encoded(_\d+)?$/.test(name)

const baseOf = (name: string) => name.replace(/_\d+$/, "")

/** The generator numbers a schema that it meets twice. */
const isDuplicate = (schemas: Node, name: string) =>
  name !== baseOf(name) && isSame(schemas[name], schemas[baseOf(name)])

/** Replaces references to generated names by the schemas themselves, or by the component that they equal. */
export const withoutGeneratedNames = (document: Node): Node => {
  const schemas = schemasOf(document)
  const generated = new Set(Object.keys(schemas).filter((name) => isNameless(name) || isDuplicate(schemas, name)))
  if (generated.size === 0) return document
  const kept = Object.fromEntries(Object.entries(schemas).filter(([name]) => !generated.has(name)))
  const replaced = mapNodes(withSchemas(document, kept), (node) => {
    const name = nameOf(node)
    if (name === undefined || !generated.has(name)) return node
    if (!isNameless(name)) return { ...node, $ref: prefix + baseOf(name) }
    const { $ref: _, type: __, ...own } = node
    return { ...child(schemas, name), ...own }
  })
  return isNode(replaced) ? withoutGeneratedNames(replaced) : document
}

/** The value of each member in the property that tells the members of a union apart. */
const mappingOf = (schemas: Node, members: ReadonlyArray<string>): readonly [string, Node] | undefined => {
  const [first] = members
  for (const property of Object.keys(child(child(schemas, first ?? ""), "properties"))) {
    const values = members.flatMap((member) => {
      const values = items(child(child(child(schemas, member), "properties"), property), "enum")
      return values.length === 1 && typeof values[0] === "string" ? [values[0]] : []
    })
    if (new Set(values).size !== members.length) continue
    return [property, Object.fromEntries(values.map((value, index) => [value, `${prefix}${members[index]}`]))]
  }
  return undefined
}

/** A union of components that one property tells apart has a discriminator, which generators need. */
export const withDiscriminators = (document: Node): unknown => {
  const schemas = schemasOf(document)
  return mapNodes(document, (node) => {
    const { anyOf, ...own } = node
    if (!Array.isArray(anyOf) || anyOf.length < 2) return node
    const members = anyOf.flatMap((member: unknown) => nameOf(member) ?? [])
    const found = members.length === anyOf.length ? mappingOf(schemas, members) : undefined
    if (found === undefined) return node
    const [propertyName, mapping] = found
    return { oneOf: anyOf, discriminator: { propertyName, mapping }, ...own }
  })
}
