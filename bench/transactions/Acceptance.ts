// Accepted transactions per second while nothing is sent, beside created relayers, by the same generator on the same service.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Fill from "../harness/Fill.ts"
import * as Measure from "../harness/Measure.ts"
import * as Writes from "../harness/Writes.ts"
import type { World } from "./World.ts"

const connections = 64

const transactionOf = ({ accepting }: World) =>
  ({
    method: "POST",
    path: "/api/v1/relayers/@ID@/transactions",
    body: accepting.transaction
  }) as const

const relayerOf = ({ accepting }: World) =>
  ({
    method: "POST",
    path: "/api/v1/relayers",
    body: JSON.stringify({
      name: "Relayer of a benchmark",
      paused: false,
      signer_id: `${Fill.freshSigner}@N@`,
      ...accepting.relayer
    })
  }) as const

/**
 * Brings the statistics of the planner up to date, as autovacuum does within a minute: plans for a table of twenty rows read
 * all rows, and the creation of relayers makes twenty thousand.
 */
const analyze = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`VACUUM ANALYZE relayers`
})

/** Nothing may be sent later, and the relayers that were created have no keys. */
const clear = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`DELETE FROM transactions WHERE state = 'pending'`
  yield* sql`DELETE FROM relayers WHERE signer_id LIKE ${`${Fill.freshSigner}%`}`
})

/** In turn, round by round. */
export const measure = Effect.fnUntraced(function* (world: World, rounds: Measure.Rounds) {
  const { accepting, installation } = world
  const onDatabase = Effect.provideService(SqlClient.SqlClient, installation.sql)
  const target = { server: installation.service, installation }
  const accept = (seconds: number) =>
    Effect.map(
      Measure.load(target, { requests: [transactionOf(world)], ids: accepting.ids, from: 0 }, connections, seconds),
      ({ reading }) => reading
    )
  const create = (seconds: number) =>
    Effect.tap(Writes.writes(target, [relayerOf(world)], connections, seconds), () => onDatabase(analyze))
  const [accepted, created] = yield* Measure.alternate(
    "acceptance",
    connections,
    [
      { target, run: accept },
      { target, run: create }
    ],
    rounds
  )
  yield* onDatabase(clear)
  return { accepted: accepted?.perSecond ?? Number.NaN, created: created?.perSecond ?? Number.NaN }
})
