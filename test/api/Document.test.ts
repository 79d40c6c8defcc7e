// The OpenAPI document: checked in, whole, and true.
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { HttpApi, OpenApi } from "effect/http-api"
import * as fs from "node:fs"
import { Api } from "../../src/api/Api.ts"
import * as Examples from "../../src/api/Examples.ts"
import { CreateNotification } from "../../src/domain/notification/Notification.ts"
import { CreateRelayer } from "../../src/domain/relayer/Relayer.ts"
import { CreateSigner } from "../../src/domain/signer/Signer.ts"

const document = OpenApi.fromApi(Api)
const text = JSON.stringify(document)

const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({
    path,
    method,
    operation: operation as OpenApi.OpenAPISpecOperation
  }))
)

describe("openapi.json", () => {
  it("is what the contract says", () => {
    const file = fs.readFileSync(new URL("../../openapi.json", import.meta.url), "utf8")
    assert.deepStrictEqual(JSON.parse(file), JSON.parse(text))
  })

  it("has every endpoint of the contract", () => {
    let count = 0
    HttpApi.reflect(Api, { onGroup: () => undefined, onEndpoint: () => void count++ })
    assert.strictEqual(operations.length, count)
  })

  it("describes every operation, every answer and every body", () => {
    for (const { path, method, operation } of operations) {
      const name = `${method} ${path}`
      assert.isString(operation.summary, name)
      for (const [status, response] of Object.entries(operation.responses)) {
        assert.isAbove(response.description.length, 1, `${name} ${status}`)
        assert.notInclude(["Success", "Error"], response.description, `${name} ${status}`)
        assert.isObject(response.content, `${name} ${status}`)
      }
    }
  })

  it("shows every body as the JSON that it is, and not as a text", () => {
    for (const { path, method, operation } of operations) {
      for (const [type, { schema }] of Object.entries(operation.requestBody?.content ?? {})) {
        const name = `${method} ${path} ${type}`
        assert.include(type, "json", name)
        const reference = /#\/components\/schemas\/(\w+)/.exec(String(schema.$ref))?.[1]
        const shown = reference === undefined ? schema : document.components.schemas[reference]
        assert.isUndefined(schema.type, name)
        assert.notStrictEqual(shown?.type, "string", name)
      }
    }
  })

  it("says what every resource endpoint may answer", () => {
    for (const { path, method, operation } of operations) {
      if (operation.security.length === 0) continue
      const expected = [
        "400",
        "401",
        "403",
        "429",
        "500",
        "503",
        ...(method === "post" ? ["409", "422"] : []),
        ...(operation.requestBody === undefined ? [] : ["413", "415"]),
        ...(method === "get" || method === "delete" ? ["200"] : []),
        ...(path.endsWith("_id}") ? ["404"] : [])
      ]
      assert.includeMembers(Object.keys(operation.responses), expected, `${method} ${path}`)
      const [{ bearer = [] } = {}] = operation.security
      assert.match(bearer.join(), /^[a-z-]+:(read|write)$/, `${method} ${path}`)
    }
  })

  it("shows bodies as JSON, amounts as integers or decimal strings, and bounds", () => {
    assert.notInclude(text, "contentMediaType")
    assert.notInclude(text, "contentSchema")
    const policy = JSON.stringify(document.components.schemas["EvmPolicy"])
    assert.include(policy, `"anyOf":[{"type":"integer","format":"uint128","minimum":0},{"type":"string","pattern":`)
    assert.include(policy, `"maxItems":1000`)
    assert.include(text, `"maxLength":256`)
    assert.include(text, `"pattern":"^[A-Za-z0-9_-]{1,36}$"`)
    assert.notMatch(text, /"#\/components\/schemas\/\w+_\d+"/)
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
