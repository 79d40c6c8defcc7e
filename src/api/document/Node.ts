// Objects of the OpenAPI document while it is being transformed.
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
