// Traces of solana's state machine in the driver: what lands is found once, and what does not is signed again only after a proof.
import { Effect } from "effect"
import { assert } from "@effect/vitest"
import { feeOf } from "../../../../src/networks/solana/rules/Programs.ts"
import { Ledger } from "../../../../src/server/ledger/Ledger.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import { memory } from "../../../server/ledger/Fixtures.ts"
import * as World from "./World.ts"

const { receiver, sol, transfer } = World

layerEach(memory)("a transfer", (it) => {
  it.effect("lands in the next block, and is confirmed when its slot is finalized", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const before = world.cluster.balanceOf(world.address)
      const [id] = yield* world.accept()
      yield* world.poll()
      assert.strictEqual((yield* world.transaction(id)).state, "submitted")
      yield* world.poll()
      const mined = yield* world.transaction(id)
      assert.strictEqual(mined.state, "mined")
      assert.strictEqual(mined.cause?.code, "mined_waiting")
      yield* world.finish
      const { attempts, cause, mined: final, state } = yield* world.transaction(id)
      assert.strictEqual(state, "confirmed")
      assert.strictEqual(cause?.code, "confirmed")
      assert.lengthOf(attempts, 1)
      assert.strictEqual(world.cluster.balanceOf(receiver), sol)
      assert.strictEqual(before - world.cluster.balanceOf(world.address), sol + (final?.receipt.paid ?? 0n))
    })
  )

  for (const [what, version] of [
    ["", {}],
    ["in version 1 ", { version: 1 }]
  ] as const) {
    it.effect(`${what}that nodes swallow is signed again after the proof, with a higher price, and lands once`, () =>
      Effect.gen(function* () {
        const world = yield* World.make()
        for (const node of world.nodes) node.prices = [100_000]
        const [id] = yield* world.accept({ ...transfer(world.address, sol), ...version })
        world.cluster.swallows = true
        yield* world.poll(30)
        assert.lengthOf((yield* world.transaction(id)).attempts, 1)
        yield* world.poll(12)
        world.cluster.swallows = false
        yield* world.finish
        const { attempts, state } = yield* world.transaction(id)
        assert.strictEqual(state, "confirmed")
        assert.lengthOf(attempts, 2)
        assert.isAbove(Number(attempts[1]?.offer.computeUnitPrice), Number(attempts[0]?.offer.computeUnitPrice))
        assert.strictEqual(world.cluster.successes(world.address), 1)
        const sent = [...world.cluster.sent.values()].map(({ message }) => feeOf(message).total)
        assert.deepStrictEqual(
          sent,
          attempts.map(({ maxFee }) => maxFee)
        )
        assert.isAbove(Number(sent[1]), Number(sent[0]))
      })
    )
  }

  it.effect("equal to another one has another signature, and both are executed", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const ids = yield* world.accept(World.transfer(world.address, sol), 3)
      yield* world.finish
      const hashes = new Set<string>()
      for (const id of ids) {
        const { attempts, state } = yield* world.transaction(id)
        assert.strictEqual(state, "confirmed")
        for (const { hash } of attempts) hashes.add(hash)
      }
      assert.strictEqual(hashes.size, 3)
      assert.strictEqual(world.cluster.balanceOf(receiver), 3n * sol)
    })
  )

  it.effect(
    "whose bytes a caller gets before they are committed is signed with the next blockhash, and lands once",
    () =>
      Effect.gen(function* () {
        const world = yield* World.make()
        const [id] = yield* world.accept()
        const ledger = yield* Ledger
        const context = yield* world.claim
        const { sign } = context.chain
        const given: Array<string> = []
        const giving: typeof sign = (unsigned) =>
          Effect.tap(sign(unsigned), ({ hash, raw }) => {
            if (given.length > 0) return Effect.void
            given.push(hash)
            const end = { lastHeight: world.cluster.blocks.length + 200 }
            return Effect.orDie(
              ledger.give(world.account, { identity: `message of ${hash}`, hash, raw, fee: 5000n, end })
            )
          })
        world.context = { ...context, chain: { ...context.chain, sign: giving } }
        yield* world.poll()
        assert.deepStrictEqual([given.length, (yield* world.transaction(id)).attempts.length], [1, 0])
        yield* world.finish
        const { attempts, state } = yield* world.transaction(id)
        assert.strictEqual(state, "confirmed")
        assert.lengthOf(attempts, 1)
        assert.notStrictEqual(attempts[0]?.hash, given[0])
        assert.strictEqual(world.cluster.balanceOf(receiver), sol)
      })
  )

  it.effect("is prepared while others are, with one blockhash, balance and price for all, and is no copy of them", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      const ids = yield* world.accept(transfer(world.address, sol / 100n), 20)
      yield* world.poll()
      assert.strictEqual(world.waiting.most.get("simulateTransaction"), ids.length)
      for (const method of ["getLatestBlockhash", "getBalance", "getRecentPrioritizationFees"]) {
        assert.isAtMost(
          world.nodes.reduce((sum, node) => sum + node.count(method), 0),
          3,
          method
        )
      }
      yield* world.finish
      assert.strictEqual(world.cluster.balanceOf(receiver), (sol / 100n) * BigInt(ids.length))
    })
  )

  it.effect("whose block is dropped is sent again, and has one effect", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      const [id] = yield* world.accept()
      yield* world.poll()
      yield* world.poll(1, 2)
      assert.strictEqual((yield* world.transaction(id)).state, "mined")
      world.cluster.reorg(2)
      yield* world.poll(1, 0)
      assert.strictEqual((yield* world.transaction(id)).state, "submitted")
      yield* world.finish
      const { attempts, state } = yield* world.transaction(id)
      assert.strictEqual(state, "confirmed")
      assert.lengthOf(attempts, 1)
      assert.strictEqual(world.cluster.balanceOf(receiver), sol)
    })
  )
})
