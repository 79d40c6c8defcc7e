// The metrics with a series for each relayer.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { authenticateRows } from "../../../testkit/authenticateRows.ts"
import { awaited } from "../../../testkit/Awaited.ts"
import * as EvmRpc from "../../../testkit/EvmRpc.ts"
import * as LedgerRows from "../../../testkit/LedgerRows.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { relayerAt } from "./RelayerAt.ts"

/** The lines of a metric once the job has measured what makes them match. */
const seriesOf = (name: string, matches: (text: string) => boolean) =>
  Effect.gen(function* () {
    const api = yield* TestApi.TestApi
    const measured = Effect.andThen(TestClock.adjust("10 seconds"), api.call(`/metrics/${name}`, { key: null }))
    const { text } = yield* awaited(measured, ({ text }) => matches(text))
    return text
  })

layer(TestApi.layer({ metricsPerRelayer: true }))("the metrics of each relayer", (it) => {
  it.effect("follow its state and its balance, and end when it is deleted", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.TestApi
      const rpc = yield* EvmRpc.make({ balance: 77n })
      const relayer = yield* relayerAt([rpc.url], { min_balance: "50" })
      const { id } = relayer
      const labels = `{relayer_id="${id}",network_type="evm",network="sepolia"}`
      assert.include(yield* seriesOf("relayer_enabled", (text) => text.includes(id)), `relayer_enabled${labels} 1\n`)
      assert.include(yield* seriesOf("relayer_min_balance", (text) => text.includes(id)), `${labels} 50\n`)
      assert.include((yield* api.call("/metrics/relayer_waiting", { key: null })).text, `relayer_waiting${labels} 0\n`)
      assert.notInclude((yield* api.call("/metrics/relayer_balance", { key: null })).text, id)
      assert.strictEqual((yield* relayer.check()).status, 200)
      assert.include(yield* seriesOf("relayer_balance", (text) => text.includes(id)), `relayer_balance${labels} 77\n`)

      yield* api.call(`/api/v1/relayers/${id}`, { method: "PATCH", body: { paused: true } })
      assert.include(yield* seriesOf("relayer_paused", (text) => text.includes("} 1")), `relayer_paused${labels} 1\n`)

      yield* api.call(`/api/v1/relayers/${id}`, { method: "DELETE" })
      yield* seriesOf("relayer_enabled", (text) => !text.includes(id))
      const { text } = yield* api.call("/debug/metrics/scrape", { key: null })
      assert.notInclude(text, id)
    })
  )
})

layer(TestApi.layer({ metricsPerRelayer: true }))("the metrics of a relayer whose transactions wait", (it) => {
  it.effect("say how many of them wait, with those that are queued behind others", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql.withTransaction(Effect.andThen(LedgerRows.insertRelayers(2), authenticateRows()))
      const [first = ""] = yield* LedgerRows.insert(LedgerRows.account(1), 3)
      yield* LedgerRows.insert(LedgerRows.account(2), 2)
      yield* sql`UPDATE transactions SET code = 'insufficient_funds' WHERE id = ${first}::uuid`
      const labels = (id: string) => `{relayer_id="${id}",network_type="evm",network="sepolia"}`
      const text = yield* seriesOf("relayer_waiting", (text) => text.includes('"r2"'))
      assert.include(text, `relayer_waiting${labels("r1")} 3\n`)
      assert.include(text, `relayer_waiting${labels("r2")} 0\n`)
    })
  )
})
