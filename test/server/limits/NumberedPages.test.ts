// Pages by number of resources that are large together: whole, or refused. None is silently shortened.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { maxNumberedBytes } from "../../../src/sql/Rows.ts"
import * as LedgerRows from "../../../testkit/LedgerRows.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"

const create = Effect.fnUntraced(function* (path: string, body: object) {
  const created = yield* TestApi.call(path, { body })
  assert.strictEqual(created.status, 201, created.text.slice(0, 300))
})

/** 38 kB of JSON. */
const explorer_urls = Array.from({ length: 20 }, (_, n) => `https://example.com/${n}?${"x".repeat(1900)}`)

const refused = ({ status, json }: TestApi.Answer) => {
  assert.strictEqual(status, 400)
  assert.strictEqual(json.error, `per_page: these items do not fit into ${maxNumberedBytes} bytes; ask for fewer`)
}

const lengthOf = ({ status, json }: TestApi.Answer) => {
  assert.strictEqual(status, 200)
  return (json.data as ReadonlyArray<unknown>).length
}

layerEach(TestApi.layer())("a page by number", (it) => {
  it.effect("of large API keys is refused, and smaller pages have each key once", () =>
    Effect.gen(function* () {
      const relayer_ids = Array.from({ length: 1000 }, (_, n) => `relayer-${"x".repeat(20)}-${n}`)
      yield* LedgerRows.insertNamed(...relayer_ids)
      for (let n = 0; n < 80; n++)
        yield* create("/api/v1/api-keys", { name: `k${n}`, scopes: ["relayers:read"], relayer_ids })
      refused(yield* TestApi.call("/api/v1/api-keys?per_page=1000"))
      const pages = yield* Effect.forEach([1, 2, 3, 4], (page) =>
        TestApi.call(`/api/v1/api-keys?per_page=30&page=${page}`)
      )
      assert.deepStrictEqual(pages.map(lengthOf), [30, 30, 20, 0])
      const names = pages.flatMap(({ json }) =>
        (json.data as ReadonlyArray<{ readonly name: string }>).map(({ name }) => name)
      )
      assert.deepStrictEqual(
        names,
        names.map((_, n) => `k${n}`)
      )
    })
  )

  it.effect("of large networks is refused, also if their size is inherited", () =>
    Effect.gen(function* () {
      const network = (name: string, more: object) => create("/api/v1/networks", { name, network_type: "evm", ...more })
      yield* network("parent", { from: "sepolia", explorer_urls })
      for (let n = 0; n < 60; n++) yield* network(`child-${n}`, { from: "parent" })
      refused(yield* TestApi.call("/api/v1/networks?per_page=1000"))
      for (let n = 0; n < 60; n++) yield* network(`large-${n}`, { from: "sepolia", explorer_urls })
      refused(yield* TestApi.call("/api/v1/networks?per_page=1000"))
      assert.strictEqual(lengthOf(yield* TestApi.call("/api/v1/networks?per_page=10&page=9")), 10)
    })
  )
})
