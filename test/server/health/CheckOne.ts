// One relayer, and a chain whose answers a test sets, for tests of single checks.
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { ChainSnapshot } from "../../../src/domain/chain/ChainSnapshot.ts"
import type { RelayerId } from "../../../src/domain/relayer/Relayer.ts"
import { HealthChecks } from "../../../src/server/health/HealthChecks.ts"
import * as HealthRepo from "../../../src/server/health/HealthRepo.ts"
import { Relayers } from "../../../src/server/relayers/Relayers.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"
import { away, chains, checks, idOf, insertRelayers, well } from "./fixtures.ts"

/** The chain. Each test sets what an inspection finds. */
export const chain: { inspect: (id: RelayerId) => Effect.Effect<ChainSnapshot> } = {
  inspect: () => Effect.succeed(well)
}

const answers = (...readings: ReadonlyArray<ChainSnapshot>) => {
  const left = [...readings]
  chain.inspect = () => Effect.sync(() => left.shift() ?? well)
}

export const poor: ChainSnapshot = { ...well, balance: 0n, failures: [{ type: "BalanceCheckFailed", code: "too_low" }] }
export const wrong: ChainSnapshot = { ...away, failures: [{ type: "ChainIdMismatch", code: "mismatch" }] }
export const partly: ChainSnapshot = {
  ...well,
  providers: [{ url: "https://one.example", weight: 1, breaker: "open", failed: true, code: "unreachable" }]
}

export const claiming = { token: "mine", limit: 1000, lease: 60_000, horizon: 120_000, unserved: [] }

export const fresh = Effect.fnUntraced(function* (...readings: ReadonlyArray<ChainSnapshot>) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`TRUNCATE relayers, signers, events CASCADE`
  yield* insertRelayers(1)
  answers(...readings)
  return { checks: yield* HealthChecks, relayers: yield* Relayers, repo: yield* HealthRepo.make, id: idOf(1) }
})

/** The types of the events so far, with the reasons why the relayer is disabled. */
export const events = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<{ type: string; reason: string | null }>`
    SELECT type, data #>> '{disabled_reason,type}' AS reason FROM events ORDER BY id`
})

export const secondsAhead = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ seconds: number }>`
    SELECT round(extract(epoch FROM next_check_at - checked_at))::int4 AS seconds FROM relayer_checks`
  return row?.seconds ?? 0
})

export const live = Layer.provideMerge(checks(chains((id) => chain.inspect(id)).layer), TestDatabase.layer)
