// Fifty keys send far more requests than their rate limit, and callers with unknown keys send as many as they can.
import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import type { Case } from "./Case.ts"
import * as Load from "./Load.ts"
import * as World from "./World.ts"

const keys = 50
const perSecond = 4
const burst = 4
const seconds = 15
const strangers = 20_000

/** Seconds of CPU time that a process has used. */
const processorTime = (pid: number): number => {
  const fields = fs
    .readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ")
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/** In the format of our keys, so that the service looks it up. */
const unknownKey = () => `er_${randomBytes(32).toString("base64url")}`

export const Flood: Case = {
  name: "flood",
  promise:
    "50 keys over their limit and unknown keys: each key gets 90 % of its share; a 401 is cheap and keeps no memory",
  run: ({ tally }) =>
    Effect.gen(function* () {
      const world = yield* World.make
      const service = yield* world.listen({
        RATE_LIMIT_REQUESTS_PER_SECOND: String(perSecond),
        RATE_LIMIT_BURST_SIZE: String(burst)
      })
      const made: Array<string> = []
      while (made.length < keys) {
        const answer = yield* service.call("/api/v1/api-keys", { body: { name: "flood", scopes: ["relayers:read"] } })
        if (answer.status === 201) made.push((JSON.parse(answer.text).data as { readonly key: string }).key)
        else yield* Effect.sleep(200)
      }
      const url = `${service.baseUrl}/api/v1/relayers`
      const load = (given: Omit<Load.Load, "url">) => Effect.promise(() => Load.run({ url, ...given }))

      const flood = { connections: 3, during: seconds * 1000, interval: 250 }
      const [served, unknown] = yield* Effect.all(
        [
          Effect.forEach(made, (key) => load({ ...flood, key: () => key }), { concurrency: "unbounded" }),
          load({ connections: 4, during: seconds * 1000, interval: 10, key: unknownKey })
        ],
        { concurrency: 2 }
      )
      const shares = served.map(({ statuses }) => (statuses.get(200) ?? 0) / (perSecond * seconds + burst))
      const count = (status: number) => served.reduce((sum, { statuses }) => sum + (statuses.get(status) ?? 0), 0)
      tally.set("keys", keys)
      tally.set("served", count(200))
      tally.set("limited", count(429))
      tally.set("unknown keys meanwhile", unknown.times.length)
      tally.set("least share", Math.min(...shares).toFixed(2))
      tally.expect(Math.min(...shares) >= 0.9, `each key gets 90 % of its share: ${Math.min(...shares).toFixed(2)}`)
      tally.expect(count(429) > count(200) / 2, "there were many more requests than the limits allow")

      // The first requests warm up the code.
      yield* load({ connections: 8, during: 3000, key: unknownKey })
      const quiet = yield* Effect.sync(() => World.memory(service.pid))
      const before = processorTime(service.pid)
      let refused = 0
      while (refused < strangers) {
        const { statuses } = yield* load({ connections: 8, during: 2000, key: unknownKey })
        refused += statuses.get(401) ?? 0
        tally.expect(
          statuses.size === 1 && statuses.has(401),
          `unknown keys get 401: ${[...statuses.keys()].join(", ")}`
        )
      }
      const grown = World.memory(service.pid) - quiet
      tally.set("401s", refused)
      tally.set("CPU time of a 401, µs", Math.round(((processorTime(service.pid) - before) / refused) * 1e6))
      tally.set("memory growth, MiB", Math.round(grown))
      tally.expect(grown < 32, `401s keep no memory: ${grown.toFixed(0)} MiB more`)
    })
}
