// Two instances on one database send transactions. At random moments one of them is killed, or frozen beyond its lease.
import { Effect } from "effect"
import type { Scope } from "effect"
import type { Listening } from "../../testkit/process/Service.ts"
import type { Context } from "../Case.ts"
import type { Random } from "../Random.ts"
import * as Load from "./Load.ts"
import * as Node from "./Node.ts"
import * as Relayers from "./Relayers.ts"
import * as Verdict from "./Verdict.ts"

interface Options extends Omit<Context, "isChosen"> {
  /** Starts an instance with these settings. */
  readonly listen: (env: Record<string, string>) => Effect.Effect<Listening, never, Scope.Scope>
  readonly kills: number
  readonly freezes: number
  /** Milliseconds. */
  readonly lease: number
}

const relayers = 6

/** Milliseconds between two requests of one sender: a step is in progress most of the time. */
const pause = 60

type Fault = "kill" | "freeze"

const several = (length: number, fault: Fault): ReadonlyArray<Fault> => Array.from({ length }, () => fault)

const shuffled = (random: Random, faults: ReadonlyArray<Fault>): ReadonlyArray<Fault> =>
  faults
    .map((fault) => ({ fault, place: random.int(0, 1_000_000) }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ fault }) => fault)

export const run = Effect.fnUntraced(function* ({ listen, kills, freezes, lease, random, tally }: Options) {
  const node = yield* Node.start
  const env = { ...Relayers.env, LANE_LEASE_MS: String(lease) }
  const instances = [yield* listen(env), yield* listen(env)] as [Listening, Listening]
  const made = yield* Relayers.make(instances[0], node, { count: relayers })
  const urls = () => instances.map(({ baseUrl }) => baseUrl)
  const { load, stop } = yield* Load.start({ urls, relayers: made, random, pause })

  const kill = Effect.fnUntraced(function* (which: 0 | 1) {
    yield* instances[which].kill("SIGKILL")
    yield* instances[which].exited
    yield* Effect.sleep(random.int(0, 300))
    instances[which] = yield* listen(env)
  })

  const freeze = Effect.fnUntraced(function* (which: 0 | 1) {
    const { kill } = instances[which]
    yield* kill("SIGSTOP")
    yield* Effect.sleep(lease + random.int(200, 1000)).pipe(Effect.ensuring(kill("SIGCONT")))
  })

  const faults = [...several(kills, "kill"), ...several(freezes, "freeze")]
  for (const fault of shuffled(random, faults)) {
    yield* Effect.sleep(random.int(0, 500))
    const which = random.pick([0, 1])
    yield* fault === "kill" ? kill(which) : freeze(which)
    tally.add(`${fault}s`)
  }
  yield* stop
  yield* Verdict.check(tally, node, instances[0], made, load)
})
