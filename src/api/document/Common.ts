// What all endpoints have in common: headers and parameters that no schema declares, and the meaning of each status.
import { Schema } from "effect"
import { IdempotencyKey } from "../../domain/request/Idempotency.ts"
import * as Examples from "../Examples.ts"
import { child, isNode, items, mapEntries, mapOperations } from "./Node.ts"
import type { Node, Operation } from "./Node.ts"
import { header } from "./Operation.ts"

/** Used if the schemas of a status have no descriptions. */
const descriptions: Record<string, string> = { "200": "Success.", "201": "Created." }

const requestId = {
  "x-request-id": header(
    "Identifies the request in the logs. It is the one that the caller sent if that was valid.",
    "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"
  ),
  "x-relayer-version": header("Version of the instance that answers.", "0.1.0")
}

const rateLimit = {
  "ratelimit-policy": header(
    "The limit of the API key: burst (`q`) and the seconds that refill it (`w`).",
    '"default";q=300;w=3'
  ),
  ratelimit: header("Requests left (`r`) and seconds until the burst is full again (`t`).", '"default";r=299;t=1')
}

const location = { location: header("Path of the created resource.", "/api/v1/relayers/payouts") }

const replayed = {
  "idempotency-replayed": header(
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
export const withCommon = (document: Node, scopes: ReadonlyMap<string, string>): Node =>
  mapOperations(document, (operation) => describe(operation, scopes))
