// Large answers of a provider to the calls of a batch.
import { Effect } from "effect"
import { assert, layer } from "@effect/vitest"
import { maxPageBytes } from "../../../../../src/sql/Rows.ts"
import * as EvmRpc from "../../../../../testkit/EvmRpc.ts"
import * as TestApi from "../../../../../testkit/TestApi.ts"
import { prepare } from "../../../../server/transactions/Fixtures.ts"

/** Bytes of one answer. */
const large = 400_000

const genesis = { number: "0x0", hash: `0x${"22".repeat(32)}`, parentHash: `0x${"00".repeat(32)}`, timestamp: "0x1" }

interface Reply {
  readonly id: number
  readonly result?: string
  readonly error?: { readonly code: number; readonly message: string }
}

layer(TestApi.layer())("a batch of calls with large answers", (it) => {
  it.effect("has replies of 1 MiB at most; the other calls get -32005, in their order", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const node = yield* EvmRpc.make({ chainId: 31_337n })
      node.results.set("eth_getBlockByNumber", () => genesis)
      node.results.set("eth_call", () => `0x${"a".repeat(large)}`)
      const body = { custom_rpc_urls: [{ url: node.url }] }
      assert.strictEqual((yield* call("/api/v1/relayers/sender", { method: "PATCH", body })).status, 200)
      const calls = Array.from({ length: 30 }, (_, id) => ({
        jsonrpc: "2.0",
        id,
        method: "eth_call",
        params: [{}, id]
      }))
      const answer = yield* call("/api/v1/relayers/sender/rpc", { body: calls })
      const replies: ReadonlyArray<Reply> = JSON.parse(answer.text)
      assert.deepStrictEqual(
        replies.map(({ id }) => id),
        calls.map(({ id }) => id)
      )
      assert.isAtMost(answer.text.length, maxPageBytes + large)
      const given = replies.filter(({ result }) => result !== undefined)
      assert.lengthOf(given, Math.floor(maxPageBytes / large))
      const refused = replies.filter(({ error }) => error?.code === -32_005)
      assert.lengthOf(refused, calls.length - given.length)
      assert.include(refused[0]?.error?.message, "send fewer calls")
    })
  )
})
