// Explanations show figures and moments of the moment of the answer.
import { assert } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { dataOf, prepare, receiver, send, transactions } from "./Fixtures.ts"

interface Explained {
  readonly code: string
  readonly reason: string
  readonly figures: Readonly<Record<string, unknown>>
  readonly next_at: string
}

const explain = (id: string) =>
  Effect.map(
    Effect.flatMap(TestApi.TestApi, ({ call }) => call(`${transactions}/${id}/explain`)),
    ({ json }) => json.data as Explained
  )

layerEach(TestApi.layer())("an explanation", (it) => {
  it.effect("shows the depth of the block now", () =>
    Effect.gen(function* () {
      yield* prepare()
      const sql = yield* SqlClient.SqlClient
      const { id } = dataOf(yield* send({ to: receiver }))
      const figures = JSON.stringify({ block: 13, blocks: 0, required_blocks: 12 })
      yield* sql`UPDATE transactions SET code = 'mined_waiting', figures = ${figures}::text::json`
      yield* sql`UPDATE lanes SET chain_block = 18, chain_hash = '0x01'`
      const { figures: shown, reason } = yield* explain(id)
      assert.strictEqual(shown.blocks, 5)
      assert.include(reason, "5 of 12 blocks")
    })
  )

  it.effect("shows what is in flight now", () =>
    Effect.gen(function* () {
      yield* prepare()
      const sql = yield* SqlClient.SqlClient
      const { id } = dataOf(yield* send({ to: receiver }))
      const figures = JSON.stringify({ window: 64, in_flight: 64 })
      yield* sql`UPDATE transactions SET code = 'lane_window_full', figures = ${figures}::text::json`
      assert.strictEqual((yield* explain(id)).figures.in_flight, 0)
    })
  )

  it.effect("never names a moment that has passed", () =>
    Effect.gen(function* () {
      yield* prepare()
      const sql = yield* SqlClient.SqlClient
      const { id } = dataOf(yield* send({ to: receiver }))
      yield* sql`UPDATE lanes SET next_poll_at = to_timestamp(0)`
      yield* TestClock.adjust("1 minute")
      const now = yield* Clock.currentTimeMillis
      assert.isAtLeast(Date.parse((yield* explain(id)).next_at), now)
    })
  )

  it.effect("of every transaction of a paused relayer says that it is paused", () =>
    Effect.gen(function* () {
      yield* prepare()
      const { call } = yield* TestApi.TestApi
      const sent = [dataOf(yield* send({ to: receiver })), dataOf(yield* send({ to: receiver }))]
      yield* call("/api/v1/relayers/sender", { method: "PATCH", body: { paused: true } })
      for (const { id } of sent) assert.strictEqual((yield* explain(id)).code, "relayer_paused")
    })
  )
})
