// What the audit log costs a writer, with 1, 8 and 64 at once: the same transaction without a record, with one as it is
// written here, and with one that is chained on the spot, under the lock that this needs. Ratios are to the first.
//
//   npm run bench:audit
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, References, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Audit } from "../src/server/audit/Audit.ts"
import * as Transaction from "../src/sql/Transaction.ts"
import * as Bench from "./database.ts"
import { median } from "./harness/Statistics.ts"

const writers = [1, 8, 64]
const seconds = 4
const rounds = 3

/** The embedded PostgreSQL has room for a few more: 64 writers take turns on these. */
const pool = 32

const Change = Schema.Struct({ id: Schema.String, name: Schema.String })

const program = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* Audit
  const transaction = yield* Transaction.make
  let n = 0

  const write = Effect.suspend(() => {
    const id = `n${n++}`
    return Effect.as(
      sql`INSERT INTO notifications (id, type, url) VALUES (${id}, 'webhook', 'https://hooks.example.com/x')`,
      id
    )
  })
  const record = (id: string) =>
    audit.record({ action: "notification.created", id, schema: Change, after: { id, name: "x".repeat(200) } })

  /** What a chain in the transaction itself would do: nobody else may append until this has committed. */
  const chained = (id: string) =>
    Effect.gen(function* () {
      yield* sql`SELECT pg_advisory_xact_lock(42)`
      yield* sql`SELECT position, hash FROM audit WHERE position IS NOT NULL ORDER BY position DESC LIMIT 1`
      yield* record(id)
    })

  const cases = {
    "no record": transaction(write),
    "a record, chained afterwards": transaction(Effect.flatMap(write, record)),
    "a record, chained on the spot": transaction(Effect.flatMap(write, chained))
  }

  const perSecond = Effect.fnUntraced(function* (change: Effect.Effect<unknown, unknown>, count: number) {
    const end = performance.now() + seconds * 1000
    let done = 0
    const writer = Effect.gen(function* () {
      while (performance.now() < end) {
        yield* change
        done++
      }
    })
    yield* Effect.all(
      Array.from({ length: count }, () => writer),
      { concurrency: "unbounded" }
    )
    return done / seconds
  })

  yield* Console.log("writers\tcase\ttransactions/s\tratio")
  for (const count of writers) {
    const found = Object.keys(cases).map((): Array<number> => [])
    for (let round = 0; round < rounds; round++) {
      for (const [index, change] of Object.values(cases).entries()) found[index]?.push(yield* perSecond(change, count))
    }
    const medians = found.map(median)
    for (const [index, name] of Object.keys(cases).entries()) {
      const rate = medians[index] ?? 0
      yield* Console.log([count, name, rate.toFixed(0), (rate / (medians[0] ?? 1)).toFixed(2)].join("\t"))
    }
  }
  const verified = yield* audit.verify()
  yield* Console.log(`the log is ${verified.valid ? "whole" : "broken"}: ${verified.checked} records`)
})

program.pipe(
  Effect.provide(Bench.layer(pool)),
  Effect.provideService(References.MinimumLogLevel, "Warn"),
  NodeRuntime.runMain
)
