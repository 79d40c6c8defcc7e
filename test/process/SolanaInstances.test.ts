// Three processes on one database send transactions of solana, and two of them die or hang at random moments, often during a refresh.
import { assert, describe, inject, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { Tally } from "../../faults/Case.ts"
import * as Random from "../../faults/Random.ts"
import * as Instances from "../../faults/sending/Instances.ts"
import { scene } from "../../faults/solana/Kill.ts"
import * as TestDatabase from "../../testkit/TestDatabase.ts"
import { folder } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

const limits = { RATE_LIMIT_REQUESTS_PER_SECOND: "1000000", RATE_LIMIT_BURST_SIZE: "1000000" }

/** Milliseconds. Half of the bytes get lost, and each refresh takes the life of a blockhash. */
const patience = 580_000

describe("instances that send transactions of solana", () => {
  it.live(
    "execute every accepted transaction once, although two of them are killed or frozen",
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
          kills: 3,
          freezes: 3,
          lease: 3000,
          scene: scene(tally)
        })
        assert.deepStrictEqual(tally.broken, [], `with the seed ${seed}`)
      }),
    patience
  )
})
