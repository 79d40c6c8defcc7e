// Two instances that write for twenty lanes together, while one lane after the other gets another holder. Processes run by the clock of the machine.
import { assert, describe, inject, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Tally } from "../../faults/Case.ts"
import * as Random from "../../faults/Random.ts"
import * as Sql from "../../faults/Sql.ts"
import * as Load from "../../faults/sending/Load.ts"
import * as Node from "../../faults/sending/Node.ts"
import * as Relayers from "../../faults/sending/Relayers.ts"
import * as Verdict from "../../faults/sending/Verdict.ts"
import { clientConfig } from "../../testkit/Postgres.ts"
import * as TestDatabase from "../../testkit/TestDatabase.ts"
import { folder, until } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

const limits = { RATE_LIMIT_REQUESTS_PER_SECOND: "1000000", RATE_LIMIT_BURST_SIZE: "1000000" }

const lanes = 20

/** Lanes that pass from one instance to the other. The former holder can be the first to claim a lane again, so there are more tries. */
const takeovers = 10

/** Milliseconds between two requests of one sender: most moments of the pulse have transactions of several lanes. */
const pause = 60

/** Milliseconds. */
const patience = 300_000

/** Ends the lease of one lane, whose holder goes on, and waits for the next holder. Returns whether that is another instance. */
const takeOne = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [lane] = yield* sql<{ readonly id: string; readonly holder: string; readonly epoch: string }>`
    UPDATE lanes SET held_until = now() - interval '1 second'
    WHERE id = (SELECT id FROM lanes WHERE held_until > now() ORDER BY random() LIMIT 1)
    RETURNING id::text AS id, holder::text AS holder, epoch::text AS epoch`
  if (lane === undefined) return false
  const next = yield* until(
    "the next holder of a lane",
    sql<{ readonly holder: string }>`
      SELECT holder::text AS holder FROM lanes
      WHERE id = ${lane.id}::bigint AND epoch > ${lane.epoch}::bigint AND holder IS NOT NULL`.pipe(
      Effect.map(([row]) => row),
      Effect.orDie
    )
  )
  return next.holder !== lane.holder
})

/** Statements that have committed signatures of several lanes. */
const sharedCommits = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* sql`
    SELECT e.xmin::text FROM events e JOIN transactions t ON t.id::text = e.resource_id
    WHERE e.type = 'transaction.signed' GROUP BY e.xmin::text HAVING count(DISTINCT t.lane_id) > 1`
})

describe("two instances that write for twenty lanes together", () => {
  it.live(
    "execute every accepted transaction once, without a hole, while one lane after the other is taken over",
    () =>
      Effect.gen(function* () {
        const database = yield* TestDatabase.make
        const onDatabase = { ...Service.onServer(inject("postgres"), database), ...limits, ...Relayers.env }
        const listen = Effect.flatMap(folder, (home) => Service.listen({ folder: home, env: onDatabase }))
        const [one, other] = [yield* listen, yield* listen]
        const node = yield* Node.start
        const relayers = yield* Relayers.make(one, node, { count: lanes })
        const seed = yield* Clock.currentTimeMillis
        const { load, stop } = yield* Load.start({
          urls: () => [one.baseUrl, other.baseUrl],
          relayers,
          random: Random.make(seed),
          pause
        })
        const tally = new Tally()
        yield* Sql.on(
          clientConfig(inject("postgres"), database),
          Effect.gen(function* () {
            yield* Effect.repeat(
              Effect.tap(takeOne, (isOther) => Effect.sync(() => tally.add(isOther ? "takeovers" : "claimed again"))),
              { until: (isOther) => isOther }
            ).pipe(Effect.replicateEffect(takeovers, { discard: true }))
            yield* until("a commit of several lanes", Effect.orDie(Effect.map(sharedCommits, ([row]) => row)))
            yield* stop
            yield* Verdict.check(tally, node, one, relayers, load)
          })
        )
        assert.deepStrictEqual(tally.broken, [], `with the seed ${seed}: ${tally.text}`)
      }),
    patience
  )
})
