// The OpenAPI document: what it says beyond the generated schemas, and how it is put into its final form.
import { flow, Schema } from "effect"
import { scopeTexts } from "../../domain/access/ApiKey.ts"
import { IdempotencyKey } from "../../domain/request/Request.ts"
import { withHeader } from "../Endpoint.ts"
import * as Examples from "../Examples.ts"
import { RelayerWebhook, TestWebhook, TransactionWebhook } from "../WebhooksApi.ts"
import { child, isNode, isSame, items, mapEntries, mapNodes, mapOperations, simplified } from "./Node.ts"
import type { Node, Operation } from "./Node.ts"

// What all endpoints have in common: headers and parameters that no schema declares, and the meaning of each status.

/** Used if the schemas of a status have no descriptions. */
const descriptions: Record<string, string> = { "200": "Success.", "201": "Created." }

const requestId = {
  "x-request-id": withHeader(
    "Identifies the request in the logs. It is the one that the caller sent if that was valid.",
    "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"
  ),
  "x-relayer-version": withHeader("Version of the instance that answers.", "0.1.0")
}

const rateLimit = {
  "ratelimit-policy": withHeader(
    "The limit of the API key: burst (`q`) and the seconds that refill it (`w`).",
    '"default";q=300;w=3'
  ),
  ratelimit: withHeader("Requests left (`r`) and seconds until the burst is full again (`t`).", '"default";r=299;t=1')
}

const location = { location: withHeader("Path of the created resource.", "/api/v1/relayers/payouts") }

const replayed = {
  "idempotency-replayed": withHeader(
    "`true` if this is the stored response of an earlier request with the same `Idempotency-Key`.",
    "true",
    false
  )
}

const parameter = (name: string, description: string, schema: Node): Node => ({
  name,
  in: "header",
  required: false,
  description,
  schema
})

const debugParameter = parameter(
  "X-Relayer-Debug",
  "`true` fills `metadata` with the log messages and spans of this request.",
  { type: "string", enum: ["true"] }
)

const idempotencyParameter = parameter(
  "Idempotency-Key",
  "Makes the request safe to repeat: for 24 hours, a request with the same key and body gets the response of the first.",
  { ...Schema.toJsonSchemaDocument(IdempotencyKey).schema, examples: ["payouts-2026-01-02"] }
)

/** Headers that the service sets outside of the contract's schemas. */
const headersOf = (status: string, isResource: boolean, isIdempotent: boolean, hasPath: boolean): Node => {
  const isSuccess = status.startsWith("2")
  return {
    ...requestId,
    ...(isResource && (isSuccess || status === "429") ? rateLimit : {}),
    ...(status === "201" && hasPath ? location : {}),
    ...(isSuccess && isIdempotent ? replayed : {})
  }
}

const withExample = (body: Node, value: unknown): Node => ({
  ...body,
  content: mapEntries(child(body, "content"), (content) => ({ ...content, examples: { default: { value } } }))
})

/** An optional parameter is not part of the request that `/docs` offers to send: `x-disabled` is read by that page. */
const withoutDefault = (parameter: Node): Node => {
  if (parameter.required === true) return parameter
  const schema = child(parameter, "schema")
  const [value] = [...items(schema, "examples"), ...items(schema, "enum")]
  return { ...parameter, examples: { default: { ...(value === undefined ? {} : { value }), "x-disabled": true } } }
}

/** A `GET` of a resource that has a version. */
const notModified = (method: string, responses: Node): Node => {
  const { etag } = child(child(responses, "200"), "headers")
  if (method !== "get" || etag === undefined) return {}
  return { "304": { description: "The caller has this version: `If-None-Match` names it.", headers: { etag } } }
}

const alternatives = (response: Node): number => {
  const schema = child(child(child(response, "content"), "application/json"), "schema")
  return items(schema, "oneOf").length + items(schema, "anyOf").length
}

/** Headers of the schemas. If a status has several bodies, only one of them may have the header. */
const ownHeaders = (response: Node): Node => {
  const headers = child(response, "headers")
  return alternatives(response) < 2 ? headers : mapEntries(headers, (own) => ({ ...own, required: false }))
}

const describe = ({ path, method, node }: Operation, scopes: ReadonlyMap<string, string>): Node => {
  const responses = child(node, "responses")
  const isResource = items(node, "security").length > 0
  const isIdempotent = "422" in responses
  // An audit checkpoint has no path of its own.
  const scope = scopes.get(String(node.operationId))
  const hasPath = String(node.operationId).endsWith(".create")
  const example: unknown = Reflect.get(Examples.requests, `${method} ${path}`)
  return {
    ...node,
    // An operation without a scope is for every key.
    ...(isResource ? { security: [{ bearer: scope === undefined ? [] : [scope] }] } : {}),
    parameters: [
      ...items(node, "parameters"),
      ...(isResource ? [debugParameter] : []),
      ...(isIdempotent ? [idempotencyParameter] : [])
    ].map((each) => (isNode(each) ? withoutDefault(each) : each)),
    ...(example === undefined ? {} : { requestBody: withExample(child(node, "requestBody"), example) }),
    responses: mapEntries({ ...responses, ...notModified(method, responses) }, (response, status) => ({
      ...response,
      description: descriptions[status] ?? String(response.description).replaceAll(" | ", " "),
      headers: { ...headersOf(status, isResource, isIdempotent, hasPath), ...ownHeaders(response) }
    }))
  }
}

/** `scopes`: the scope that each operation requires, by its id. */
const withCommon = (document: Node, scopes: ReadonlyMap<string, string>): Node =>
  mapOperations(document, (operation) => describe(operation, scopes))

// Names of schemas: one component per schema, under the name that the schema has in the contract.

const prefix = "#/components/schemas/"

const nameOf = (node: unknown): string | undefined =>
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
const withoutGeneratedNames = (document: Node): Node => {
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
const withDiscriminators = (document: Node): unknown => {
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

// Moves what several operations share into `components`: responses, headers and parameters.

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

const withComponents = (document: Node): Node => {
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

// Describes the webhooks that the service sends, as `webhooks` of the OpenAPI document.

const header = (name: string, description: string, example: string, required = true): Node => ({
  name,
  in: "header",
  required,
  description,
  schema: { type: "string", examples: [example] }
})

const headers = [
  header(
    "webhook-id",
    "The same in every attempt, so that a receiver can ignore repetitions.",
    "0191e9a0-7b1c-7000-8000-5e0c3f9b2d11"
  ),
  header("webhook-timestamp", "When the attempt was made, in seconds since 1970.", "1767323045"),
  header("webhook-event-type", "The same as `type` of the body.", "relayer.disabled"),
  header(
    "webhook-signature",
    "Signatures as in Standard Webhooks, separated by blanks: one per valid signing key. Absent if the notification has no signing key.",
    "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    false
  ),
  header(
    "X-Signature",
    "HMAC-SHA-256 of the body with the signing key, as base64. Absent if the notification has no signing key.",
    "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    false
  )
]

const responses = {
  "2XX": { description: "The receiver has the webhook. It is not sent again." },
  "410": { description: "The receiver is gone: the service pauses the notification." },
  default: { description: "The service tries again, for up to 24 hours. `Retry-After` of 429 and 503 is heeded." }
}

const webhook = (operationId: string, summary: string, description: string, body: string): Node => ({
  post: {
    tags: ["Notifications"],
    operationId,
    summary,
    description,
    // The receiver verifies a signature instead of a credential of this API.
    security: [],
    parameters: headers,
    requestBody: {
      required: true,
      content: { "application/json": { schema: { $ref: `#/components/schemas/${body}` } } }
    },
    responses
  }
})

const webhooks = {
  relayer: webhook(
    "webhooks.relayer",
    "An event of a relayer",
    "Sent to the notification of the relayer after a change, in the order of the relayer's events, at least once.",
    "RelayerWebhook"
  ),
  transaction: webhook(
    "webhooks.transaction",
    "An event of a transaction",
    "Sent to the notification of the transaction's relayer after each change of its status and with each new hash, in the order of the transaction's events, at least once.",
    "TransactionWebhook"
  ),
  test: webhook("webhooks.test", "A test", "Sent when a caller tests the notification, once.", "TestWebhook")
}

const definitionsOf = (schema: Schema.Top): Node => Schema.toJsonSchemaDocument(schema).definitions

const moved = (definitions: Node): Node =>
  Object(
    mapNodes(definitions, (node) =>
      typeof node.$ref === "string" ? { ...node, $ref: node.$ref.replace("#/$defs/", "#/components/schemas/") } : node
    )
  )

/** Adds the webhooks, and the schemas that no operation has. */
const withWebhooks = (document: Node): Node => {
  const components = child(document, "components")
  const schemas = child(components, "schemas")
  const bodies = [RelayerWebhook, TransactionWebhook, TestWebhook]
  const all = bodies.flatMap((body) => Object.entries(moved(definitionsOf(body))))
  const added = Object.fromEntries(all.filter(([name]) => !(name in schemas)))
  return { ...document, webhooks, components: { ...components, schemas: { ...schemas, ...added } } }
}

export const description = `Manages blockchain relayers. A relayer is an account on one network with one signer.

Every response body is an envelope: \`{success: true, data, pagination?, metadata?}\` or \`{data: null, message, success: false}\`. A response 400
adds \`error\`, a text that names every invalid field. A create answers 201 with \`Location\`. Every response carries \`x-request-id\`.
A \`POST\` with an \`Idempotency-Key\` takes effect once: repeated within 24 hours, it gets the response of the first request.
Send \`X-Relayer-Debug: true\` to get the log messages and spans of a request in \`metadata\`.
Chain amounts are integers of up to 128 bits. Responses have them as JSON numbers with every digit; requests may have numbers or decimal strings, such as \`"1000000000000000000"\` and \`"1e18"\`.`

/** OpenAPI writes the names of schemes in lower case, and tools compare them so. */
const withLowerCaseSchemes = (document: Node): Node => {
  const components = child(document, "components")
  const securitySchemes = mapEntries(child(components, "securitySchemes"), (scheme) => ({
    ...scheme,
    scheme: String(scheme.scheme).toLowerCase()
  }))
  return { ...document, components: { ...components, securitySchemes } }
}

/** OpenAPI has no field that describes the scopes of a bearer token. */
const withScopes = (document: Node): Node => ({ ...document, "x-scopes": scopeTexts })

/** The description of a parameter's schema is that of the parameter. */
const withParameterDescriptions = (document: Node): Node =>
  mapOperations(document, ({ node }) => ({
    ...node,
    parameters: items(node, "parameters")
      .filter(isNode)
      .map((parameter) => {
        const { description, ...schema } = child(parameter, "schema")
        return description === undefined ? parameter : { ...parameter, description, schema }
      })
  }))

const asNode = (value: unknown): Node => {
  if (!isNode(value)) throw new Error("the OpenAPI document is not an object")
  return value
}

const withSimpleSchemas = flow(simplified, asNode, withoutGeneratedNames, withDiscriminators, asNode)

/** `scopes`: the scope that each operation requires, by its id. */
export const transform = (document: Node, scopes: ReadonlyMap<string, string>): Node =>
  flow(
    withWebhooks,
    withSimpleSchemas,
    withParameterDescriptions,
    (simple) => withCommon(simple, scopes),
    withComponents,
    withLowerCaseSchemes,
    withScopes
  )(document)
