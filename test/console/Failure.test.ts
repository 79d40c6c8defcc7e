// What a page shows of a failed request.
import { assert, describe, it } from "@effect/vitest"
import { problemsOf, wordsOf } from "../../web/src/data/Failure.ts"

describe("failures", () => {
  it("are shown in the service's words, the longer ones first, and by their status if a proxy answers", () => {
    assert.strictEqual(wordsOf('{"message":"Bad Request","error":"name: is required"}', 400), "name: is required")
    assert.strictEqual(wordsOf('{"message":"Forbidden"}', 403), "Forbidden")
    assert.strictEqual(wordsOf("<html>504</html>", 504), "HTTP 504")
  })

  it("of forms are split by field, also if a problem contains a semicolon", () => {
    assert.deepStrictEqual(
      problemsOf("name: is required; policies.min_balance: Expected a; b; rpc_urls.0.url: leads elsewhere"),
      [
        { field: "name", problem: "is required" },
        { field: "policies.min_balance", problem: "Expected a; b" },
        { field: "rpc_urls.0.url", problem: "leads elsewhere" }
      ]
    )
  })
})
