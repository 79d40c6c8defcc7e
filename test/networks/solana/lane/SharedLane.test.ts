// Two relayers of one solana account, one of which has RPC URLs of its own: what these say, or do not say, holds its own rows alone.
import { Effect } from "effect"
import { assert } from "@effect/vitest"
import { layerEach } from "../../../../testkit/layerEach.ts"
import type { Node } from "../../../../testkit/solana/Node.ts"
import { memory } from "../../../server/ledger/Fixtures.ts"
import * as World from "./World.ts"

const { receiver, sol } = World

const troubles: Readonly<Record<string, (node: Node) => void>> = {
  "say nothing": (node) => void (node.isAway = true),
  "show no balance": (node) =>
    void node.lies.set("getBalance", () => ({ error: { code: -32_603, message: "Internal error" } }))
}

const codeOf = ({ cause, state }: { readonly cause?: { readonly code: string }; readonly state: string }) => [
  state,
  cause?.code
]

/** One index of the providers is that of the network, and the other one that of the relayer with URLs of its own. */
const sets = { "the network": 0, "one relayer": 1 }

layerEach(memory)("solana providers of", (it) => {
  for (const [whose, index] of Object.entries(sets)) {
    for (const [name, begin] of Object.entries(troubles)) {
      it.effect(`${whose} that ${name} hold the rows that use them, and not those of a relayer with other URLs`, () =>
        Effect.gen(function* () {
          const world = yield* World.make({ own: 1 })
          const node = world.nodes[index] ?? assert.fail("no node")
          begin(node)
          const ofNetwork = { accept: world.accept, read: world.transaction }
          const ofOwn = { accept: world.acceptOwn, read: world.ownTransaction }
          const [held, free] = index === 0 ? [ofNetwork, ofOwn] : [ofOwn, ofNetwork]
          const request = (count: bigint) => World.transfer(world.address, count * sol)
          const [first] = yield* held.accept(request(1n))
          yield* world.poll(5)
          const [second] = yield* free.accept(request(2n))
          yield* world.poll(30)
          assert.deepStrictEqual(codeOf(yield* held.read(first)), ["pending", "providers_unavailable"])
          assert.deepStrictEqual(codeOf(yield* free.read(second)), ["confirmed", "confirmed"])
          node.isAway = false
          node.lies.clear()
          yield* world.finish
          assert.deepStrictEqual(codeOf(yield* held.read(first)), ["confirmed", "confirmed"])
          assert.strictEqual(world.cluster.balanceOf(receiver), 3n * sol)
        })
      )
    }
  }
})
