// One of two instances on a shared database runs out of memory: V8 ends it when its heap is full, or the kernel kills it.
import { Effect } from "effect"
import type { Case } from "./Case.ts"
import * as ExternalPostgres from "./ExternalPostgres.ts"
import * as Prober from "./Prober.ts"
import type { Outcome } from "./Requests.ts"
import * as Requests from "./Requests.ts"
import * as Consistency from "./Consistency.ts"
import * as World from "./World.ts"
import * as Writer from "./Writer.ts"
import { until } from "../testkit/process/Folder.ts"

const deaths = 10
const lanes = 4

/** Milliseconds between two successful responses of the instance that survives. */
const longestGap = 2000

const heap = "--max-old-space-size=192"

const succeeded = ({ status }: Outcome) => status === 200 || status === 201

/** The longest time in milliseconds between two successful responses. */
const gap = (outcomes: ReadonlyArray<Outcome>): number => {
  const ends = outcomes.filter(succeeded).map(({ endedAt }) => endedAt)
  const sorted = ends.toSorted((a, b) => a - b)
  return Math.max(...sorted.map((end, index) => end - (sorted[index - 1] ?? end)))
}

export const OutOfMemory: Case = {
  name: "out-of-memory",
  promise:
    "one of two instances runs out of memory: the other serves without a failure, and nothing acknowledged is lost",
  run: (context) =>
    Effect.gen(function* () {
      const { random, tally } = context
      const world = yield* ExternalPostgres.make
      const survivor = yield* world.listen()
      const [kept, lost] = [new Writer.Ledger(), new Writer.Ledger()]
      const writer = yield* Writer.start({ baseUrl: () => survivor.baseUrl, prefix: "kept", lanes, ledger: kept })
      const prober = yield* Prober.start(survivor.baseUrl)
      const { NODE_OPTIONS } = World.preload("Gluttony.ts")

      const oneDeath = Effect.fnUntraced(function* (count: number) {
        const victim = yield* world.listen({ NODE_OPTIONS: `${NODE_OPTIONS} ${heap}` })
        const options = { baseUrl: () => victim.baseUrl, prefix: `lost${count}`, lanes, ledger: lost }
        const before = lost.acknowledged
        const writer = yield* Writer.start(options)
        // The first signer loads the libraries of the chains.
        yield* until(
          "acknowledged writes",
          Effect.sync(() => lost.acknowledged >= before + lanes || undefined)
        )
        yield* Effect.sleep(random.int(0, 1000))
        const way = random.pick(["heap", "kernel"])
        yield* World.signal([victim.pid], way === "heap" ? "SIGUSR2" : "SIGKILL")
        yield* World.gone(victim.pid)
        yield* writer.stop
        tally.add(`deaths by ${way}`)
      }, Effect.scoped)
      for (let count = 0; count < deaths; count++) yield* oneDeath(count)
      yield* writer.stop
      yield* prober.stop

      const answered = [...prober.reads, ...prober.health, ...kept.outcomes]
      const failed = answered.find((outcome) => !succeeded(outcome))
      const odd = lost.outcomes.find(({ status }) => ![0, 200, 201, 503].includes(status))
      const longest = Math.max(gap(prober.reads), gap(kept.outcomes))
      tally.set("acknowledged by the survivor", kept.acknowledged)
      tally.set("acknowledged by the others", lost.acknowledged)
      tally.set("writes to the others", Requests.statuses(lost.outcomes))
      tally.max("longest gap of the survivor, ms", longest)
      tally.expect(lost.acknowledged >= deaths * lanes, "the instances were under load when they died")
      tally.expect(failed === undefined, `the survivor answers every request: ${failed?.status} ${failed?.text}`)
      tally.expect(odd === undefined, `there are no other responses: ${odd?.status} ${odd?.text}`)
      tally.expect(longest <= longestGap, `the survivor answers every ${longestGap} ms: ${longest.toFixed(0)} ms`)
      for (const ledger of [kept, lost]) yield* Consistency.check(context, survivor, ledger)
      yield* Consistency.checkRows(context, world.database)
    })
}
