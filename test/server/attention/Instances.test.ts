// The list of instances: each writes that it runs, one that ends is removed, and one that was killed is still listed for an hour.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Prepared from "../../../testkit/Prepared.ts"
import * as TestApi from "../../../testkit/TestApi.ts"
import { version } from "../../../src/api/Version.ts"
import * as LedgerRows from "../../../testkit/LedgerRows.ts"
import { makeInstancesRepo } from "../../../src/server/attention/Instances.ts"

interface Item {
  readonly id: string
  readonly version: string
  readonly jobs: Readonly<Record<string, string>>
  readonly lanes_held?: number
  readonly is_this: boolean
}

const list = Effect.fnUntraced(function* (key: string = TestApi.apiKey) {
  const { status, text, json } = yield* TestApi.call("/api/v1/instances", { key })
  assert.strictEqual(status, 200, text)
  return json.data as ReadonlyArray<Item>
})

const other = "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"
const killed = "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3c"
const stopped = "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3e"
const forgotten = "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3d"

/** Two instances beside the one that answers, and one that was killed long ago. The first holds a lane, and held another one. */
const prepare = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { write } = yield* makeInstancesRepo
  for (const id of [other, killed, forgotten]) yield* write({ id, version: "0.0.9", jobs: { lanes: "healthy" } })
  yield* sql`UPDATE instances SET last_seen_at = now() - interval '59 minutes' WHERE id = ${killed}::uuid`
  yield* sql`UPDATE instances SET last_seen_at = now() - interval '61 minutes' WHERE id = ${forgotten}::uuid`
  yield* LedgerRows.insertRelayers(2)
  yield* LedgerRows.insert(LedgerRows.account(1), 1)
  yield* LedgerRows.insert(LedgerRows.account(2), 1)
  yield* sql`
    UPDATE lanes SET holder = ${other}::uuid,
      held_until = now() + CASE WHEN address LIKE '%1' THEN interval '1 minute' ELSE interval '-1 minute' END`
  yield* write({ id: other, version: "0.0.9", jobs: { lanes: "unhealthy" } })
})

layer(Prepared.layer(prepare))("the list of instances", (it) => {
  it.effect("has the instance that answers and those of the last hour, with their jobs and lanes", () =>
    Effect.gen(function* () {
      const items = yield* list()
      const own = items.filter(({ is_this }) => is_this)
      assert.lengthOf(own, 1)
      assert.strictEqual(own[0]?.version, version)
      assert.property(own[0]?.jobs, "lanes")
      const others = items.filter(({ is_this }) => !is_this)
      assert.sameMembers(
        others.map(({ id }) => id),
        [other, killed]
      )
      assert.deepInclude(
        others.find(({ id }) => id === other),
        { version: "0.0.9", jobs: { lanes: "unhealthy" }, lanes_held: 1 }
      )
      assert.strictEqual(others.find(({ id }) => id === killed)?.lanes_held, 0)
    })
  )

  it.effect("needs the scope relayers:read, and counts lanes only for keys of all relayers", () =>
    Effect.gen(function* () {
      const limited = yield* Prepared.createKey({ scopes: ["relayers:read"], relayer_ids: ["r1"] })
      const items = yield* list(limited)
      assert.isNotEmpty(items)
      for (const item of items) assert.notProperty(item, "lanes_held")
      const key = yield* Prepared.createKey({ scopes: ["transactions:read"] })
      assert.strictEqual((yield* TestApi.call("/api/v1/instances", { key })).status, 403)
    })
  )

  it.effect("lacks an instance that has stopped", () =>
    Effect.gen(function* () {
      const { write, remove, list: all } = yield* makeInstancesRepo
      const ids = Effect.map(all, (rows) => rows.map(({ id }) => id))
      yield* write({ id: stopped, version, jobs: {} })
      assert.include(yield* ids, stopped)
      yield* remove(stopped)
      assert.notInclude(yield* ids, stopped)
    })
  )
})
