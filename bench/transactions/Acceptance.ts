// Accepted transactions per second while nothing is sent, beside created relayers, by the same generator on the same service. Then how long
// a change of a relayer and of its network takes while as much as possible is accepted.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as fs from "node:fs"
import * as Fill from "../harness/Fill.ts"
import * as Installation from "../harness/Installation.ts"
import * as Machine from "../harness/Machine.ts"
import * as Measure from "../harness/Measure.ts"
import * as Writes from "../harness/Writes.ts"
import * as Http from "./Http.ts"
import type { World } from "./World.ts"

const connections = 64

/** Milliseconds between two changes: the service remembers terms for a second, and accepts by them in between. */
const betweenChanges = 200

/** Of load with changes: about ten of each. */
const changingSeconds = 5

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

/** Longer than the service takes for the requests that it still has when the load ends. */
const inFlight = "1 second"

/** Nothing may be sent later, and the relayers that were created have no keys. */
const clear = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* Effect.delay(sql`DELETE FROM transactions WHERE state = 'pending' RETURNING id`, inFlight).pipe(
    Effect.repeat({ until: (deleted) => deleted.length === 0 })
  )
  yield* sql`DELETE FROM relayers WHERE signer_id LIKE ${`${Fill.freshSigner}%`}`
})

const timed = <A, E>(request: Effect.Effect<A, E>) =>
  Effect.suspend(() => {
    const start = Machine.now()
    return Effect.map(request, () => Machine.now() - start)
  })

/**
 * Changes a relayer and its network in turn, for as long as `accepting` runs. Returns the slowest change of each, in milliseconds. The relayer gets another name:
 * for the database, that is what a pause is, and nothing is refused.
 */
const changing = Effect.fnUntraced(function* <A, E>(
  { accepting: load, installation }: World,
  accepting: Effect.Effect<A, E>
) {
  const client = yield* Http.make(installation.service.url, 1, Installation.key)
  const [relayer = ""] = fs.readFileSync(load.ids, "utf8").split("\n")
  const { network, network_type: type } = load.relayer
  const relayers: Array<number> = []
  const networks: Array<number> = []
  const change = Effect.gen(function* () {
    const label = `change-${relayers.length}`
    yield* Effect.sleep(betweenChanges)
    relayers.push(yield* timed(client.patch(`/api/v1/relayers/${relayer}`, JSON.stringify({ name: label }))))
    yield* Effect.sleep(betweenChanges)
    networks.push(yield* timed(client.patch(`/api/v1/networks/${type}:${network}`, JSON.stringify({ tags: [label] }))))
  })
  let isOver = false
  const over = Effect.sync(() => (isOver = true))
  // The last changes end, however long they take.
  yield* Effect.all([Effect.ensuring(accepting, over), Effect.repeat(change, { until: () => isOver })], {
    concurrency: 2
  })
  return { changedRelayer: Math.max(...relayers), changedNetwork: Math.max(...networks) }
}, Effect.scoped)

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
  const changed = yield* changing(world, accept(changingSeconds))
  yield* onDatabase(clear)
  return { accepted: accepted?.perSecond ?? Number.NaN, created: created?.perSecond ?? Number.NaN, ...changed }
})
