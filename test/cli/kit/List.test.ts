// The pages that a list command requests.
import { assert, describe, it } from "@effect/vitest"
import { nextPlace, unreadableCells, unreadableOf } from "../../../src/cli/kit/Print.ts"
import { firstPlace } from "../../../src/cli/kit/Verb.ts"

const page = (current_page: number, per_page: number, total_items: number) => ({
  data: [],
  pagination: { current_page, per_page, total_items }
})

describe("a list", () => {
  it("starts at the given page, and uses large pages for --all", () => {
    assert.deepStrictEqual(firstPlace(false, {}), {})
    assert.deepStrictEqual(firstPlace(true, {}), { per_page: 1000 })
    assert.deepStrictEqual(firstPlace(true, { page: 2, per_page: 5 }), { page: 2, per_page: 5 })
    assert.deepStrictEqual(firstPlace(true, { cursor: "z" }, { limit: 100 }), { cursor: "z", limit: 100 })
  })

  it("continues with the cursor of the Link header and without a page number", () => {
    const link = '</relay/api/v1/relayers?per_page=5&cursor=a%2Bb>; rel="next"'
    assert.deepStrictEqual(nextPlace({ page: 1, per_page: 5 }, page(1, 5, 11), link), { per_page: 5, cursor: "a+b" })
    assert.deepStrictEqual(nextPlace({ cursor: "z" }, { data: [] }, link), { cursor: "a+b" })
    assert.isUndefined(nextPlace({ cursor: "z" }, { data: [] }, undefined))
  })

  it("shows a row that the service cannot read by its id, as unreadable", () => {
    const json = { data: [], metadata: { logs: [], traces: [], unreadable: [{ id: "x", reason: "it was changed" }] } }
    assert.deepStrictEqual(unreadableOf({ json }), [{ id: "x", reason: "it was changed" }])
    assert.isEmpty(unreadableOf({ json: { data: [] } }))
    assert.isEmpty(unreadableOf({ json: undefined }))
    assert.deepStrictEqual(unreadableCells("x", ["ID", "NAME", "STATE"]), ["x", undefined, "unreadable"])
    assert.deepStrictEqual(unreadableCells("x", ["ID", "TYPE", "EVM"]), ["x", "unreadable", undefined])
  })

  it("continues by page number to the last page if there is no cursor", () => {
    assert.deepStrictEqual(nextPlace({ per_page: 5 }, page(1, 5, 11), undefined), { per_page: 5, page: 2 })
    assert.deepStrictEqual(nextPlace({ per_page: 5, page: 2 }, page(2, 5, 11), undefined), { per_page: 5, page: 3 })
    assert.isUndefined(nextPlace({ per_page: 5, page: 3 }, page(3, 5, 11), undefined))
    assert.isUndefined(nextPlace({ per_page: 5, page: 2 }, page(2, 5, 10), undefined))
    assert.isUndefined(nextPlace({ per_page: 0 }, page(1, 0, 10), undefined))
  })
})
