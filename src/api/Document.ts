// What the OpenAPI document says beyond the schemas.
import { Predicate } from "effect"
import * as Examples from "./Examples.ts"

export const description = `Manages blockchain relayers: account-like workers bound to one network and one signer.

Every answer is an envelope: \`{success: true, data, pagination?, metadata?}\` or \`{data: null, message, success: false}\`, where a 400 adds
\`error\`, a text that names every offending field. Creates answer 201 with \`Location\`. Every answer carries \`x-request-id\`.
A \`POST\` with an \`Idempotency-Key\` takes effect once: sent again within 24 hours, it gets the answer that it got before.
Send \`X-Relayer-Debug: true\` to get the log lines and spans of a request in \`metadata\`.
Chain amounts are integers of up to 128 bits: they are returned as JSON numbers, digit for digit, and accepted as numbers or decimal strings.`

type Node = { [key: string]: unknown }

const isNode = (value: unknown): value is Node => Predicate.isObject(value) && !Array.isArray(value)

const map = (value: unknown, f: (node: Node) => unknown): unknown =>
  Array.isArray(value)
    ? value.map((item) => map(item, f))
    : isNode(value)
      ? f(Object.fromEntries(Object.entries(value).map(([key, child]) => [key, map(child, f)])))
      : value

const componentPrefix = "#/components/schemas/"

/** Bodies are texts that hold JSON (`api/Json.ts`): the document shows the JSON, not the text. */
const unwrapText =
  (components: Node) =>
  (node: Node): unknown => {
    const target = typeof node.$ref === "string" ? components[node.$ref.slice(componentPrefix.length)] : node
    return isNode(target) && target.contentMediaType === "application/json" ? target.contentSchema : node
  }

/** `X_1` where it equals `X`: the generator numbers a schema that it meets in two bodies. */
const duplicates = (components: Node) => {
  const same = new Map<string, string>()
  for (const name of Object.keys(components)) {
    const base = name.replace(/_\d+$/, "")
    if (base !== name && JSON.stringify(components[name]) === JSON.stringify(components[base])) same.set(name, base)
  }
  return same
}

const withoutDuplicates = (document: Node): Node => {
  const { components } = document as { components: Node & { schemas: Node } }
  const same = duplicates(components.schemas)
  if (same.size === 0) return document
  const kept = Object.fromEntries(Object.entries(components.schemas).filter(([name]) => !same.has(name)))
  const renamed = map({ ...document, components: { ...components, schemas: kept } }, (node) => {
    const target = typeof node.$ref === "string" ? same.get(node.$ref.slice(componentPrefix.length)) : undefined
    return target === undefined ? node : { ...node, $ref: componentPrefix + target }
  })
  return withoutDuplicates(renamed as Node)
}

const withoutTexts = (document: Node): Node => {
  const { components } = document as { components: Node & { schemas: Node } }
  const unwrapped = map(document, unwrapText(components.schemas)) as typeof document & { components: { schemas: Node } }
  const schemas = Object.fromEntries(
    Object.entries(components.schemas)
      .filter(([, schema]) => !isNode(schema) || schema.contentMediaType !== "application/json")
      .map(([name]) => [name, unwrapped.components.schemas[name]])
  )
  return { ...unwrapped, components: { ...unwrapped.components, schemas } }
}

const withExamples = (document: Node): Node => {
  const paths = document.paths as { [path: string]: { [method: string]: Node } }
  for (const [key, example] of Object.entries(Examples.requests)) {
    const [method, path] = key.split(" ") as [string, string]
    const requestBody = paths[path]?.[method]?.requestBody as { content: { [type: string]: Node } } | undefined
    if (requestBody?.content["application/json"] !== undefined)
      requestBody.content["application/json"].example = example
  }
  return document
}

/** What a status means, whatever the endpoint. */
const descriptions: Record<string, string> = {
  "200": "Done.",
  "201": "Created; `Location` names it.",
  "400": "Something in the request does not fit; `error` names every offending field.",
  "401": "The API key is missing, malformed or unknown.",
  "403": "The API key is not granted the scope that this needs, or not this relayer.",
  "404": "There is no such thing.",
  "409": "The id is taken, the resource is in use, or the first request with this idempotency key is still running.",
  "412": "The resource is none of the versions that `If-Match` names.",
  "413": "The body is larger than the limit.",
  "415": "The body is not `application/json`.",
  "422": "The idempotency key was used for another request.",
  "429": "The token bucket of the API key is empty; `Retry-After` says for how long.",
  "500": "A fault of the service, logged under the `x-request-id` of the answer.",
  "503":
    "The database is away, the request took too long, or the process is about to stop; try again after `Retry-After`."
}

const header = (description: string, example: string, required = true) => ({
  description,
  required,
  schema: { type: "string" },
  example
})

const requestId = {
  "x-request-id": header("The caller's, where it sent one that is sane.", "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b")
}

const rateLimit = {
  "ratelimit-policy": header("Burst (`q`) and the seconds that refill it (`w`).", '"default";q=300;w=3'),
  ratelimit: header("Requests left (`r`) and seconds until the burst is full again (`t`).", '"default";r=299;t=1')
}

const location = { location: header("Path of what was created.", "/api/v1/relayers/payouts") }

const entityTag = { etag: header("Version of the relayer, for `If-Match`.", '"3"') }

const link = {
  link: header("The next page, if there is one.", '</api/v1/relayers?cursor=…>; rel="next"', false)
}

const replayed = {
  "idempotency-replayed": header("`true` where this answer was given before.", "true", false)
}

const parameter = (name: string, description: string, schema: Node) => ({
  name,
  in: "header",
  required: false,
  description,
  schema
})

const debugParameter = parameter(
  "X-Relayer-Debug",
  "`true` fills `metadata` with the log lines and spans of this request.",
  { type: "string", enum: ["true"] }
)

const idempotencyParameter = parameter(
  "Idempotency-Key",
  "Sent again with the same key and body, the request takes effect once, and gets the same answer for 24 hours.",
  { type: "string", minLength: 1, maxLength: 255 }
)

interface Operation {
  readonly operationId: string
  security: ReadonlyArray<unknown>
  readonly parameters: Array<unknown>
  readonly requestBody?: { required: boolean }
  readonly responses: { readonly [status: string]: Node }
}

const versionedOperations = new Set(["relayers.create", "relayers.get", "relayers.update"])
const linkedOperations = new Set(["relayers.list", "audit.list", "events.list", "notifications.deliveries"])

/** Their body may be left out: nothing in it has to be there. */
const bodilessOperations = new Set(["apiKeys.rotate"])

/** The same answer for who accepts nothing but a stream. */
const streamedOperations = new Map([
  [
    "events.list",
    {
      schema: {
        type: "string",
        description:
          "Server-Sent Events without an end: of each event its `id`, its type as `event`, and the event as the list shows it as `data`. A comment every 15 seconds shows that the stream lives."
      },
      example:
        'retry: 2000\n\nid: 7\nevent: relayer.paused\ndata: {"id":7,"type":"relayer.paused","resource_id":"payouts","at":"2026-01-02T03:04:05.678Z","data":{}}\n\n'
    }
  ]
])

/** Headers that are set beside what the contract encodes. */
const headersOf = (method: string, { operationId }: Operation, status: string): Node => {
  const isSuccess = status.startsWith("2")
  return {
    ...(isSuccess || status === "429" ? rateLimit : {}),
    ...(status === "201" ? location : {}),
    ...(isSuccess && versionedOperations.has(operationId) ? entityTag : {}),
    ...(isSuccess && linkedOperations.has(operationId) ? link : {}),
    ...(isSuccess && method === "post" ? replayed : {})
  }
}

const withMiddleware = (document: Node, scopes: ReadonlyMap<string, string>): Node => {
  const paths = document.paths as { [path: string]: { [method: string]: Operation } }
  for (const [method, operation] of Object.values(paths).flatMap((item) => Object.entries(item))) {
    const isResource = operation.security.length > 0
    if (isResource) {
      operation.security = [{ bearer: [scopes.get(operation.operationId)] }]
      operation.parameters.push(debugParameter, ...(method === "post" ? [idempotencyParameter] : []))
    }
    if (operation.requestBody !== undefined && bodilessOperations.has(operation.operationId)) {
      operation.requestBody.required = false
    }
    const stream = streamedOperations.get(operation.operationId)
    for (const [status, response] of Object.entries(operation.responses)) {
      if (status === "200" && stream !== undefined) {
        response.content = { ...(response.content as Node), "text/event-stream": stream }
      }
      response.description = descriptions[status] ?? response.description
      response.headers = {
        ...requestId,
        ...(isResource ? headersOf(method, operation, status) : {}),
        ...(response.headers as Node | undefined)
      }
    }
  }
  return document
}

/** What a patch may not name is not shown. */
const withoutNever = (node: Node): Node => {
  const { properties } = node
  if (!isNode(properties)) return node
  const shown = Object.entries(properties).filter(([, schema]) => !isNode(schema) || schema.not === undefined)
  return { ...node, properties: Object.fromEntries(shown) }
}

/** Tools compare the scheme's name as OpenAPI writes it, in lower case. */
const withLowerCaseSchemes = (document: Node): Node => {
  const { components } = document as { components: { securitySchemes: { [name: string]: Node } } }
  for (const scheme of Object.values(components.securitySchemes)) scheme.scheme = String(scheme.scheme).toLowerCase()
  return document
}

/** `scopes`: what each operation needs. */
export const transform = (document: Node, scopes: ReadonlyMap<string, string>): Node => {
  const described = map(withoutDuplicates(withoutTexts(document)), withoutNever) as Node
  return withLowerCaseSchemes(withMiddleware(withExamples(described), scopes))
}
