// Several services start at the same time on one data directory, which is empty or was left by a kill.
import { Effect } from "effect"
import * as fs from "node:fs/promises"
import * as Service from "../testkit/process/Service.ts"
import type { Case } from "./Case.ts"
import * as Consistency from "./Consistency.ts"
import * as World from "./World.ts"
import * as Writer from "./Writer.ts"

const directories = 4
const rounds = 6
const contenders = 3

/** The longest time in milliseconds between the first and the last start: as long as a start takes. */
const apart = 400

export const Starts: Case = {
  name: "starts",
  promise: "of services that start at once on one directory, one serves and the others are refused; nothing is lost",
  run: (context) =>
    Effect.gen(function* () {
      const { random, tally } = context
      let acknowledged = 0
      for (let directory = 0; directory < directories; directory++) {
        const world = yield* World.make
        // If only root can enter the folder, the files of PostgreSQL are in another place, behind a link.
        if (directory % 2 === 1) yield* Effect.promise(() => fs.chmod(world.home, 0o700))
        const isolated = directory === 2 && Service.canIsolate
        const ledger = new Writer.Ledger()
        for (let round = 0; round < rounds; round++) {
          yield* Effect.gen(function* () {
            const delays = Array.from({ length: contenders }, () => random.int(0, apart))
            const victims = isolated ? "container" : random.pick(["service", "both", "none"])
            const { listening, refused } = yield* world.contest(delays, isolated)
            tally.add("starts", contenders)
            if (isolated) tally.add("of them in containers", contenders)
            tally.add("serving", listening.length)
            tally.expect(listening.length === 1, `one of them serves: ${refused.map(({ stderr }) => stderr).join("")}`)
            const odd = refused.find(({ code, stderr }) => code !== 1 || !Service.inUse.test(stderr))
            tally.add("refused", refused.length)
            tally.expect(odd === undefined, `the others name it: ${odd?.code} ${odd?.stderr}`)
            const [service] = listening
            if (service === undefined) return
            yield* Consistency.check(context, service, ledger)
            const options = { baseUrl: () => service.baseUrl, prefix: `r${round}`, lanes: 4, ledger }
            const writer = yield* Writer.start(options)
            // The first signer takes half a second, because it loads the libraries of the chains.
            yield* Effect.sleep(random.int(700, 1500))
            const pids = victims === "both" ? [service.pid, yield* world.postgres] : [service.pid]
            if (victims !== "none") yield* World.signal(pids, "SIGKILL")
            yield* writer.stop
            if (victims === "none") yield* Service.stop(service)
            tally.add(victims === "none" ? "stops" : `kills of ${victims}`)
          }).pipe(Effect.scoped)
        }
        const service = yield* world.listen()
        yield* Consistency.check(context, service, ledger)
        yield* Consistency.checkRows(context, yield* world.database)
        acknowledged += ledger.acknowledged
      }
      tally.set("acknowledged", acknowledged)
      tally.expect(acknowledged > directories * rounds * 10, "there were writes in between")
    })
}
