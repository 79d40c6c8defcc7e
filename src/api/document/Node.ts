// Objects of the OpenAPI document while it is being transformed, and their simple form, which tools understand.
import { Predicate } from "effect"

export type Node = { readonly [key: string]: unknown }

export const isNode = (value: unknown): value is Node => Predicate.isObject(value) && !Array.isArray(value)

const empty: Node = {}

/** The object under `key`, empty if there is none. */
export const child = (node: Node, key: string): Node => {
  const value = node[key]
  return isNode(value) ? value : empty
}

export const items = (node: Node, key: string): ReadonlyArray<unknown> => {
  const value = node[key]
  return Array.isArray(value) ? value : []
}

/** A copy of the objects under `node`, each changed by `f`. */
export const mapEntries = (node: Node, f: (value: Node, key: string) => unknown): Node =>
  Object.fromEntries(Object.entries(node).map(([key, value]) => [key, isNode(value) ? f(value, key) : value]))

/** A copy of `value` with every object in it changed by `f`, the innermost first. */
export const mapNodes = (value: unknown, f: (node: Node) => unknown): unknown => {
  if (Array.isArray(value)) return value.map((item) => mapNodes(item, f))
  return isNode(value)
    ? f(Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, mapNodes(inner, f)])))
    : value
}

export const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

const methods = new Set(["get", "post", "put", "patch", "delete"])

export interface Operation {
  readonly path: string
  readonly method: string
  readonly node: Node
}

/** The document with each of its operations changed by `f`. */
export const mapOperations = (document: Node, f: (operation: Operation) => Node): Node => ({
  ...document,
  paths: mapEntries(child(document, "paths"), (item, path) =>
    mapEntries(item, (node, method) => (methods.has(method) ? f({ path, method, node }) : node))
  )
})

// Simplifies the generated schemas: what tools of OpenAPI understand, without detours of the generator.

const annotations = new Set(["title", "description", "examples", "default"])

/** `allOf` members that only add keywords become part of the schema around them; the outer annotation wins. */
const withoutAllOf = (node: Node): Node => {
  const { allOf, ...own } = node
  if (!Array.isArray(allOf)) return node
  const merged: Record<string, unknown> = { ...own }
  for (const member of allOf.filter(isNode)) {
    for (const [keyword, value] of Object.entries(member)) {
      if (keyword in merged && !annotations.has(keyword)) return node
      merged[keyword] = value
    }
  }
  return merged
}

/** A text that holds JSON, such as a body or an integer in a query, is shown as that JSON. */
const withoutText = (node: Node): Node => {
  const { contentMediaType, contentSchema, type: _, enum: __, ...own } = node
  return contentMediaType === "application/json" && isNode(contentSchema) ? { ...contentSchema, ...own } : node
}

const isNull = (node: unknown) => isNode(node) && node.type === "null"

/** `anyOf` of one type and null is that type with null, so that its annotations are those of the property. */
const withNull = (node: Node): Node => {
  const { anyOf, ...own } = node
  if (!Array.isArray(anyOf)) return node
  const members = anyOf.flatMap((member: unknown) =>
    isNode(member) && Object.keys(member).join() === "anyOf" ? items(member, "anyOf") : [member]
  )
  const [only, ...others] = members.filter((member) => !isNull(member))
  if (isNode(only) && members.length === 1) return { ...only, ...own }
  if (!isNode(only) || others.length > 0 || typeof only.type !== "string") {
    return { ...own, anyOf: members }
  }
  const values = Array.isArray(only.enum) ? { enum: [...only.enum, null] } : {}
  return { ...only, ...values, ...own, type: [only.type, "null"] }
}

/** A struct without fields is an object without properties. */
const withoutNot = (node: Node): Node =>
  isNode(node.not) && node.not.type === "null" ? { type: "object", additionalProperties: false } : node

/** A field that a request may not name is not shown. */
const withoutNever = (node: Node): Node => {
  const { properties } = node
  if (!isNode(properties)) return node
  const shown = Object.entries(properties).filter(([, schema]) => !isNode(schema) || !isNode(schema.not))
  return { ...node, properties: Object.fromEntries(shown) }
}

const steps = [withoutNot, withoutAllOf, withoutText, withNull, withoutNever]

export const simplified = (document: Node): unknown =>
  mapNodes(document, (node) => steps.reduce((result, step) => step(result), node))
