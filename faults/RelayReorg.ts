// The chain is reorganised again and again while transactions are sent: blocks are replaced by empty ones, or taken back.
import { Effect } from "effect"
import type { Case } from "./Case.ts"
import * as Opening from "./sending/Opening.ts"
import * as Verdict from "./sending/Verdict.ts"

const reorgs = 16

/** Blocks. Every reorganisation here is less deep. */
const confirmations = 8

export const RelayReorg: Case = {
  name: "relay-reorg",
  promise: "reorganisations below required_confirmations: all are confirmed, each effect happens once, no holes",
  run: ({ random, tally }) =>
    Effect.gen(function* () {
      const { node, relayers, send, service } = yield* Opening.open({
        network: { required_confirmations: confirmations }
      })
      // Funds are given outside of blocks, so a reorganisation below this height takes them back.
      yield* node.call("anvil_mine", [`0x${confirmations.toString(16)}`])
      const { load, stop } = yield* send(random)

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
