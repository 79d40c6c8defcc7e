// Traces of the bound: the last block in which bytes can land does not rest on one provider. The numbers are those of the table in
// README.md of this folder.
import { Effect } from "effect"
import { assert } from "@effect/vitest"
import { layerEach } from "../../../../testkit/layerEach.ts"
import { memory } from "../../../server/ledger/Fixtures.ts"
import { heldBack, isConfirmedOnce, release } from "./Ends.ts"
import * as World from "./World.ts"

const { receiver, sol } = World

type World = Effect.Success<ReturnType<typeof World.make>>

/** Looks over more than the ten seconds after which a single provider may repeat a proof. */
const looksWithoutBlocks = 8

/** Until the next block has this age, counted from the blockhash. */
const growTo = ({ cluster }: World, born: number, age: number) => {
  cluster.produce(born + age - cluster.blocks.length)
}

layerEach(memory)("bytes that the network holds back", (it) => {
  it.effect("7: land in the last block of their blockhash, and no others were signed before", () =>
    Effect.gen(function* () {
      const { born, id, world } = yield* heldBack()
      growTo(world, born, 150)
      yield* world.poll(looksWithoutBlocks, 0)
      release(world)
      world.cluster.produce()
      yield* isConfirmedOnce(world, id)
    })
  )

  it.effect("8: land one block after the reported end, at the age of 151, and no others were signed before", () =>
    Effect.gen(function* () {
      const { born, bound, id, world } = yield* heldBack()
      growTo(world, born, 151)
      yield* world.poll(looksWithoutBlocks, 0)
      release(world)
      world.cluster.produce()
      assert.strictEqual(world.cluster.balanceOf(receiver), sol)
      assert.isAtLeast(bound, born + 151)
      yield* isConfirmedOnce(world, id)
    })
  )

  it.effect("8b: the same if the node has no block above the confirmed one", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      for (const { lies } of world.nodes) {
        lies.set("getBlockHeight", () => ({ result: world.cluster.blocks.at(-2)?.height }))
      }
      const [id] = yield* world.accept()
      world.cluster.swallows = true
      yield* world.poll(2)
      const [attempt = assert.fail("nothing is signed")] = (yield* world.transaction(id)).attempts
      const born = world.cluster.blocks.findIndex(({ blockhash }) => blockhash === attempt.offer.blockhash)
      assert.isAtLeast(attempt.offer.bound, born + 151)
      growTo(world, born, 151)
      yield* world.poll(looksWithoutBlocks, 0)
      release(world)
      yield* isConfirmedOnce(world, id)
    })
  )

  it.effect("9: outlive the end that one provider understates, because the bound does not rest on it", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      for (const node of world.nodes.slice(0, 1)) {
        node.lies.set("getLatestBlockhash", () => {
          const { blockhash, height, slot } = world.cluster.blocks.at(-2) ?? assert.fail("no block")
          return { result: { context: { slot }, value: { blockhash, lastValidBlockHeight: height + 110 } } }
        })
      }
      const [id] = yield* world.accept()
      world.cluster.swallows = true
      yield* world.poll(2)
      const { attempts } = yield* world.transaction(id)
      const born = world.cluster.blocks.findIndex(({ blockhash }) => blockhash === attempts[0]?.offer.blockhash)
      assert.isAtLeast(attempts[0]?.offer.bound ?? 0, born + 151)
      yield* world.poll(Math.floor((born + 149 - world.cluster.blocks.length) / 5))
      release(world)
      yield* isConfirmedOnce(world, id)
    })
  )
})

layerEach(memory)("a blockhash", (it) => {
  it.effect("9b: is not taken from one provider that names a slot which the other one does not have", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      const [liar = assert.fail("no node")] = world.nodes
      const understated = 100
      world.cluster.produce(understated)
      const heightOf = () => world.cluster.blocks.length - 2
      liar.lies.set("getLatestBlockhash", () => {
        const { blockhash } = world.cluster.blocks.at(-2) ?? assert.fail("no block")
        const value = { blockhash, lastValidBlockHeight: heightOf() - understated + 150 }
        return { result: { context: { slot: 10 ** 9 }, value } }
      })
      liar.lies.set("getBlockHeight", () => ({ result: heightOf() - understated }))
      liar.lies.set("isBlockhashValid", () => ({ result: { context: { slot: 10 ** 9 }, value: true } }))
      const [id] = yield* world.accept()
      world.cluster.swallows = true
      yield* world.poll(2)
      const [attempt = assert.fail("nothing is signed")] = (yield* world.transaction(id)).attempts
      const born = world.cluster.blocks.findIndex(({ blockhash }) => blockhash === attempt.offer.blockhash)
      assert.isAtLeast(attempt.offer.bound, born + 151)
    })
  )

  it.effect("9c: of the provider that is behind is taken, because the other one can check it", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      const [, behind = assert.fail("no node")] = world.nodes
      behind.lag = 3
      const [id] = yield* world.accept()
      yield* world.poll()
      const [attempt = assert.fail("nothing is signed")] = (yield* world.transaction(id)).attempts
      const born = world.cluster.blocks.findIndex(({ blockhash }) => blockhash === attempt.offer.blockhash)
      assert.strictEqual(born, world.cluster.blocks.length - 1 - behind.lag)
      assert.isAtLeast(attempt.offer.bound, world.cluster.blocks.length - 1 + 150)
      yield* isConfirmedOnce(world, id)
    })
  )
})
