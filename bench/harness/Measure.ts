// Measures contenders in turn, round by round, so that other load on the machine affects all of them.
import { Effect } from "effect"
import * as Client from "./Client.ts"
import type * as Consoles from "./Consoles.ts"
import { key } from "./Installation.ts"
import type { Installation, Server } from "./Installation.ts"
import * as Load from "./Load.ts"
import * as ProcessTree from "./ProcessTree.ts"
import type { Row } from "./Results.ts"
import { median } from "./Statistics.ts"

/** A contender on the database of an installation. */
export interface Target {
  readonly server: Server
  readonly installation: Installation
  /** Overviews of the console that are open while this contender is measured. */
  readonly consoles?: Consoles.Sessions
}

interface Cell<E> {
  readonly target: Target
  /** Loads the target for this number of seconds. */
  readonly run: (seconds: number) => Effect.Effect<Reading, E>
}

/** The result of one round. */
export interface Reading {
  readonly perSecond: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  /** CPU time per request of the server and of its PostgreSQL, in milliseconds. */
  readonly serverMs: number
  readonly postgresMs: number
  /** CPU time of the load generator, as a share of one core. */
  readonly generatorShare: number
  /** Resident memory of the server at the end, in MiB. */
  readonly resident: number
}

export interface Rounds {
  readonly rounds: number
  readonly seconds: number
  /** Seconds of load before the first round. */
  readonly warmUp: number
}

const summary = (readings: ReadonlyArray<Reading>): Reading => {
  const of = (field: keyof Reading) => median(readings.map((reading) => reading[field]))
  return {
    perSecond: of("perSecond"),
    p50: of("p50"),
    p99: of("p99"),
    serverMs: of("serverMs"),
    postgresMs: of("postgresMs"),
    generatorShare: of("generatorShare"),
    resident: of("resident")
  }
}

/** PostgreSQL is idle if it uses at most `idle` of CPU time in `watched`, both in milliseconds. */
const watched = 200
const idle = 10

/** The next turn begins after this many intervals (20 seconds), even if PostgreSQL is still busy. */
const maxIntervals = 100

/** Abandoned queries must not slow the next contender: 64 last pages of a million relayers take 3 seconds. */
const untilIdle = ({ installation: { postgres } }: Target) =>
  Effect.gen(function* () {
    const before = ProcessTree.cpuMs(postgres.pid)
    yield* Effect.sleep(watched)
    return ProcessTree.cpuMs(postgres.pid) - before <= idle
  }).pipe(Effect.repeat({ until: (isIdle) => isIdle, times: maxIntervals }))

/** Measures the cells in turn. The rows have the order of the cells. */
export const alternate = Effect.fnUntraced(function* <E>(
  name: string,
  connections: number,
  cells: ReadonlyArray<Cell<E>>,
  { rounds, seconds, warmUp }: Rounds
) {
  const readings = cells.map((): Array<Reading> => [])
  const turn = ({ target, run }: Cell<E>, seconds: number) => Effect.tap(run(seconds), () => untilIdle(target))
  if (warmUp > 0) for (const cell of cells) yield* turn(cell, warmUp)
  for (let round = 0; round < rounds; round++) {
    for (const [index, cell] of cells.entries()) readings[index]?.push(yield* turn(cell, seconds))
  }
  return cells.map(({ target: { server, installation } }, index): Row => {
    const all = readings[index] ?? []
    const { contender } = server
    const { size } = installation
    return { case: name, connections, contender, size, ...summary(all), rounds: all.map(({ perSecond }) => perSecond) }
  })
})

/** One round of one server. `perAnswer` is the size of a response body in bytes, if all have about the same size. */
export const load = Effect.fnUntraced(function* (
  { server, installation }: Target,
  plan: Load.Plan,
  connections: number,
  seconds: number,
  perAnswer?: number
) {
  const { postgres, folder } = installation
  const cpu = () => [ProcessTree.cpuMs(server.pid, postgres.pid), ProcessTree.cpuMs(postgres.pid)] as const
  const [server0, postgres0] = cpu()
  const loaded = yield* Load.run({ url: server.url, key, plan, connections, seconds, folder })
  const [server1, postgres1] = cpu()
  const bytes = loaded.bytes / loaded.requests
  // Headers differ between servers, and wrk also counts responses that were cut off when the round ended.
  if (perAnswer !== undefined && (bytes < perAnswer || bytes > perAnswer + 800)) {
    return yield* new Client.WrongAnswer({
      message: `${server.contender}: a response has ${bytes.toFixed(0)} bytes, expected ${perAnswer} and headers`
    })
  }
  const reading: Reading = {
    perSecond: loaded.requests / loaded.seconds,
    p50: loaded.p50,
    p99: loaded.p99,
    serverMs: (server1 - server0) / loaded.requests,
    postgresMs: (postgres1 - postgres0) / loaded.requests,
    generatorShare: loaded.share,
    resident: ProcessTree.residentMiB(server.pid, postgres.pid)
  }
  return { reading, requests: loaded.requests }
})
