// Three processes on one database send transactions, and two of them die or hang at random moments.
import { assert, describe, inject, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { Tally } from "../../faults/Case.ts"
import * as Random from "../../faults/Random.ts"
import * as Instances from "../../faults/sending/Instances.ts"
import * as TestDatabase from "../../testkit/TestDatabase.ts"
import { folder } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

const limits = { RATE_LIMIT_REQUESTS_PER_SECOND: "1000000", RATE_LIMIT_BURST_SIZE: "1000000" }

/** Milliseconds. Each of the 20 faults takes a start or a lease; two instances have theirs at the same time. */
const patience = 480_000

describe("instances that send", () => {
  it.live(
    "execute every accepted transaction once, although two of them are killed or frozen, ten times each in all",
    () =>
      Effect.gen(function* () {
        const home = yield* folder
        const onServer = Service.onServer(inject("postgres"), yield* TestDatabase.make)
        const tally = new Tally()
        const seed = yield* Clock.currentTimeMillis
        yield* Instances.run({
          tally,
          random: Random.make(seed),
          listen: (env) => Service.listen({ folder: home, env: { ...onServer, ...limits, ...env } }),
          kills: 10,
          freezes: 10,
          lease: 3000
        })
        assert.deepStrictEqual(tally.broken, [], `with the seed ${seed}`)
      }),
    patience
  )
})
