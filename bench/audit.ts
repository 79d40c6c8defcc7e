// Measures what the audit log costs 1, 8 and 64 concurrent writers. It compares a transaction without a record, with a
// record that a job chains later (as the service does), and with a record that the transaction itself chains under a lock.
// Ratios are relative to the transaction without a record.
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

/** Connections. 64 writers share them, because the embedded PostgreSQL accepts only a few more. */
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

  /** Chains in the transaction itself: no other transaction can append until this one has committed. */
  const chained = (id: string) =>
    Effect.gen(function* () {
      yield* sql`SELECT pg_advisory_xact_lock(42)`
      yield* sql`SELECT position, hash FROM audit WHERE position IS NOT NULL ORDER BY position DESC LIMIT 1`
      yield* record(id)
    })

  const cases = {
    "no record": transaction(write),
    "a record, chained later": transaction(Effect.flatMap(write, record)),
    "a record, chained at once": transaction(Effect.flatMap(write, chained))
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
  yield* Console.log(`the chain of ${verified.checked} records is ${verified.valid ? "valid" : "broken"}`)
})

program.pipe(
  Effect.provide(Bench.layer(pool)),
  Effect.provideService(References.MinimumLogLevel, "Warn"),
  NodeRuntime.runMain
)
