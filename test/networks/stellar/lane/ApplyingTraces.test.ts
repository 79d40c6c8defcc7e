// Traces of stellar's state machine in the driver: what is applied is found once, and what is not is signed again only after a proof.
import { Effect } from "effect"
import { assert } from "@effect/vitest"
import { maxGuests } from "../../../../src/networks/stellar/rules/StellarNumbers.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import { addressEntry, call as callOf, invocation, keyNamed } from "../../../../testkit/stellar/Building.ts"
import { counterContract } from "../../../../testkit/stellar/Contracts.ts"
import { memory } from "../../../server/ledger/Fixtures.ts"
import * as World from "./World.ts"

const { receiver, xlm } = World

const had = 10n * xlm

layerEach(memory)("a payment", (it) => {
  it.effect("is confirmed by the ledger that has it, and the next one has the next sequence", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const before = world.sequence()
      const ids = yield* world.accept(World.payment(xlm), 3)
      yield* world.finish
      for (const [index, id] of ids.entries()) {
        const { attempts, cause, place, state } = yield* world.transaction(id)
        assert.strictEqual(state, "confirmed", cause?.code)
        assert.lengthOf(attempts, 1)
        assert.strictEqual(place?.sequence, before + BigInt(index) + 1n)
      }
      assert.strictEqual(world.balanceOf(receiver.publicKey()), had + 3n * xlm)
    })
  )

  it.effect("whose answer is lost is found by its hash, also by a process that remembers nothing", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [id] = yield* world.accept()
      const [node] = world.nodes
      if (node === undefined) return assert.fail("no node")
      node.faults.lost = { sendTransaction: "after" }
      yield* world.poll()
      assert.strictEqual((yield* world.transaction(id)).state, "signed")
      yield* world.claim
      node.faults.lost = {}
      yield* world.finish
      const { attempts, state } = yield* world.transaction(id)
      assert.strictEqual(state, "confirmed")
      assert.lengthOf(attempts, 1)
      assert.strictEqual(world.balanceOf(receiver.publicKey()), had + xlm)
    })
  )

  it.effect("whose bytes a node swallows is signed again at the same sequence after its death, and applied once", () =>
    Effect.gen(function* () {
      const { first, heal, id, world } = yield* World.losing
      yield* world.poll(14)
      heal()
      yield* world.finish
      const { attempts, place, state } = yield* world.transaction(id)
      assert.strictEqual(state, "confirmed")
      assert.lengthOf(attempts, 2)
      assert.strictEqual(place?.sequence, first)
      assert.strictEqual(world.balanceOf(receiver.publicKey()), had + xlm)
    })
  )

  it.effect("whose sequence something else used gets a new one, after the ledgers were read", () =>
    Effect.gen(function* () {
      const { first, heal, id, world } = yield* World.losing
      world.useSequence()
      heal()
      yield* world.finish
      const { attempts, place, requeues, state } = yield* world.transaction(id)
      assert.strictEqual(state, "confirmed")
      assert.lengthOf(attempts, 2)
      assert.strictEqual(place?.sequence, first + 1n)
      assert.strictEqual(requeues, 1)
      assert.strictEqual(world.balanceOf(receiver.publicKey()), had + xlm)
    })
  )

  it.effect("that is canceled while its envelope lives ends by the proof of its death, and has no effect", () =>
    Effect.gen(function* () {
      const { id, world } = yield* World.losing
      yield* world.cancel(id)
      yield* world.poll(5)
      assert.strictEqual((yield* world.transaction(id)).state, "signed")
      yield* world.finish
      assert.strictEqual((yield* world.transaction(id)).state, "canceled")
      assert.strictEqual(world.balanceOf(receiver.publicKey()), had)
    })
  )
})

layerEach(memory)("two providers", (it) => {
  it.effect("confirm together, while one of them is behind for some ledgers", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      const [id] = yield* world.accept()
      const [, second] = world.nodes
      if (second === undefined) return assert.fail("no node")
      second.faults.lag = 3
      yield* world.poll(3)
      assert.strictEqual((yield* world.transaction(id)).cause?.code, "second_provider_behind")
      yield* world.finish
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
    })
  )

  it.effect("of which one invents a success confirm nothing", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      // The liar shows the result of this one.
      yield* world.accept()
      yield* world.finish
      const [id] = yield* world.accept()
      yield* world.poll()
      // The nodes forget what they took.
      for (const queue of world.network.nodes) queue.restart()
      for (const { faults } of world.nodes) faults.lost = { sendTransaction: "before" }
      const { attempts } = yield* world.transaction(id)
      const [liar] = world.nodes
      if (liar === undefined) return assert.fail("no node")
      liar.faults.claimed = attempts.map(({ hash }) => hash)
      liar.faults.sequenceOffset = 1
      yield* world.poll(3)
      const { cause, state } = yield* world.transaction(id)
      assert.strictEqual(state, "submitted")
      assert.strictEqual(cause?.code, "providers_disagree")
      liar.faults.claimed = []
      liar.faults.sequenceOffset = 0
      for (const { faults } of world.nodes) faults.lost = {}
      yield* world.finish
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      assert.strictEqual(world.balanceOf(receiver.publicKey()), had + 2n * xlm)
    })
  )
})

layerEach(memory)("envelopes of users", (it) => {
  it.effect("are applied 64 in a ledger, each once, by the hash inside and outside, and one more waits", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const guests = Array.from({ length: maxGuests + 1 }, (_, index) => World.guestOf(world, `user ${index}`))
      const ids = yield* Effect.forEach(guests, ({ accept }) => accept)
      const [own] = guests
      // The first user has sent the envelope, too.
      world.network.submit(0, own?.text ?? "")
      yield* world.poll(1, 0)
      const { inFlight } = yield* world.contents
      assert.lengthOf(inFlight, maxGuests)
      yield* world.run
      const waiting = yield* world.transaction(ids.at(-1) ?? assert.fail())
      assert.deepStrictEqual([waiting.state, waiting.cause?.code], ["pending", "lane_window_full"])
      world.network.close()
      const applied = world.network.latest.transactions
      assert.lengthOf(applied, maxGuests)
      yield* world.finish
      assert.strictEqual(world.balanceOf(receiver.publicKey()), had + BigInt(guests.length) * xlm)
      const byOther = new Set<string>()
      for (const [index, id] of ids.entries()) {
        const { attempts, cause, mined, state } = yield* world.transaction(id)
        assert.deepStrictEqual([state, attempts.length], ["confirmed", 1], cause?.code)
        if (cause?.code === "executed_by_other") byOther.add(guests[index]?.innerHash ?? "")
        else assert.strictEqual(mined?.receipt.details.hash, attempts[0]?.hash)
      }
      assert.deepStrictEqual([...byOther], [own?.innerHash])
    })
  )

  it.effect("wait while a lower cap of the policy is below their fee, and are applied when it is raised", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const id = yield* World.guestOf(world, "user").accept
      world.relayer = world.relayerOf({ max_fee: 100 })
      yield* world.poll(2)
      const { attempts, cause, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, cause?.code, attempts.length], ["pending", "fee_above_cap", 0])
      assert.deepInclude(cause?.figures, { cap: 100n, fee: 200n })
      world.relayer = world.relayerOf({ max_fee: 200 })
      yield* world.finish
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
    })
  )
})

layerEach(memory)("calls of users", (it) => {
  it.effect("end before anything is signed if they declare far more resources than they need, or expire soon", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ policies: { max_fee: Number(200n * xlm) } })
      const costly = World.guestOf(world, "costly", [callOf("increment")], { resourceFee: 100n * xlm })
      const untilLedger = world.network.latest.number + 2
      const auth = [addressEntry(keyNamed("late"), invocation(counterContract, "increment"), untilLedger)]
      const late = World.guestOf(world, "late", [callOf("increment", [], { auth })], { resourceFee: 100_000n })
      const ids = [yield* costly.accept, yield* late.accept]
      yield* world.poll(2)
      const ends = yield* Effect.forEach(ids, (id) =>
        Effect.map(world.transaction(id), ({ attempts, cause, state }) => [state, cause?.code, attempts.length])
      )
      assert.deepStrictEqual(ends, [
        ["failed", "resource_fee_too_high", 0],
        ["failed", "auth_expired", 0]
      ])
    })
  )
})

layerEach(memory)("an envelope of a user", (it) => {
  it.effect("that its user also sends himself is confirmed without a fee of the relayer", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const { accept, text } = World.guestOf(world, "user")
      const [node] = world.nodes
      if (node === undefined) return assert.fail("no node")
      node.faults.lost = { sendTransaction: "before" }
      const id = yield* accept
      yield* world.poll()
      world.network.submit(0, text)
      yield* world.poll(2)
      node.faults.lost = {}
      yield* world.finish
      const { cause, mined, state } = yield* world.transaction(id)
      assert.strictEqual(state, "confirmed")
      assert.strictEqual(cause?.code, "executed_by_other")
      assert.strictEqual(mined?.receipt.paid, 0n)
      assert.strictEqual(world.balanceOf(world.address), 1000n * xlm)
    })
  )
})
