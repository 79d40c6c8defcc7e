// Pages of lists as the console reads them.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HttpClientRequest, HttpClientResponse } from "effect/http"
import { pageOf } from "../../web/src/data/Pages.ts"

const response = HttpClientResponse.fromWeb(HttpClientRequest.get("http://service/api/v1/relayers"), new Response())

describe("a page of a list", () => {
  it.effect("has the rows that the service cannot read beside the others", () =>
    Effect.gen(function* () {
      const unreadable = [{ id: "main", reason: "it cannot be verified" }]
      const answer = { data: [], pagination: { total_items: 1 }, metadata: { unreadable } }
      assert.deepStrictEqual(yield* pageOf(Effect.succeed([answer, response] as const)), {
        rows: [],
        unreadable,
        total: 1
      })
      const { unreadable: none } = yield* pageOf(Effect.succeed([{ data: [] }, response] as const))
      assert.isEmpty(none)
    })
  )
})
