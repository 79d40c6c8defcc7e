// Measures the memory of the service and of its PostgreSQL when idle, and how it grows under load.
import { Effect } from "effect"
import { usualConnections } from "./Goals.ts"
import * as Installation from "./Installation.ts"
import type { Target } from "./Measure.ts"
import * as ProcessTree from "./ProcessTree.ts"
import type { Memory } from "./Results.ts"
import { line } from "./Statistics.ts"

const settle = "8 seconds"

/** Jobs run, as by default: without relayers there is no chain that they could call. */
const idle = Effect.scoped(
  Effect.gen(function* () {
    const { service, postgres } = yield* Installation.make({
      size: 0,
      contender: "service",
      checkout: Installation.root,
      env: { WATCH: "on" }
    })
    yield* Effect.sleep(settle)
    return {
      service: ProcessTree.residentMiB(service.pid, postgres.pid),
      postgres: ProcessTree.proportionalMiB(postgres.pid)
    }
  })
)

/** Seconds between two samples. */
const interval = 10

type Run<E> = (target: Target, connections: number, seconds: number) => Effect.Effect<{ readonly perSecond: number }, E>

export const measure = Effect.fnUntraced(function* <E>(run: Run<E>, size: number, minutes: number) {
  const found = yield* idle
  const load = yield* Effect.scoped(
    Effect.gen(function* () {
      const installation = yield* Installation.make({ size, contender: "service", checkout: Installation.root })
      const target = { server: installation.service, installation }
      const samples: Array<readonly [number, number]> = []
      const start = performance.now()
      let requests = 0
      while (performance.now() < start + minutes * 60_000) {
        requests += (yield* run(target, usualConnections, interval)).perSecond * interval
        const mib = ProcessTree.residentMiB(target.server.pid, installation.postgres.pid)
        samples.push([(performance.now() - start) / 60_000, mib])
      }
      const settled = samples.filter(([minute]) => minute > minutes / 5)
      return { minutes, requests: Math.round(requests), samples, ...line(settled) }
    })
  )
  return { idle: found, ...load } satisfies Memory
})
