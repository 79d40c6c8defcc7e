// Three processes on one database send transactions, and two of them die or hang at random moments.
import { assert, inject } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { Tally } from "../../faults/Case.ts"
import * as Random from "../../faults/Random.ts"
import * as Instances from "../../faults/sending/Instances.ts"
import * as TestDatabase from "../../testkit/TestDatabase.ts"
import { folder } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

const limits = { RATE_LIMIT_REQUESTS_PER_SECOND: "1000000", RATE_LIMIT_BURST_SIZE: "1000000" }

/** Milliseconds: an instance that is frozen for longer has lost its lanes. */
const lease = 3000

interface Options {
  readonly kills: number
  readonly freezes: number
  /** What is sent, and how it is checked. Absent: transactions of evm. */
  readonly scene?: (tally: Tally) => Instances.Scene
  /** Milliseconds between two requests of one sender. Absent: those of the scene. */
  readonly pause?: number
}

/** Milliseconds: twenty transactions per second. A fault meets several of them, because each has steps for seconds. The fault cases send more. */
export const pause = 200

/** Fails if a promise was broken. */
export const sendAndDie = Effect.fnUntraced(function* ({ kills, freezes, pause, scene }: Options) {
  const home = yield* folder
  const onServer = Service.onServer(inject("postgres"), yield* TestDatabase.make)
  const tally = new Tally()
  const seed = yield* Clock.currentTimeMillis
  yield* Instances.run({
    tally,
    random: Random.make(seed),
    listen: (env) => Service.listen({ folder: home, env: { ...onServer, ...limits, ...env } }),
    kills,
    freezes,
    lease,
    ...(pause === undefined ? {} : { pause }),
    ...(scene === undefined ? {} : { scene: scene(tally) })
  })
  assert.deepStrictEqual(tally.broken, [], `with the seed ${seed}`)
})
