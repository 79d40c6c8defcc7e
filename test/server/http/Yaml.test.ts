import { assert, describe, it } from "@effect/vitest"
import { OpenApi } from "effect/http-api"
import { parse } from "yaml"
import { Api } from "../../../src/api/Api.ts"
import { toYaml } from "../../../src/server/http/Documents.ts"

describe("YAML", () => {
  it("reads back as the value that was written", () => {
    const value = {
      text: 'a: "b"\n- c',
      yes: [true, null, 1.5, [], {}, [[1], { a: [] }]],
      "200": { $ref: "#/x" },
      "a b": "é\u{1f680}\u0007"
    }
    assert.deepStrictEqual(parse(toYaml(value)), value)
  })

  it("holds the whole OpenAPI document", () => {
    const document: unknown = JSON.parse(JSON.stringify(OpenApi.fromApi(Api)))
    assert.deepStrictEqual(parse(toYaml(document)), document)
  })

  it("is written in blocks", () => {
    assert.strictEqual(toYaml({ a: { b: [1, "x"] }, no: {} }), 'a:\n  b:\n    - 1\n    - "x"\n"no": {}\n')
  })
})
