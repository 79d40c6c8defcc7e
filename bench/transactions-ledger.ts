// Measures the ledger of transactions when it is empty, and with 1,000,000 final transactions: acceptance, claims, pages and
// counts. Ratios are relative to the empty ledger.
//
//   node bench/transactions-ledger.ts
import { NodeRuntime } from "@effect/platform-node"
import { Clock, Console, Effect, References } from "effect"
import { SqlClient } from "effect/sql"
import { LaneLedger } from "../src/server/ledger/LaneLedger.ts"
import { Ledger } from "../src/server/ledger/Ledger.ts"
import * as LedgerRows from "../testkit/LedgerRows.ts"
import * as Bench from "./database.ts"
import { median } from "./harness/Statistics.ts"

const relayers = 200
const finalTransactions = 1_000_000
const rounds = 15

/** Senders that wait for their answers. */
const senders = 32
const seconds = 4

const program = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const ledger = yield* Ledger
  const lanes = yield* LaneLedger

  const accept = Effect.fnUntraced(function* (n: number) {
    yield* ledger.accept(LedgerRows.account((n % relayers) + 1), [
      LedgerRows.newTransaction(yield* Clock.currentTimeMillis)
    ])
  })

  const setUp = Effect.gen(function* () {
    yield* LedgerRows.insertRelayers(relayers)
    for (let n = 0; n < relayers; n++) yield* accept(n)
  })

  /** One relayer of a hundred has half of them. */
  const fill = Effect.gen(function* () {
    yield* sql`
      INSERT INTO transactions (
        id, relayer_id, relayer_number, lane_id, request, state, code, code_since, nonce, mined_attempt, valid_until,
        created_at, sent_at, final_at
      )
      SELECT gen_random_uuid(), 'r' || n, n, lane, '{"value":"1"}', CASE WHEN i % 50 = 0 THEN 'failed' ELSE 'confirmed' END,
        'confirmed', at, 1000000 + i, 1, at, at, at, at
      FROM generate_series(1, ${finalTransactions}::int) i
      CROSS JOIN LATERAL (SELECT CASE WHEN i % 2 = 0 THEN 1 ELSE 1 + i % ${relayers}::int END AS n) relayer
      CROSS JOIN LATERAL (SELECT id AS lane FROM lanes WHERE address = '0x' || lpad(n::text, 40, '0')) lane
      CROSS JOIN LATERAL (SELECT now() - (${finalTransactions}::int - i) * interval '1 second' AS at) moment`
    yield* sql`ANALYZE`
  })

  const claim = Effect.gen(function* () {
    const held = yield* lanes.claim(32)
    for (const { hold } of held) yield* lanes.release(hold, "next")
  })

  const day = 24 * 3_600_000
  const cases = {
    "claim and release 32 of 200 lanes": claim,
    "page of a relayer": ledger.select({ filter: { relayerNumbers: [1] }, limit: 50 }),
    "page of a relayer by state": ledger.select({ filter: { relayerNumbers: [1], states: ["failed"] }, limit: 50 }),
    "page of all relayers": ledger.select({ filter: {}, limit: 50 }),
    "page of a relayer before a moment": Effect.flatMap(Clock.currentTimeMillis, (now) =>
      ledger.select({ filter: { relayerNumbers: [1], createdBefore: now - 5 * day }, limit: 50 })
    ),
    "count of a relayer": ledger.count({ relayerNumbers: [1] }),
    "open transactions of a relayer": ledger.countOpen(1),
    "last confirmed": ledger.lastConfirmed(1)
  }

  const measure = Effect.gen(function* () {
    const found = new Map<string, number>()
    for (const [name, work] of Object.entries(cases)) {
      const times: Array<number> = []
      for (let round = 0; round < rounds; round++) times.push(yield* Bench.time(work))
      found.set(name, median(times))
    }
    return found
  })

  const accepted = Effect.gen(function* () {
    const end = performance.now() + seconds * 1000
    let done = 0
    const sender = Effect.gen(function* () {
      while (performance.now() < end) {
        yield* accept(done++)
      }
    })
    yield* Effect.all(
      Array.from({ length: senders }, () => sender),
      { concurrency: "unbounded" }
    )
    yield* sql`UPDATE transactions SET state = 'canceled', final_at = now() WHERE state = 'pending' AND number > ${relayers}::int`
    return done / seconds
  })

  yield* setUp
  const empty = yield* measure
  const emptyRate = yield* accepted
  yield* fill
  yield* sql`VACUUM ANALYZE transactions`
  const full = yield* measure
  const fullRate = yield* accepted

  yield* Console.log("case\tempty\twith 1,000,000\tratio")
  for (const [name, before] of empty) {
    const after = full.get(name) ?? 0
    yield* Console.log(
      [name, `${before.toFixed(2)} ms`, `${after.toFixed(2)} ms`, (after / before).toFixed(2)].join("\t")
    )
  }
  const rates = [emptyRate, fullRate].map((rate) => `${rate.toFixed(0)}/s`)
  yield* Console.log(["acceptance", ...rates, (emptyRate / fullRate).toFixed(2)].join("\t"))
})

program.pipe(
  Effect.provide(Bench.layer(10)),
  Effect.provideService(References.MinimumLogLevel, "Warn"),
  NodeRuntime.runMain
)
