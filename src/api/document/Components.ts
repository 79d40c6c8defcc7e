// Moves what several operations share into `components`: responses, headers and parameters.
import { child, isNode, items, mapEntries, mapOperations } from "./Node.ts"
import type { Node } from "./Node.ts"
import { nameOf } from "./References.ts"

type Kind = "headers" | "parameters" | "responses"

/** Components of one kind. Two different values never share a name: the second one stays where it is. */
class Shared {
  readonly #kind: Kind
  readonly #counts = new Map<string, number>()
  readonly #named = new Map<string, Node>()

  constructor(kind: Kind) {
    this.#kind = kind
  }

  count(value: Node): void {
    const text = JSON.stringify(value)
    this.#counts.set(text, (this.#counts.get(text) ?? 0) + 1)
  }

  /** A reference to the component `name`, or the value itself if it occurs once. */
  share(name: string, value: Node): Node {
    const text = JSON.stringify(value)
    if ((this.#counts.get(text) ?? 0) < 2) return value
    const present = this.#named.get(name)
    if (present !== undefined && JSON.stringify(present) !== text) return value
    this.#named.set(name, value)
    return { $ref: `#/components/${this.#kind}/${name}` }
  }

  get components(): Node {
    return Object.fromEntries([...this.#named].sort(([one], [other]) => (one < other ? -1 : 1)))
  }
}

/** `x-request-id` becomes `XRequestId`. */
const pascalCase = (name: string) =>
  name
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("")

/** The same header may be required in one response and optional in another. */
const headerName = (name: string, { required }: Node) => `${required === true ? "" : "Optional"}${pascalCase(name)}`

const responseName = (response: Node): string | undefined => {
  const schema = child(child(child(response, "content"), "application/json"), "schema")
  const names = [schema, ...items(schema, "oneOf"), ...items(schema, "anyOf")].flatMap((node) => nameOf(node) ?? [])
  return names.length === 0 ? undefined : names.map((name) => name.replace(/Error$/, "")).join("Or")
}

const eachOperation = (document: Node, f: (operation: Node) => void) =>
  void mapOperations(document, ({ node }) => {
    f(node)
    return node
  })

const withSharedHeaders = (document: Node, headers: Shared): Node => {
  eachOperation(document, (operation) => {
    mapEntries(child(operation, "responses"), (response) =>
      mapEntries(child(response, "headers"), (header) => headers.count(header))
    )
  })
  return mapOperations(document, ({ node }) => ({
    ...node,
    responses: mapEntries(child(node, "responses"), (response) => ({
      ...response,
      headers: mapEntries(child(response, "headers"), (header, name) => headers.share(headerName(name, header), header))
    }))
  }))
}

const withSharedResponses = (document: Node, responses: Shared): Node => {
  eachOperation(document, (operation) => {
    mapEntries(child(operation, "responses"), (response) => responses.count(response))
  })
  return mapOperations(document, ({ node }) => ({
    ...node,
    responses: mapEntries(child(node, "responses"), (response) => {
      const name = responseName(response)
      return name === undefined ? response : responses.share(name, response)
    })
  }))
}

const withSharedParameters = (document: Node, parameters: Shared): Node => {
  const of = (operation: Node) => items(operation, "parameters").filter(isNode)
  eachOperation(document, (operation) => of(operation).forEach((parameter) => parameters.count(parameter)))
  return mapOperations(document, ({ node }) => ({
    ...node,
    parameters: of(node).map((parameter) => parameters.share(pascalCase(String(parameter.name)), parameter))
  }))
}

export const withComponents = (document: Node): Node => {
  const headers = new Shared("headers")
  const responses = new Shared("responses")
  const parameters = new Shared("parameters")
  const shared = withSharedParameters(withSharedResponses(withSharedHeaders(document, headers), responses), parameters)
  return {
    ...shared,
    components: {
      ...child(shared, "components"),
      parameters: parameters.components,
      headers: headers.components,
      responses: responses.components
    }
  }
}
