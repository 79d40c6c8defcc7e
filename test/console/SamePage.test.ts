// The URL of the API that answers with what a page of the console shows.
import { assert, describe, it } from "@effect/vitest"
import { apiUrlOf } from "../../src/api/SamePage.ts"

const pathOf = (address: string) => apiUrlOf("", `/console/${address}`)

describe("the API behind a page of the console", () => {
  it("is the same list or object, and the list of relayers if the page is neither", () => {
    for (const [address, path] of [
      ["relayers/dev-evm/policies", "/api/v1/relayers/dev-evm"],
      ["networks/evm%3Adev", "/api/v1/networks/evm%3Adev"],
      ["keys", "/api/v1/api-keys"],
      ["webhooks/ops?state=failed", "/api/v1/notifications/ops"],
      ["transactions?status=sent", "/api/v1/transactions"],
      ["transactions/4f1c?relayer=payouts", "/api/v1/relayers/payouts/transactions/4f1c"],
      ["", "/api/v1/relayers"],
      ["system", "/api/v1/relayers"]
    ] as const) {
      assert.strictEqual(pathOf(address), path, address)
    }
    for (const origin of ["https://r.example", "http://[::1]:8080", "http://a-b.localhost:8080"]) {
      assert.strictEqual(apiUrlOf(origin, "/console"), `${origin}/api/v1/relayers`)
    }
  })

  it("has nothing of a link that a shell or a page would execute", () => {
    for (const part of ["$(id)", "`id`", "x;id", "'", '"', "<b>", "&"]) {
      assert.strictEqual(pathOf(`relayers/${part}`), "/api/v1/relayers", part)
      assert.match(pathOf(`transactions/4f1c?relayer=${part}`), /^\/api\/v1\/[\w./%-]*$/, part)
      assert.strictEqual(pathOf(`transactions/${part}?relayer=r`), "/api/v1/transactions", part)
      assert.strictEqual(apiUrlOf(`http://${part}.localhost:8080`, "/console/keys"), "/api/v1/api-keys", part)
    }
  })
})
