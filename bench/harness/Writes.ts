// Loads that create relayers, each with a signer of its own, as is usual. Every relayer that was answered with 201 has to be in the table.
import { Effect, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import * as Client from "./Client.ts"
import * as Fill from "./Fill.ts"
import type { Request } from "./Load.ts"
import * as Measure from "./Measure.ts"
import type { Target } from "./Measure.ts"

/** Creates in a second: more than anybody answers. */
export const fastest = 10_000

/** Requests in a second, of which some are creates: the same. */
const fastestMixed = 50_000

const numberOf = (id: string | null | undefined) => Number(id?.slice(Fill.freshSigner.length) ?? 0)

/** Makes signers, so that at least `count` follow the number that is returned and serve no relayer. */
export const freshSigners = Effect.fnUntraced(function* (count: number) {
  const sql = yield* SqlClient.SqlClient
  const like = `${Fill.freshSigner}%`
  const [last] = yield* sql<{ used: string | null; made: string | null }>`
    SELECT (SELECT max(signer_id) FROM relayers WHERE signer_id LIKE ${like}) AS used,
      (SELECT max(id) FROM signers WHERE id LIKE ${like}) AS made`
  const used = numberOf(last?.used)
  const made = numberOf(last?.made)
  if (made < used + count) yield* Fill.signers(Fill.freshSigner, made, used + count)
  return used
})

const countRelayers = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ count: number }>`SELECT count(*)::int AS count FROM relayers`
  return row?.count ?? 0
})

/** What a round leaves to do is not to burden the next. */
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
          message: `${target.server.contender} answered to about ${expected} creates, and ${created} relayers are there`
        })
      )

/** The requests in turn, and what they create counted. */
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
    freshSigners(Math.ceil(Math.min(fastest, fastestMixed * share) * seconds) + 2 * connections)
  )
  const before = yield* onDatabase(countRelayers)
  // Those of a round before that were still on their way have a number, too.
  const plan = { requests, ids, from: from === 0 ? 0 : from + connections }
  const loaded = yield* Measure.load(target, plan, connections, seconds)
  const created = (yield* onDatabase(countRelayers)) - before
  yield* check(target, loaded.requests * share, connections, created)
  yield* onDatabase(settle)
  return loaded.reading
})
