// The types of the clients, from the schemas of the contract: a method for each endpoint, and a type for each schema with a name.
import { Schema } from "effect"
import * as Envelope from "../../src/api/Envelope.ts"
import { WebhookPayload } from "../../src/api/WebhooksApi.ts"
import * as Contract from "./Contract.ts"
import * as Printer from "./Printer.ts"
import * as Shape from "./Shape.ts"

interface Style {
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

/** The declarations of a file: the clients of the groups as one text, and each type that they refer to by its name. */
interface Declarations {
  readonly clients: string
  readonly types: ReadonlyMap<string, string>
}

const declarationsOf = (style: Style): Declarations => {
  const groups = Contract.groups()
  const clients = groups.map((group) => clientOf(style, group))
  const parts = groups.map(
    ({ description, name }) => `${Printer.comment(description)}readonly ${name}: ${capital(name)}Client`
  )
  return {
    clients: [
      Printer.interfaceOf("Client", "A method for each endpoint, by the group of the endpoint.", parts),
      ...clients
    ].join("\n"),
    types: new Map([...style.request.declarations, ...style.success.declarations])
  }
}

const fileOf = (imports: string, { clients, types }: Declarations): string =>
  [
    imports,
    clients,
    ...[...types].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, declaration]) => declaration)
  ].join("\n")

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
  const names = new Set(
    [...request.declarations].flatMap(([name, text]) => ((declarations.get(name) ?? text) === text ? [] : [name]))
  )
  const isPartOfBoth = (name: string): boolean => declarations.has(name) && !names.has(name)
  // A type that has a part of such a type differs as well.
  for (let count = -1; count !== names.size;) {
    count = names.size
    for (const [name, text] of request.declarations) {
      if (isPartOfBoth(name) && Printer.namesUsed(text, names).size > 0) names.add(name)
    }
  }
  return names
}

/** What all successful responses have: an envelope without its data. */
const envelope = (): Printer.Base => {
  const shape = Shape.of(Envelope.of(Schema.Null))
  if (shape.kind !== "struct") throw new Error("the envelope of a response is not a struct")
  return {
    name: "ResponseEnvelope",
    description: "What all successful responses have around their data.",
    properties: shape.properties.filter(({ name }) => name !== "data")
  }
}

const method = 'import type { Method } from "./Method.ts"\n'

const typed = (): Declarations => {
  const printer = Printer.make(decoded, { base: envelope() })
  printer.type(Shape.of(WebhookPayload))
  return declarationsOf({ request: printer, success: printer, hasOptionalParts: false })
}

/** Types of the typed client and of verified webhooks, `src/client/Client.ts`. */
export const ofClient = (): string =>
  fileOf(`import type { Brand, DateTime, Redacted } from "effect"\n${method}`, typed())

/**
 * Types of the client with promises, `src/client/promise/Client.ts`. Types that are equal in the typed client are exported from
 * there. They are not mapped from the typed client, because editors with TypeScript 7.0 show no comments of mapped properties (7.1 does), and
 * none shows the names of mapped types.
 */
export const ofPromiseClient = (): string => {
  const inputs = inputNames()
  const request = Printer.make(given, { rename: (name) => (inputs.has(name) ? `${name}Input` : name) })
  const success = Printer.make(received, { base: envelope() })
  const { clients, types } = declarationsOf({ request, success, hasOptionalParts: true })
  const equal = Printer.equalNames(types, typed().types)
  const own = new Map([...types].filter(([name]) => !equal.has(name)))
  const used = Printer.namesUsed([clients, ...own.values()].join("\n"), equal)
  const imports = [
    Printer.typesFrom("import", used, "../Client.ts"),
    method,
    Printer.typesFrom("export", equal, "../Client.ts")
  ]
  return fileOf(imports.join(""), { clients, types: own })
}
