// Several services are started on one directory in the same moment: an empty one, and one that a kill has left.
import { Effect } from "effect"
import * as fs from "node:fs/promises"
import * as Service from "../testkit/process/Service.ts"
import type { Case } from "./Case.ts"
import * as Whole from "./Whole.ts"
import * as World from "./World.ts"
import * as Writer from "./Writer.ts"

const directories = 4
const rounds = 6
const contenders = 3

/** Milliseconds between the first start and the last one, at most: as long as a start takes. */
const apart = 400

export const Starts: Case = {
  name: "starts",
  promise: "of services that start at once on one directory, one serves and the others say so; nothing is lost",
  run: (context) =>
    Effect.gen(function* () {
      const { random, tally } = context
      let acknowledged = 0
      for (let directory = 0; directory < directories; directory++) {
        const world = yield* World.make
        // Where only root may enter, the files of PostgreSQL are elsewhere, behind a link.
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
            tally.expect(odd === undefined, `the others say who does: ${odd?.code} ${odd?.stderr}`)
            const [service] = listening
            if (service === undefined) return
            yield* Whole.check(context, service, ledger)
            const options = { baseUrl: () => service.baseUrl, prefix: `r${round}`, lanes: 4, ledger }
            const writer = yield* Writer.start(options)
            // The first signer takes half a second, in which the libraries of the chains are loaded.
            yield* Effect.sleep(random.int(700, 1500))
            const pids = victims === "both" ? [service.pid, yield* world.postgres] : [service.pid]
            if (victims !== "none") yield* World.signal(pids, "SIGKILL")
            yield* writer.stop
            if (victims === "none") yield* Service.stop(service)
            tally.add(victims === "none" ? "stops" : `kills of ${victims}`)
          }).pipe(Effect.scoped)
        }
        const service = yield* world.listen()
        yield* Whole.check(context, service, ledger)
        yield* Whole.checkRows(context, yield* world.database)
        acknowledged += ledger.acknowledged
      }
      tally.set("acknowledged", acknowledged)
      tally.expect(acknowledged > directories * rounds * 10, "there was a load in between")
    })
}
