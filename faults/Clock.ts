// The wall clock is set forward and back while requests exceed their rate limit.
import { Effect, Clock as EffectClock } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { until } from "../testkit/process/Folder.ts"
import type { Listening } from "../testkit/process/Service.ts"
import type { Case } from "./Case.ts"
import * as Load from "./Load.ts"
import * as World from "./World.ts"

const hour = 3_600_000
const perSecond = 50
const burst = 50
const seconds = 4

/** The current time of the service, read when the rate limit allows a request. */
const madeNow = (service: Listening) =>
  Effect.map(
    service.call("/api/v1/api-keys", { body: { name: "clock", scopes: ["relayers:read"] } }),
    ({ status, text }) =>
      status === 201 ? Date.parse((JSON.parse(text).data as { readonly created_at: string }).created_at) : undefined
  )

export const Clock: Case = {
  name: "clock",
  promise: "a clock that is set forward or back: rate limits allow as much as before, and no request fails",
  run: ({ random, tally }) =>
    Effect.gen(function* () {
      const world = yield* World.make
      const file = path.join(world.home, "clock")
      const service = yield* world.listen({
        FAULTS_CLOCK: file,
        ...World.preload("ShiftedClock.ts"),
        RATE_LIMIT_REQUESTS_PER_SECOND: String(perSecond),
        RATE_LIMIT_BURST_SIZE: String(burst)
      })
      const url = `${service.baseUrl}/api/v1/relayers`
      const load = (during: number) => Effect.promise(() => Load.run({ url, connections: 4, during, interval: 10 }))
      const set = (offset: number) =>
        Effect.gen(function* () {
          yield* Effect.sync(() => fs.writeFileSync(file, String(offset)))
          yield* World.signal([service.pid], "SIGUSR2")
        })

      // Use up the burst.
      yield* load(2000)
      for (const jump of [hour, -hour, 24 * hour, -24 * hour, random.int(-7 * 24, 7 * 24) * hour]) {
        yield* set(jump)
        const { statuses } = yield* load(seconds * 1000)
        const served = statuses.get(200) ?? 0
        const share = served / (perSecond * seconds)
        tally.add("jumps")
        tally.add("served", served)
        tally.add("limited", statuses.get(429) ?? 0)
        tally.set(`share after ${jump / hour} h`, share.toFixed(2))
        tally.expect(
          share > 0.85 && share < 1.15,
          `the rate limit is the same after ${jump / hour} h: ${share.toFixed(2)}`
        )
        const odd = [...statuses.keys()].find((status) => status !== 200 && status !== 429)
        tally.expect(odd === undefined, `no request fails: ${odd}`)
        const createdAt = yield* until("a key", madeNow(service))
        const off = Math.abs(createdAt - (yield* EffectClock.currentTimeMillis) - jump)
        tally.expect(off < 5000, `the clock of the service was set by ${jump / hour} h`)
      }
    })
}
