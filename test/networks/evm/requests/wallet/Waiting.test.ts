// `eth_sendTransaction` without a chain, so that nothing is ever signed: the call ends, and so does the transaction.
// The end of a connection is noticed by the clock of the machine.
import { Effect, Fiber } from "effect"
import { assert } from "@effect/vitest"
import * as TestApi from "../../../../../testkit/TestApi.ts"
import { layerEach } from "../../../../../testkit/layerEach.ts"
import { until } from "../../../../../testkit/process/Folder.ts"
import { count, prepare, receiver, transactions } from "../../../../server/transactions/Fixtures.ts"
import type { Shown } from "../../../../server/transactions/Fixtures.ts"
import { rpc, whileTimePasses } from "./fixtures.ts"

const all = Effect.map(
  Effect.flatMap(TestApi.TestApi, ({ call }) => call(transactions)),
  ({ json }) => json.data as ReadonlyArray<Shown>
)

layerEach(TestApi.layer())("a send of a wallet", (it) => {
  it.effect("that gets no nonce within 15 seconds is canceled, and says why it waited", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { error } = yield* whileTimePasses(1, rpc("eth_sendTransaction", [{ to: receiver, value: "0x1" }]))
      const [row] = yield* all
      assert.strictEqual(error?.code, -32_000)
      assert.include(error?.message, "The transaction waits for its nonce")
      assert.deepStrictEqual(error?.data, { code: "queued", transaction_id: row?.id })
      assert.strictEqual(row?.status, "canceled")
    })
  )

  it.effect("in a batch is accepted in the order of the batch, and ends on its own", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const body = ["0x1", "0x2", "0x3"].map((value, id) => ({
        id,
        method: "eth_sendTransaction",
        params: [{ to: receiver, value }]
      }))
      const { text } = yield* whileTimePasses(
        3,
        call("/api/v1/relayers/sender/rpc", { body: [{ id: 9, method: "eth_sendTransaction", params: [1] }, ...body] })
      )
      const replies: ReadonlyArray<{ readonly id: number; readonly error: { readonly code: number } }> =
        JSON.parse(text)
      assert.deepStrictEqual(
        replies.map(({ id, error }) => [id, error.code]),
        [
          [9, -32_602],
          [0, -32_000],
          [1, -32_000],
          [2, -32_000]
        ]
      )
      const rows = yield* all
      assert.deepStrictEqual(
        rows.map(({ value, status }) => [value, status]),
        [
          ["0x3", "canceled"],
          ["0x2", "canceled"],
          ["0x1", "canceled"]
        ]
      )
    })
  )

  it.effect("ignores an Idempotency-Key: each call is a transaction", () =>
    Effect.gen(function* () {
      yield* prepare()
      const headers = { "idempotency-key": "0123456789abcdef" }
      for (const rows of [1, 2])
        yield* whileTimePasses(rows, rpc("eth_sendTransaction", [{ to: receiver }], { headers }))
      assert.strictEqual(yield* count, 2)
    })
  )

  it.live("is canceled when the client disconnects", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { baseUrl } = yield* TestApi.TestApi
      const client = yield* Effect.forkChild(
        Effect.promise((signal) =>
          fetch(`${baseUrl}/api/v1/relayers/sender/rpc`, {
            method: "POST",
            headers: { authorization: `Bearer ${TestApi.apiKey}`, "content-type": "application/json" },
            body: JSON.stringify({ id: 1, method: "eth_sendTransaction", params: [{ to: receiver }] }),
            signal
          })
        )
      )
      const has = (status: string) => Effect.map(all, ([row]) => (row?.status === status ? true : undefined))
      yield* until("the transaction", has("pending"))
      yield* Fiber.interrupt(client)
      yield* until("the cancel", has("canceled"))
    })
  )
})
