// Nodes whose indexes of signatures lag behind the finalized slot that they name: neither statuses nor lists have what the newest
// finalized blocks have. Bytes land in the last block that takes them; what the chain executed decides whether a test passes.
import { Effect } from "effect"
import { assert } from "@effect/vitest"
import { layerEach } from "../../../../testkit/layerEach.ts"
import { life } from "../../../../testkit/solana/Cluster.ts"
import { memory } from "../../../server/ledger/Fixtures.ts"
import { heldBack, isConfirmedOnce, release, shown } from "./Ends.ts"
import * as World from "./World.ts"

const { receiver, sol, transfer } = World

type Scene = Effect.Success<ReturnType<typeof World.make>>

const transfers = 12

/** Lags from 1 to `most` that look random and are the same in every run. */
const lags = (most: number) => {
  let state = 7
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return 1 + (state % most)
  }
}

const lag = (world: Scene, lagOf: () => number) => {
  for (const node of world.nodes) node.indexLag = lagOf()
}

/** Blocks until the next one is the last that takes bytes with the blockhash of this block. */
const untilLast = Effect.fnUntraced(function* (world: Scene, born: number) {
  const left = born + life - world.cluster.blocks.length + 1
  if (left > 0) yield* world.poll(1, left)
})

/** A block with each step, so that a proof is tried at each height, until nothing is open. */
const finish = Effect.fnUntraced(function* (world: Scene, lagOf: () => number) {
  for (let round = 0; round < 120; round++) {
    lag(world, lagOf)
    yield* world.poll(1, 1)
    const { inFlight, pendingCount } = yield* world.contents
    if (inFlight.length + pendingCount === 0) return
  }
})

layerEach(memory)("twelve transfers that land in the last block of their blockhash", (it) => {
  for (const providers of [1, 2]) {
    for (const hasVotes of [true, false]) {
      for (const [name, lagOf] of [
        ["three blocks behind", () => () => 3],
        ["ten blocks behind", () => () => 10],
        ["one to eight blocks behind at random", () => lags(8)]
      ] as const) {
        const blocks = hasVotes ? "votes in each block" : "empty blocks"
        it.effect(`are received and confirmed, each once, by ${providers} with an index ${name}, ${blocks}`, () =>
          Effect.gen(function* () {
            const world = yield* World.make({ providers, funds: 100n * sol })
            for (const node of world.nodes) node.hasVotes = hasVotes
            const ids = yield* world.accept(transfer(world.address, sol), transfers)
            world.cluster.swallows = true
            yield* world.poll(2)
            const first = yield* world.transaction(ids[0])
            const blockhash = first.attempts[0]?.offer.blockhash
            yield* untilLast(
              world,
              world.cluster.blocks.findIndex((block) => block.blockhash === blockhash)
            )
            release(world)
            yield* finish(world, lagOf())
            const ended = yield* Effect.forEach(ids, (id) => world.transaction(id))
            assert.deepStrictEqual(
              ended.map(({ state, attempts }) => [state, attempts.length]),
              ids.map(() => ["confirmed", 1])
            )
            assert.strictEqual(world.cluster.balanceOf(receiver), BigInt(transfers) * sol)
          })
        )
      }
    }
  }
})

layerEach(memory)("a transaction that the index of every node lacks", (it) => {
  for (const providers of [1, 2]) {
    it.effect(`is confirmed although it was canceled meanwhile, by ${providers}`, () =>
      Effect.gen(function* () {
        const { born, id, world } = yield* heldBack({ providers })
        yield* untilLast(world, born)
        release(world)
        yield* world.cancel(id)
        yield* finish(world, () => 10)
        yield* isConfirmedOnce(world, id)
      })
    )
  }
})

layerEach(memory)("bytes that never landed", (it) => {
  for (const hasVotes of [true, false]) {
    it.effect(`are followed by others through indexes that lag for ever, with ${hasVotes ? "votes" : "no votes"}`, () =>
      Effect.gen(function* () {
        const { id, world } = yield* heldBack({ providers: 2 })
        for (const node of world.nodes) Object.assign(node, { hasVotes, indexLag: 10 })
        yield* world.poll(1, life + 40)
        yield* world.poll(12, 1)
        assert.lengthOf((yield* world.transaction(id)).attempts, 2)
        world.cluster.swallows = false
        yield* world.finish
        const { state, attempts } = yield* world.transaction(id)
        assert.deepStrictEqual([state, attempts.length], ["confirmed", 2])
        assert.strictEqual(world.cluster.balanceOf(receiver), sol)
      })
    )
  }

  it.effect("wait, with the provider that shows no blocks named, until it shows them", () =>
    Effect.gen(function* () {
      const { id, world } = yield* heldBack({ providers: 2 })
      const [, second] = world.nodes
      second?.lies.set("getBlock", () => ({ error: { code: -32_601, message: "Method not found" } }))
      yield* world.poll(1, life + 40)
      yield* world.poll(12, 1)
      assert.deepStrictEqual(yield* shown(world, id), ["submitted", "landing_unproven", 1])
      const { figures } = (yield* world.transaction(id)).cause ?? assert.fail("no cause")
      assert.deepStrictEqual([figures.host, figures.error?.includes("history has the blocks")], [second?.url, true])
      second?.lies.clear()
      yield* world.poll(3)
      assert.lengthOf((yield* world.transaction(id)).attempts, 2)
    })
  )
})
