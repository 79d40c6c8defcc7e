// Sends loads that create relayers, each with its own signer, and checks that the table has gained as many relayers.
import { Effect, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import * as Client from "./Client.ts"
import * as Fill from "./Fill.ts"
import type { Request } from "./Load.ts"
import { masterKeyOf } from "./Installation.ts"
import * as Measure from "./Measure.ts"
import type { Target } from "./Measure.ts"

/** An upper bound for creates per second, which no contender reaches. */
export const fastest = 10_000

/** The same bound for requests per second, if only some of them create. */
const fastestMixed = 50_000

const numberOf = (id: string | null | undefined) => Number(id?.slice(Fill.freshSigner.length) ?? 0)

/** Ensures that at least `count` signers without a relayer follow the returned number. */
export const freshSigners = Effect.fnUntraced(function* (count: number, masterKey: Uint8Array) {
  const sql = yield* SqlClient.SqlClient
  const like = `${Fill.freshSigner}%`
  const [last] = yield* sql<{ used: string | null; made: string | null }>`
    SELECT (SELECT max(signer_id) FROM relayers WHERE signer_id LIKE ${like}) AS used,
      (SELECT max(id) FROM signers WHERE id LIKE ${like}) AS made`
  const used = numberOf(last?.used)
  const made = numberOf(last?.made)
  if (made < used + count) {
    yield* Fill.signers(Fill.freshSigner, made, used + count)
    yield* Fill.authenticate(masterKey)
    // With the statistics of the table before, plans read all signers.
    yield* sql`VACUUM ANALYZE signers`
  }
  return used
})

const countRelayers = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ count: number }>`SELECT count(*)::int AS count FROM relayers`
  return row?.count ?? 0
})

/** Waits until all records of the audit log are chained, so that this work does not slow down the next round. */
const settle = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`SELECT 1 FROM audit WHERE position IS NULL LIMIT 1`
  return rows.length === 0
}).pipe(Effect.repeat({ until: (done) => done, schedule: Schedule.spaced("50 millis") }))

const check = (target: Target, expected: number, connections: number, created: number) =>
  created >= Math.floor(expected) - connections && created <= expected + connections
    ? Effect.void
    : Effect.fail(
        new Client.WrongAnswer({
          message: `${target.server.contender} answered about ${expected} creates, but ${created} relayers were added`
        })
      )

/** Sends the requests in turn and counts the relayers that they create. */
export const writes = Effect.fnUntraced(function* (
  target: Target,
  requests: ReadonlyArray<Request>,
  connections: number,
  seconds: number
) {
  const { ids, sql } = target.installation
  const onDatabase = Effect.provideService(SqlClient.SqlClient, sql)
  const share = requests.filter(({ method }) => method === "POST").length / requests.length
  const from = yield* onDatabase(
    freshSigners(
      Math.ceil(Math.min(fastest, fastestMixed * share) * seconds) + 2 * connections,
      masterKeyOf(target.installation)
    )
  )
  const before = yield* onDatabase(countRelayers)
  // Requests that were cut off at the end of the previous round may have used up to one number per connection.
  const plan = { requests, ids, from: from === 0 ? 0 : from + connections }
  const loaded = yield* Measure.load(target, plan, connections, seconds)
  const created = (yield* onDatabase(countRelayers)) - before
  yield* check(target, loaded.requests * share, connections, created)
  yield* onDatabase(settle)
  return loaded.reading
})
