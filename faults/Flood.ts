// Fifty keys send far more requests than their rate limit, and callers with unknown keys send as many as they can.
import { Effect, Redacted } from "effect"
import * as fs from "node:fs"
import { makeKey } from "../src/server/access/KeyChanges.ts"
import type { Case } from "./Case.ts"
import * as Load from "./Load.ts"
import * as World from "./World.ts"

const keys = 50
const perSecond = 4
const burst = 4
const seconds = 15
const strangers = 20_000

/** 429 beyond the limit of their address. */
const refusals = [401, 429]

/** Seconds of CPU time that a process has used. */
const processorTime = (pid: number): number => {
  const fields = fs
    .readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ")
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/** Well-formed, so that the service has to look it up. */
const unknownKey = () => Redacted.value(makeKey())

export const Flood: Case = {
  name: "flood",
  promise:
    "50 keys over their limit and unknown keys: each key gets 90 % of its share; a refusal is cheap and keeps no memory",
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
        for (const status of refusals) refused += statuses.get(status) ?? 0
        tally.expect(
          [...statuses.keys()].every((status) => refusals.includes(status)),
          `unknown keys get 401 or 429: ${[...statuses.keys()].join(", ")}`
        )
      }
      const grown = World.memory(service.pid) - quiet
      tally.set("refusals", refused)
      tally.set("CPU time of a refusal, µs", Math.round(((processorTime(service.pid) - before) / refused) * 1e6))
      tally.set("memory growth, MiB", Math.round(grown))
      tally.expect(grown < 32, `refusals keep no memory: ${grown.toFixed(0)} MiB more`)
    })
}
