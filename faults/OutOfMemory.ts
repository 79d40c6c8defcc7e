// A worker of WORKERS=2 runs out of memory: V8's heap is full, or the kernel takes the process.
import { Effect } from "effect"
import * as Service from "../testkit/process/Service.ts"
import type { Case } from "./Case.ts"
import * as Prober from "./Prober.ts"
import type { Outcome } from "./Requests.ts"
import * as Requests from "./Requests.ts"
import * as Whole from "./Whole.ts"
import * as World from "./World.ts"
import * as Writer from "./Writer.ts"

const deaths = 10
const lanes = 8

/** Milliseconds. A process that V8 ends has first tried for a while to find memory. */
const longestGap = 5000

/** Milliseconds until a caller has heard of it. */
const slack = 500

const heap = "--max-old-space-size=192"

const isGood = ({ status }: Outcome) => status === 200 || status === 201

/** Milliseconds between two good answers, at most. */
const gap = (outcomes: ReadonlyArray<Outcome>): number => {
  const ends = outcomes.filter(isGood).map(({ endedAt }) => endedAt)
  const sorted = ends.toSorted((a, b) => a - b)
  return Math.max(...sorted.map((end, index) => end - (sorted[index - 1] ?? end)))
}

export const OutOfMemory: Case = {
  name: "out-of-memory",
  promise: "a worker that runs out of memory breaks off what it was at: the other serves on, and one takes its place",
  run: (context) =>
    Effect.gen(function* () {
      const { random, tally } = context
      const world = yield* World.make
      const { NODE_OPTIONS } = World.preload("Gluttony.ts")
      const service = yield* world.listen({
        WORKERS: "2",
        LOG_LEVEL: "debug",
        NODE_OPTIONS: `${NODE_OPTIONS} ${heap}`
      })
      const ledger = new Writer.Ledger()
      const writer = yield* Writer.start({ baseUrl: () => service.baseUrl, prefix: "m", lanes, ledger })
      const prober = yield* Prober.start(service.baseUrl)
      const gone = new Set<number>()
      const dying: Array<{ readonly from: number; readonly to: number }> = []
      for (let count = 0; count < deaths; count++) {
        const all = yield* Service.workers(service, 2 + count)
        const [first = 0, second = 0] = all.filter((pid) => !gone.has(pid))
        yield* Effect.sleep(random.int(300, 1500))
        const victim = random.pick([first, second])
        const way = random.pick(["heap", "kernel"])
        const begun = performance.now()
        yield* World.signal([victim], way === "heap" ? "SIGUSR2" : "SIGKILL")
        yield* World.gone(victim)
        gone.add(victim)
        dying.push({ from: begun, to: performance.now() + slack })
        yield* Service.workers(service, 3 + count)
        tally.max("slowest replacement ms", performance.now() - begun)
        tally.add(`deaths by ${way}`)
      }
      yield* Effect.sleep(1000)
      yield* writer.stop
      yield* prober.stop
      const asked = [...prober.reads, ...prober.health, ...ledger.outcomes]
      const broken = asked.filter(({ status }) => status === 0)
      const early = broken.filter(({ endedAt }) => !dying.some(({ from, to }) => from <= endedAt && endedAt <= to))
      tally.set("acknowledged", ledger.acknowledged)
      tally.set("reads", Requests.statuses(prober.reads))
      tally.set("writes", Requests.statuses(ledger.outcomes))
      tally.set("broken off", broken.length)
      tally.max("longest without a good read, ms", gap(prober.reads))
      tally.max("longest without a good write, ms", gap(ledger.outcomes))
      tally.expect(ledger.acknowledged > deaths * 10, "there was a load to die in")
      const odd = asked.find(({ status }) => ![0, 200, 201, 503].includes(status))
      tally.expect(odd === undefined, `no other answers: ${odd?.status} ${odd?.text}`)
      tally.expect(early.length === 0, `nothing is broken off but by a worker that dies: ${early.length}`)
      const longest = Math.max(gap(prober.reads), gap(ledger.outcomes))
      tally.expect(longest <= longestGap, `the other worker serves on: ${longest.toFixed(0)} ms without a good answer`)
      yield* Whole.check(context, service, ledger)
      yield* Whole.checkRows(context, yield* world.database)
    })
}
