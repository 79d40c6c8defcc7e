// Lists of large transactions are limited in bytes.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { maxPageBytes } from "../../../src/sql/Rows.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { prepare, receiver, send, transactions } from "./Fixtures.ts"
import type { Shown } from "./Fixtures.ts"

/** Transactions of 200 kB of JSON each. */
const count = 15
const large = { to: receiver, data: `0x${"00".repeat(100_000)}`, gas_limit: 2_000_000 }

const nextOf = ({ headers }: TestApi.Answer) => /<([^>]+)>; rel="next"/.exec(headers.get("link") ?? "")?.[1]

const prepared = Effect.gen(function* () {
  yield* prepare()
  for (let n = 0; n < count; n++) assert.strictEqual((yield* send(large)).status, 200)
})

layerEach(TestApi.layer())("a list of transactions of 200 kB", (it) => {
  it.effect("ends at about 1 MiB, and its links lead to each transaction once", () =>
    Effect.gen(function* () {
      yield* prepared
      const { call } = yield* TestApi.TestApi
      const ids: Array<string> = []
      let path: string | undefined = "/api/v1/transactions?per_page=1000"
      while (path !== undefined) {
        const page: TestApi.Answer = yield* call(path)
        assert.strictEqual(page.status, 200, page.text.slice(0, 300))
        assert.isBelow(page.text.length, maxPageBytes + 250_000)
        ids.push(...(page.json.data as ReadonlyArray<Shown>).map(({ id }) => id))
        path = nextOf(page)
      }
      assert.lengthOf(new Set(ids), count)
      assert.lengthOf(ids, count)
    })
  )

  it.effect("by number is whole, or 400 that says how many fit", () =>
    Effect.gen(function* () {
      yield* prepared
      const { call } = yield* TestApi.TestApi
      const refused = yield* call(`${transactions}?per_page=15`)
      assert.strictEqual(refused.status, 400)
      assert.match(refused.json.error ?? "", /^per_page: only 6 of these transactions fit into 1048576 bytes/)
      assert.lengthOf((yield* call(transactions)).json.data as ReadonlyArray<Shown>, 10)
    })
  )
})
