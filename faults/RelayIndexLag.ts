// The indexes of both URLs lag behind the height and the counts that they name, while transactions are sent and the service is killed.
import { Effect } from "effect"
import * as EvmProxy from "../testkit/EvmProxy.ts"
import { until } from "../testkit/process/Folder.ts"
import type { Case } from "./Case.ts"
import * as Load from "./sending/Load.ts"
import * as Node from "./sending/Node.ts"
import * as Relayers from "./sending/Relayers.ts"
import * as Verdict from "./sending/Verdict.ts"
import * as World from "./World.ts"

/** The most blocks that an index lacks. Each answer lacks another number of them. */
const mostLag = 10

/** Transactions that are accepted, and kills of the service among them. */
const sent = { full: 300, short: 20 } as const
const killed = { full: 10, short: 1 } as const

export const RelayIndexLag: Case = {
  name: "relay-index-lag",
  promise:
    "indexes of both URLs lag by 1 to 10 blocks at random, with kills: all are confirmed, each effect happens once, nonces have no holes",
  isShort: true,
  run: ({ amount, random, tally }) =>
    Effect.gen(function* () {
      const world = yield* World.make
      const node = yield* Node.start
      const second = yield* EvmProxy.make(node.url)
      node.lagIndex(() => random.int(1, mostLag))
      const listen = world.listen(Relayers.env)
      let service = yield* listen
      const network = { rpc_urls: [node.url, second.url] }
      const relayers = yield* Relayers.make(service, node, { count: 4, network })
      const { load, stop } = yield* Load.start({ urls: () => [service.baseUrl], relayers, random })
      const kills = amount(killed.full, killed.short)
      const share = amount(sent.full, sent.short) / (kills + 1)
      for (let kill = 1; kill <= kills + 1; kill++) {
        yield* until(
          "accepted requests",
          Effect.sync(() => (load.accepted.length >= kill * share ? true : undefined)),
          "5 minutes"
        )
        if (kill > kills) break
        yield* World.kill("service", { service: service.pid, postgres: yield* world.postgres })
        service = yield* listen
        tally.add("kills of the service")
      }
      yield* stop
      yield* Verdict.check(tally, node, service, relayers, load)
    })
}
