// What lanes and health checks read of relayers.
import { assert } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { SqlClient } from "effect/sql"
import { RelayerId } from "../../../src/domain/relayer/Relayer.ts"
import { RelayerTargets } from "../../../src/server/relayers/RelayerTargets.ts"
import { rowState } from "../../../src/sql/Rows.ts"
import { evmRelayer } from "../../../testkit/fixtures.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import * as Prepared from "../../../testkit/Prepared.ts"

const ids = ["first", "second", "third"].map((id) => RelayerId.make(id))

const setUp = Effect.andThen(
  Prepared.references,
  Effect.forEach(ids, (id) => Prepared.create("relayers", { ...evmRelayer, id }))
)

const statements = Effect.map(Metric.snapshot, (all) =>
  all.reduce(
    (count, one) =>
      one.type === "Histogram" && one.attributes?.["query"] === "RelayersRepo.findSealed"
        ? count + one.state.count
        : count,
    0
  )
)

const read = Effect.gen(function* () {
  const targets = yield* RelayerTargets
  return yield* Effect.forEach(ids, (id) => Effect.exit(targets.get(id)), { concurrency: "unbounded" })
})

layerEach(Prepared.layer(setUp))("relayers that are read together", (it) => {
  it.effect("are read by one statement, each as itself", () =>
    Effect.gen(function* () {
      const before = yield* statements
      const found = yield* read
      assert.deepStrictEqual(
        found.map((exit) => exit._tag === "Success" && exit.value.relayer.id),
        ids
      )
      assert.strictEqual((yield* statements) - before, 1)
    })
  )

  it.effect("fail one by one: a changed or deleted row does not affect the others", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE relayers SET mac = 'changed' WHERE id = 'second'`
      yield* sql`DELETE FROM relayers WHERE id = 'third'`
      const [first, second, third] = yield* read
      assert.strictEqual(first?._tag, "Success")
      assert.include(String(second), "changed it in the database")
      assert.include(String(third), "RelayerNotFound")
    })
  )

  it.effect("are remembered with the rows that they were read from, until they cannot be read any more", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const targets = yield* RelayerTargets
      assert.deepStrictEqual(targets.known(ids), [])
      const readAll = Effect.forEach(ids, (id) => Effect.exit(targets.getRemembering(id)), { concurrency: "unbounded" })
      yield* read
      assert.deepStrictEqual(targets.known(ids), [])
      const found = yield* readAll
      const states = yield* sql<{ readonly state: string }>`
        SELECT ${rowState(sql, "r")} AS state FROM relayers r ORDER BY r.seq`
      assert.deepStrictEqual(
        targets.known(ids),
        ids.map((id, index) => {
          const target = found[index]
          if (target?._tag !== "Success") return assert.fail("no relayer")
          const networks = [{ id: `evm:${target.value.relayer.network}` }]
          return { id, terms: { relayer: states[index]?.state ?? "", networks }, target: target.value }
        })
      )
      yield* sql`UPDATE relayers SET mac = 'changed' WHERE id = 'second'`
      yield* sql`DELETE FROM relayers WHERE id = 'third'`
      yield* readAll
      assert.deepStrictEqual(
        targets.known(ids).map(({ id }) => id),
        ["first"]
      )
    })
  )
})
