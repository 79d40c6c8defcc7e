// A short fuzz run with fixed seeds. `npm run fuzz` is the long one. Processes run by the clock of the machine.
import { assert, describe, inject, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Fuzz from "../../faults/fuzz/Fuzz.ts"
import * as Subject from "../../faults/fuzz/Subject.ts"
import { isLong } from "../../testkit/Depth.ts"
import * as TestDatabase from "../../testkit/TestDatabase.ts"
import { folder } from "../../testkit/process/Folder.ts"
import * as Service from "../../testkit/process/Service.ts"

/** Fewer requests of a seed would not get each of the statuses below. A change tries the first seed. */
const seeds = isLong ? [1, 2, 3] : [1]
const count = 1500

describe("invalid requests, and bytes that are not a request", () => {
  it.live(
    "get responses of the contract that reveal no internals, and the service stays healthy",
    () =>
      Effect.gen(function* () {
        const env = Service.onServer(inject("postgres"), yield* TestDatabase.make)
        const { service, world, port } = yield* Subject.start(yield* folder, env)
        const secrets = [env.STORAGE_ENCRYPTION_KEY ?? "", env.DATABASE_URL ?? ""]
        for (const seed of seeds) {
          const report = yield* Fuzz.run({ port, world, secrets, seed, from: 0, count, concurrency: 32 })
          assert.deepStrictEqual(report.findings, [], `npm run fuzz -- --seed ${seed} --at <at>`)
          // A run whose requests are all refused would find nothing.
          for (const status of ["200", "201", "400", "401", "403", "404", "409", "415", "431"]) {
            assert.isAbove(report.counts.get(status) ?? 0, 0, status)
          }
        }
        assert.deepStrictEqual(yield* Subject.aftermath(service, world, [...secrets, ...Fuzz.secretsOf(world)]), [])
      }),
    300_000
  )
})
