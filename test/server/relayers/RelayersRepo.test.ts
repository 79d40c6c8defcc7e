// The SQL repository against a reference model, on a real PostgreSQL.
import { assert, layer } from "@effect/vitest"
import { Arbitrary, Effect, Equal, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Relayer } from "../../../src/domain/relayer/Relayer.ts"
import * as RelayersRepo from "../../../src/server/relayers/RelayersRepo.ts"
import { RelayerMacs } from "../../../src/server/relayers/StoredRelayer.ts"
import { property } from "../../../testkit/Depth.ts"
import { authenticateRows, layer as authenticated } from "../../../testkit/authenticateRows.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"
import { Small, clear, insert, page as readPage, toRequest } from "./requests.ts"

const encode = Schema.encodeSync(Relayer)
const repos = Layer.provideMerge(RelayerMacs.layer, Layer.provideMerge(authenticated(), TestDatabase.layer))

layer(repos)("RelayersRepo", (it) => {
  it.effect.prop(
    "gives back every field of any relayer, digit for digit",
    [Arbitrary.schema(Small)],
    ([small]) =>
      Effect.gen(function* () {
        yield* clear
        const request = toRequest({ ...small, signer: "s1" })
        const created = yield* insert(request)
        const repo = yield* RelayersRepo.make
        const stored = Option.getOrThrow(yield* repo.find(created.value.id))
        assert.isTrue(Equal.equals(stored, created))
        assert.strictEqual(stored.json, JSON.stringify(encode(stored.value)))
        const found = stored.value
        assert.isTrue(
          Equal.equals(found.policies, request.policies),
          JSON.stringify([found, request], (_, v) => (typeof v === "bigint" ? String(v) : v))
        )
        assert.strictEqual(found.name, request.name)
        assert.strictEqual(found.address, `${request.network_type}-s1`)
      }),
    property(200)
  )

  it.effect.prop(
    "pages of any size partition the list, in order",
    [
      Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 12 })),
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 14 }))
    ],
    ([count, per_page]) =>
      Effect.gen(function* () {
        yield* clear
        const sql = yield* SqlClient.SqlClient
        yield* sql`
          INSERT INTO relayers (id, name, network_type, network, address, paused, signer_id)
          SELECT 'r' || n, 'x', 'evm', 'n' || n, 'a', false, 's1' FROM generate_series(1, ${count}::int) n`
        yield* authenticateRows()
        const seen: Array<string> = []
        for (let page = 1; ; page++) {
          const { items, total } = yield* readPage({ page, per_page })
          assert.strictEqual(total, count)
          if (items.length === 0) break
          seen.push(...items.map(({ id }) => id))
        }
        assert.deepStrictEqual(
          seen,
          Array.from({ length: count }, (_, n) => `r${n + 1}`)
        )
      }),
    property(100)
  )

  it.effect("a reader of pages sees every relayer once while others are created", () =>
    Effect.gen(function* () {
      yield* clear
      const sql = yield* SqlClient.SqlClient
      const macs = yield* RelayerMacs
      const add = Effect.fnUntraced(function* (n: number) {
        const [id, network] = [`r${n}`, `n${n}`]
        const mac = yield* macs.make({ id, network_type: "evm", network, signer_id: "s1", address: "a" })
        yield* sql`
          INSERT INTO relayers (id, name, network_type, network, address, paused, signer_id, mac)
          VALUES (${id}, 'x', 'evm', ${network}, 'a', false, 's1', ${mac})`
      })
      yield* Effect.forEach(
        Array.from({ length: 60 }, (_, n) => n),
        add
      )
      const writer = Effect.forEach(
        Array.from({ length: 60 }, (_, n) => n + 60),
        add,
        { concurrency: 4, discard: true }
      )
      const reader = Effect.gen(function* () {
        const seen: Array<string> = []
        for (let page = 1; page <= 6; page++) {
          const { items } = yield* readPage({ page })
          seen.push(...items.map(({ id }) => id))
        }
        return seen
      })
      const [, seen] = yield* Effect.all([writer, reader], { concurrency: 2 })
      assert.deepStrictEqual(
        seen,
        Array.from({ length: 60 }, (_, n) => `r${n}`)
      )
    })
  )

  it.effect("a deep page reads no row of the pages before it", () =>
    Effect.gen(function* () {
      yield* clear
      const sql = yield* SqlClient.SqlClient
      yield* sql`
        INSERT INTO relayers (id, name, network_type, network, address, paused, signer_id)
        SELECT 'r' || n, repeat('x', 200), 'evm', 'n' || n, 'a', false, 's1' FROM generate_series(1, 20000) n`
      yield* authenticateRows()
      yield* sql`VACUUM ANALYZE relayers`
      const plan = yield* sql<{ "QUERY PLAN": string }>`
        EXPLAIN SELECT seq FROM relayers ORDER BY seq LIMIT 10 OFFSET 19000`
      assert.include(plan.map((row) => row["QUERY PLAN"]).join("\n"), "Index Only Scan using relayers_seq_key")
      yield* sql`DELETE FROM relayers WHERE seq % 5 = 0`
      const left = yield* sql<{ id: string }>`SELECT id FROM relayers ORDER BY seq`
      const ids = left.map(({ id }) => id)
      for (const page of [1, 700, 820, 1234, 1600, 1601]) {
        for (const sort of ["created_at", "-created_at"] as const) {
          const { items, total } = yield* readPage({ page }, sort)
          const ordered = sort === "created_at" ? ids : ids.toReversed()
          assert.deepStrictEqual(
            items.map(({ id }) => id),
            ordered.slice(page * 10 - 10, page * 10),
            `${sort} ${page}`
          )
          assert.strictEqual(total, 16000)
        }
      }
    })
  )
})
