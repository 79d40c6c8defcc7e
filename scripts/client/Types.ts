// The types of the clients, from the schemas of the contract: a method for each endpoint, and a type for each schema with a name.
import { WebhookPayload } from "../../src/domain/notification/WebhookPayload.ts"
import * as Contract from "./Contract.ts"
import * as Printer from "./Printer.ts"
import * as Shape from "./Shape.ts"

interface Style {
  readonly imports: string
  /** Prints requests and responses. */
  readonly request: Printer.Printer
  readonly success: Printer.Printer
  /** Whether a part of a request may be absent if all its fields may be. */
  readonly hasOptionalParts: boolean
}

const isOptional = (shape: Shape.Shape): boolean => {
  if (shape.kind === "named") return isOptional(shape.of())
  if (shape.kind === "union") return shape.members.some(isOptional)
  return shape.kind === "struct" && shape.properties.every((property) => property.isOptional)
}

const capital = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1)

const requestOf = ({ hasOptionalParts, request }: Style, endpoint: Contract.Endpoint): string => {
  const properties = endpoint.request.map(([name, shape]) => ({
    name,
    shape,
    isOptional: hasOptionalParts && isOptional(shape)
  }))
  return request.type({ kind: "struct", properties })
}

const clientOf = (style: Style, { description, endpoints, name }: Contract.Group): string => {
  const methods = endpoints.map((endpoint) => {
    const types = [`"${name}"`, `"${endpoint.name}"`, requestOf(style, endpoint), style.success.type(endpoint.success)]
    const comment = Printer.comment(`${endpoint.summary}.`, endpoint.description)
    return `${comment}readonly ${endpoint.name}: Method<${types.join(", ")}>`
  })
  return Printer.interfaceOf(`${capital(name)}Client`, description, methods)
}

const fileOf = (style: Style): string => {
  const groups = Contract.groups()
  const clients = groups.map((group) => clientOf(style, group))
  const parts = groups.map(
    ({ description, name }) => `${Printer.comment(description)}readonly ${name}: ${capital(name)}Client`
  )
  const types = new Map([...style.request.declarations, ...style.success.declarations])
  return [
    `// Written by \`npm run openapi\` from the schemas of the contract. Do not edit.\n${style.imports}`,
    Printer.interfaceOf("Client", "A method for each endpoint, by the group of the endpoint.", parts),
    ...clients,
    ...[...types].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, declaration]) => declaration)
  ].join("\n")
}

const decoded: Printer.Dialect = {
  leaf: (leaf) => leaf,
  brand: (text, brand) => `${text} & Brand.Brand<"${brand}">`,
  redacted: (text) => `Redacted.Redacted<${text}>`
}

/** Texts instead of brands, secrets and date-times. */
const plain = (leaves: Partial<Record<Shape.Leaf, string>>): Printer.Dialect => ({
  leaf: (leaf) => leaves[leaf] ?? leaf,
  brand: (text) => text,
  redacted: (text) => text
})

const received = plain({ "DateTime.Utc": "string" })
const given = plain({ "DateTime.Utc": "string | Date", bigint: "bigint | number | string" })

/** Types of requests that differ from the types of responses with the same name are named `…Input`. */
const inputNames = (): ReadonlySet<string> => {
  const [request, success] = [Printer.make(given), Printer.make(received)]
  for (const endpoint of Contract.groups().flatMap(({ endpoints }) => endpoints)) {
    for (const [, shape] of endpoint.request) request.type(shape)
    success.type(endpoint.success)
  }
  const { declarations } = success
  return new Set(
    [...request.declarations].flatMap(([name, text]) => ((declarations.get(name) ?? text) === text ? [] : [name]))
  )
}

const method = 'import type { Method } from "./Method.ts"\n'

/** Types of the typed client and of verified webhooks, `src/client/Client.ts`. */
export const ofClient = (): string => {
  const printer = Printer.make(decoded)
  printer.type(Shape.of(WebhookPayload))
  const imports = `import type { Brand, DateTime, Redacted } from "effect"\n${method}`
  return fileOf({ imports, request: printer, success: printer, hasOptionalParts: false })
}

/** Types of the client with promises, `src/client/promise/Client.ts`. */
export const ofPromiseClient = (): string => {
  const inputs = inputNames()
  const request = Printer.make(given, (name) => (inputs.has(name) ? `${name}Input` : name))
  return fileOf({ imports: method, request, success: Printer.make(received), hasOptionalParts: true })
}
