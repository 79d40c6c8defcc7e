// The chain is reorganised again and again while transactions are sent: blocks are replaced by empty ones, or taken back.
import { Effect } from "effect"
import type { Case } from "./Case.ts"
import * as Load from "./sending/Load.ts"
import * as Node from "./sending/Node.ts"
import * as Relayers from "./sending/Relayers.ts"
import * as Verdict from "./sending/Verdict.ts"
import * as World from "./World.ts"

const reorgs = 16

/** Blocks. Every reorganisation here is less deep. */
const confirmations = 8

export const RelayReorg: Case = {
  name: "relay-reorg",
  promise: "reorganisations below required_confirmations: all are confirmed, each effect happens once, no holes",
  run: ({ random, tally }) =>
    Effect.gen(function* () {
      const world = yield* World.make
      const node = yield* Node.start
      const service = yield* world.listen(Relayers.env)
      const relayers = yield* Relayers.make(service, node, {
        count: 4,
        network: { required_confirmations: confirmations }
      })
      // Funds are given outside of blocks, so a reorganisation below this height takes them back.
      yield* node.call("anvil_mine", [`0x${confirmations.toString(16)}`])
      const { load, stop } = yield* Load.start({ urls: () => [service.baseUrl], relayers, random })

      /** The same height, with other blocks that are empty. */
      const replace = Effect.gen(function* () {
        const height = Number(yield* node.call("eth_blockNumber", []))
        yield* node.call("anvil_reorg", [Math.min(random.int(1, 4), height), []])
      })

      /** A lower height. */
      const takeBack = Effect.gen(function* () {
        const snapshot = yield* node.call("evm_snapshot", [])
        yield* Effect.sleep(random.int(1000, 3500))
        yield* node.call("evm_revert", [snapshot])
      })

      for (let count = 0; count < reorgs; count++) {
        yield* Effect.sleep(random.int(1000, 4000))
        const way = random.pick(["replaced", "taken back"])
        yield* way === "replaced" ? replace : takeBack
        tally.add(`blocks ${way}`)
      }
      yield* stop
      yield* Verdict.check(tally, node, service, relayers, load)
    })
}
