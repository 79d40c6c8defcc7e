// The OpenAPI document is checked in, complete and documented.
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { HttpApi, OpenApi } from "effect/http-api"
import * as fs from "node:fs"
import { Api } from "../../src/api/Api.ts"
import * as Examples from "../../src/api/Examples.ts"
import { CreateNotification } from "../../src/domain/notification/Notification.ts"
import { CreateRelayer } from "../../src/domain/relayer/Relayer.ts"
import { CreateSigner } from "../../src/domain/signer/CreateSigner.ts"

const document = OpenApi.fromApi(Api)
const text = JSON.stringify(document)

const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({
    path,
    method,
    operation: operation as OpenApi.OpenAPISpecOperation
  }))
)

type Node = { readonly [key: string]: unknown }

const isObject = (value: unknown): value is Node => typeof value === "object" && value !== null

/** The component that a reference names, or the value itself. */
const resolved = (value: unknown): Node => {
  const node = isObject(value) ? value : {}
  const path = typeof node["$ref"] === "string" ? node["$ref"].slice(2).split("/") : undefined
  return path === undefined
    ? node
    : resolved(path.reduce<unknown>((parent, key) => (isObject(parent) ? parent[key] : undefined), document))
}

const list = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

const isDescribed = (schema: unknown): boolean =>
  isObject(schema) && (typeof schema["description"] === "string" || typeof resolved(schema)["description"] === "string")

/** Objects, lists and unions have the examples of their parts. */
const hasExample = (schema: unknown): boolean => {
  if (isObject(schema) && list(schema["examples"]).length > 0) return true
  const { examples, properties, items, oneOf, anyOf } = resolved(schema)
  if (list(examples).length > 0) return true
  if (isObject(properties)) return Object.values(properties).every(hasExample)
  if (items !== undefined) return hasExample(items)
  const members = [...list(oneOf), ...list(anyOf)].filter((member) => resolved(member)["type"] !== "null")
  return members.length > 0 && members.every(hasExample)
}

interface Property {
  readonly name: string
  readonly schema: unknown
}

const propertiesOf = (value: unknown, name: string): ReadonlyArray<Property> => {
  if (Array.isArray(value)) return value.flatMap((item, index) => propertiesOf(item, `${name}.${index}`))
  if (!isObject(value)) return []
  const own = isObject(value["properties"]) && (value["type"] === "object" || list(value["type"]).includes("object"))
  return Object.entries(value).flatMap(([key, child]) => [
    ...(own && key === "properties" && isObject(child)
      ? Object.entries(child).map(([field, schema]) => ({ name: `${name}.${field}`, schema }))
      : []),
    ...(key === "examples" || key === "example" ? [] : propertiesOf(child, `${name}.${key}`))
  ])
}

/** The properties of all schemas. Envelopes are excepted for their data. */
const properties = propertiesOf(document.paths, "paths")
  .concat(propertiesOf(document.components, "components"))
  .filter(({ name }) => !/Response\.properties\.data$|Response\.data$/.test(name))

describe("openapi.json", () => {
  it("matches the contract", () => {
    const file = fs.readFileSync(new URL("../../openapi.json", import.meta.url), "utf8")
    assert.deepStrictEqual(JSON.parse(file), JSON.parse(text))
  })

  it("has every endpoint of the contract", () => {
    let count = 0
    HttpApi.reflect(Api, { onGroup: () => undefined, onEndpoint: () => void count++ })
    assert.strictEqual(operations.length, count)
  })

  it("describes every operation and every response", () => {
    for (const { path, method, operation } of operations) {
      const name = `${method} ${path}`
      assert.isString(operation.summary, name)
      assert.isString(operation.description, name)
      for (const [status, given] of Object.entries(operation.responses)) {
        const response = resolved(given)
        assert.match(String(response.description), /^[A-Z`].*\.$/, `${name} ${status}`)
        // A response with status 304 has no body.
        if (status !== "304") assert.isObject(response.content, `${name} ${status}`)
      }
      for (const parameter of operation.parameters.map(resolved)) {
        assert.isString(parameter.description, `${name} ${String(parameter.name)}`)
      }
    }
  })

  it("shows bodies as JSON, not as texts", () => {
    for (const { path, method, operation } of operations) {
      for (const [type, { schema }] of Object.entries(operation.requestBody?.content ?? {})) {
        const name = `${method} ${path} ${type}`
        assert.include(type, "json", name)
        assert.notStrictEqual(resolved(schema).type, "string", name)
      }
    }
    assert.notInclude(text, "contentMediaType")
    assert.notInclude(text, "contentSchema")
  })

  /** A `POST` that changes nothing, or that another part of its body identifies, can be repeated without a key. */
  const isReading = (path: string) =>
    // A claim is repeated with the same `by`. A stored response would say that it holds although its lease has ended.
    path === "/api/v1/claims" ||
    ["/simulate", "/rpc", "/rehearse", "/plan", "/quote", "/build"].some((end) => path.endsWith(end))

  it("lists the responses of every resource endpoint", () => {
    for (const { path, method, operation } of operations) {
      if (operation.security.length === 0) continue
      const expected = [
        "400",
        "401",
        "403",
        "429",
        "500",
        "503",
        ...(method === "post" && !isReading(path) ? ["409", "422"] : []),
        ...(operation.requestBody === undefined ? [] : ["413", "415"]),
        ...(method === "get" || method === "delete" ? ["200"] : []),
        ...(path.endsWith("_id}") ? ["404"] : [])
      ]
      assert.includeMembers(Object.keys(operation.responses), expected, `${method} ${path}`)
      if (method !== "post") assert.notProperty(operation.responses, "422", `${method} ${path}`)
      const [{ bearer = [] } = {}] = operation.security
      // Every key may ask what it may do, and search what it may read.
      if (["/api/v1/api-keys/current", "/api/v1/search"].includes(path)) assert.deepStrictEqual(bearer, [])
      else assert.match(bearer.join(), /^([a-z-]+:(read|write)|transactions:sign|rpc:call)$/, `${method} ${path}`)
    }
  })

  it("has a description and an example for every property", () => {
    const missing = properties.flatMap(({ name, schema }) => [
      ...(isDescribed(schema) ? [] : [`${name} has no description`]),
      ...(hasExample(schema) ? [] : [`${name} has no example`])
    ])
    assert.deepStrictEqual(missing, [])
    assert.isAbove(properties.length, 300)
  })

  it("has integers with a minimum and a default in queries", () => {
    const list = document.paths["/api/v1/relayers"]?.get?.parameters.map(resolved) ?? []
    const page = list.find(({ name }) => name === "page")
    assert.deepInclude(page?.schema, { type: "integer", minimum: 0, default: 1 })
    const paused = list.find(({ name }) => name === "paused")
    assert.deepInclude(paused?.schema, { type: "boolean" })
  })

  it("has the bounds that the service checks", () => {
    const { EvmPolicy, CreateNotificationRequest: notification } = document.components.schemas
    assert.include(
      JSON.stringify(EvmPolicy),
      `{"type":"integer","format":"uint128","minimum":0},{"type":"string","pattern":`
    )
    assert.include(JSON.stringify(EvmPolicy), `"maxItems":1000`)
    assert.include(JSON.stringify(notification), `"minLength":32,"maxLength":512`)
    assert.include(JSON.stringify(notification), `"format":"uri"`)
    assert.include(text, `"maxLength":256`)
    assert.include(text, `"pattern":"^[A-Za-z0-9_-]{1,36}$"`)
    assert.include(text, String.raw`"pattern":"^[\\x21-\\x7e]{1,255}$"`)
  })

  it("describes the webhooks, whose receivers need no API key", () => {
    const { webhooks } = document as OpenApi.OpenAPISpec & {
      readonly webhooks: Record<string, { readonly post: Node }>
    }
    assert.sameMembers(Object.keys(webhooks), ["relayer", "transaction", "test"])
    for (const { post } of Object.values(webhooks)) {
      assert.isString(post.description)
      assert.deepStrictEqual(post.security, [])
      assert.hasAllKeys(post.responses, ["2XX", "410", "default"])
    }
  })

  it("names every union, with a discriminator", () => {
    const unions = ["Relayer", "CreateRelayerRequest", "Signer", "Network", "RelayerStatus"]
    for (const union of unions) assert.property(document.components.schemas[union], "discriminator", union)
  })

  it("has a target for every reference", () => {
    for (const [reference] of text.matchAll(/#\/components\/[\w/]+/g)) {
      assert.isNotEmpty(resolved({ $ref: reference }), reference)
    }
  })

  it("has no generated names and no schema beside another in allOf", () => {
    for (const name of Object.keys(document.components.schemas)) assert.notMatch(name, /Encoded|_\d+$/)
    assert.notInclude(text, `"allOf"`)
  })

  it("has examples that are valid requests", () => {
    const strict = { errors: "all", onExcessProperty: "error" } as const
    Schema.decodeSync(CreateSigner, strict)(Examples.requests["post /api/v1/signers"])
    Schema.decodeSync(CreateNotification, strict)(Examples.requests["post /api/v1/notifications"])
    Schema.decodeSync(CreateRelayer, strict)(Examples.requests["post /api/v1/relayers"])
    for (const key of Object.keys(Examples.requests))
      assert.include(text, JSON.stringify(Examples.requests[key as never]))
  })
})
