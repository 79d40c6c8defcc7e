// Three instances on one database send transactions. At random moments two of them are killed, or frozen beyond their lease,
// independently of each other; the third one is left alone, so that there is always one that takes over.
import { Effect } from "effect"
import type { Scope } from "effect"
import { until } from "../../testkit/process/Folder.ts"
import type { Listening } from "../../testkit/process/Service.ts"
import type { Context } from "../Case.ts"
import { make } from "../Random.ts"
import type { Random } from "../Random.ts"
import * as Load from "./Load.ts"
import * as Node from "./Node.ts"
import * as Relayers from "./Relayers.ts"
import * as Verdict from "./Verdict.ts"

/** The chain and relayers that the instances send through, and the check after the run. */
export interface Scene {
  readonly env: Record<string, string>
  /** Milliseconds between two requests of one sender. Absent: a step is in progress most of the time. */
  readonly pause?: number
  /** Creates relayers, which send when the load begins. */
  readonly open: (service: Listening) => Effect.Effect<
    {
      readonly relayers: ReadonlyArray<Relayers.Relayer>
      readonly requestOf?: (slot: number, relayer: Relayers.Relayer) => object
      /** The first slot of the counter. Absent: 0. */
      readonly firstSlot?: number
      readonly check: (service: Listening, load: Load.Load) => Effect.Effect<void, never, Scope.Scope>
    },
    never,
    Scope.Scope
  >
}

const relayers = 6

const evm = (tally: Context["tally"]): Scene => ({
  env: Relayers.env,
  open: Effect.fnUntraced(function* (service) {
    const node = yield* Node.start
    const made = yield* Relayers.make(service, node, { count: relayers })
    return {
      relayers: made,
      check: (read, load) => Effect.asVoid(Verdict.check(tally, node, read, made, load))
    }
  })
})

interface Options extends Pick<Context, "random" | "tally"> {
  /** Starts an instance with these settings. */
  readonly listen: (env: Record<string, string>) => Effect.Effect<Listening, never, Scope.Scope>
  readonly kills: number
  readonly freezes: number
  /** Milliseconds. */
  readonly lease: number
  /** Absent: relayers on anvil. */
  readonly scene?: Scene
  /** Milliseconds between two requests of one sender. Absent: those of the scene. */
  readonly pause?: number
  /** The load goes on until so many transactions are accepted, and the faults are spread over it. Absent: it ends with the last fault. */
  readonly least?: number
}

/** Milliseconds between two requests of one sender, if the scene has no other. */
const defaultPause = 60

type Fault = "kill" | "freeze"

const several = (length: number, fault: Fault): ReadonlyArray<Fault> => Array.from({ length }, () => fault)

const shuffled = (random: Random, faults: ReadonlyArray<Fault>): ReadonlyArray<Fault> =>
  faults
    .map((fault) => ({ fault, place: random.int(0, 1_000_000) }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ fault }) => fault)

export const run = Effect.fnUntraced(function* (options: Options) {
  const { kills, freezes, lease, random, tally, scene = evm(options.tally), least = 0 } = options
  /** If the database does not answer for seconds, as on a machine that stalls, the start says so and ends. Then it is started again. */
  const listen = (env: Record<string, string>) =>
    Effect.catchDefect(options.listen(env), (defect) => {
      if (!String(defect).includes("the database was unavailable")) return Effect.die(defect)
      tally.add("starts without a database")
      return options.listen(env)
    })
  const env = { ...scene.env, LANE_LEASE_MS: String(lease) }
  const instances: [Listening, Listening] = [yield* listen(env), yield* listen(env)]
  const undisturbed = yield* listen(env)
  const { relayers: made, requestOf, firstSlot = 0, check } = yield* scene.open(undisturbed)
  const urls = () => [...instances, undisturbed].map(({ baseUrl }) => baseUrl)
  const { load, stop } = yield* Load.start({
    urls,
    relayers: made,
    random,
    firstSlot,
    pause: options.pause ?? scene.pause ?? defaultPause,
    ...(requestOf === undefined ? {} : { requestOf })
  })

  const kill = Effect.fnUntraced(function* (which: 0 | 1, random: Random) {
    yield* instances[which].kill("SIGKILL")
    yield* instances[which].exited
    yield* Effect.sleep(random.int(0, 300))
    instances[which] = yield* listen(env)
  })

  const freeze = Effect.fnUntraced(function* (which: 0 | 1, random: Random) {
    const { kill } = instances[which]
    yield* kill("SIGSTOP")
    yield* Effect.sleep(lease + random.int(200, 1000)).pipe(Effect.ensuring(kill("SIGCONT")))
  })

  /** Waits until this share of the transactions is accepted. */
  const accepted = (share: number) =>
    until(
      "accepted transactions",
      Effect.sync(() => (load.accepted.length >= least * share ? true : undefined)),
      "3 minutes"
    )

  /** `random` is its own, so that its choices do not depend on the other instance. */
  const disturb = Effect.fnUntraced(function* (which: 0 | 1, faults: ReadonlyArray<Fault>, random: Random) {
    for (const [index, fault] of faults.entries()) {
      yield* accepted(index / faults.length)
      yield* Effect.sleep(random.int(0, 500))
      yield* fault === "kill" ? kill(which, random) : freeze(which, random)
      tally.add(`${fault}s`)
    }
  })

  const faults = shuffled(random, [...several(kills, "kill"), ...several(freezes, "freeze")])
  const half = Math.ceil(faults.length / 2)
  const own = () => make(random.int(0, 1_000_000))
  yield* Effect.all([disturb(0, faults.slice(0, half), own()), disturb(1, faults.slice(half), own())], {
    concurrency: 2
  })
  yield* accepted(1)
  yield* stop
  yield* check(undisturbed, load)
})
