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

const without = (document: Node, names: ReadonlySet<string>, f: (node: Node, name: string) => Node): Node => {
  const kept = Object.fromEntries(Object.entries(schemasOf(document)).filter(([name]) => !names.has(name)))
  const replaced = mapNodes(withSchemas(document, kept), (node) => {
    const name = nameOf(node)
    return name === undefined || !names.has(name) ? node : f(node, name)
  })
  return isNode(replaced) ? replaced : document
}

/** Replaces references to generated names by the schemas themselves, or by the component that they equal. */
export const withoutGeneratedNames = (document: Node): Node => {
  const schemas = schemasOf(document)
  const names = Object.keys(schemas)
  const duplicates = new Set(names.filter((name) => isDuplicate(schemas, name)))
  if (duplicates.size > 0) {
    return withoutGeneratedNames(
      without(document, duplicates, (node, name) => ({ ...node, $ref: prefix + baseOf(name) }))
    )
  }
  const nameless = new Set(names.filter(isNameless))
  if (nameless.size === 0) return document
  return withoutGeneratedNames(
    without(document, nameless, (node, name) => {
      const { $ref: _, type: __, ...own } = node
      return { ...child(schemas, name), ...own }
    })
  )
}

/** The values of each member in the property that tells the members of a union apart. */
const mappingOf = (schemas: Node, members: ReadonlyArray<string>): readonly [string, Node] | undefined => {
  const [first] = members
  for (const property of Object.keys(child(child(schemas, first ?? ""), "properties"))) {
    const entries = members.map((member) => {
      const values = items(child(child(child(schemas, member), "properties"), property), "enum")
      return values.map((value) => [String(value), prefix + member] as const)
    })
    const values = entries.flat().map(([value]) => value)
    if (entries.some((own) => own.length === 0) || new Set(values).size !== values.length) continue
    return [property, Object.fromEntries(entries.flat())]
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
