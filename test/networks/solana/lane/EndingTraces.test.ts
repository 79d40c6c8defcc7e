// Traces of ends: deadlines, cancels, crashes, and processes that lose the lane. The numbers are those of the table in README.md of
// this folder.
import { Effect } from "effect"
import { assert } from "@effect/vitest"
import * as LaneStep from "../../../../src/server/lanes/LaneStep.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import { memory } from "../../../server/ledger/Fixtures.ts"
import { endsAs, prebuilt, shown, signedMemo } from "./Ends.ts"
import * as World from "./World.ts"

const { memo, receiver, sol } = World

const second = 1000

layerEach(memory)("a process that dies", (it) => {
  const points = [
    ["3", "committed", 1, 1],
    ["4", "sent", 1, 1],
    ["4b", "seen", 1, 1],
    // The signature that was not committed is in the log of a remote signer, and nowhere else.
    ["5", "signed", 0, 2]
  ] as const
  for (const [number, point, attempts, signatures] of points) {
    it.effect(`${number}: at "${point}" leaves one effect and one signature on the chain`, () =>
      Effect.gen(function* () {
        const world = yield* World.make()
        const [id] = yield* world.accept()
        if (point === "seen") yield* world.poll()
        yield* world.dieAt(point)
        assert.lengthOf((yield* world.transaction(id)).attempts, attempts)
        yield* endsAs(world, id, "confirmed", "confirmed", 1)
        assert.strictEqual(world.signatures(), signatures)
        assert.strictEqual(world.cluster.sent.size, 1)
        assert.strictEqual(world.cluster.balanceOf(receiver), sol)
      })
    )
  }

  it.effect('4c: at "sent" sends the same bytes again, because those that it has sent may be lost', () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [id] = yield* world.accept()
      world.cluster.swallows = true
      assert.isTrue(yield* world.dieAt("sent"))
      world.cluster.swallows = false
      yield* endsAs(world, id, "confirmed", "confirmed", 1)
      assert.strictEqual(world.cluster.sent.size, 1)
      assert.strictEqual(world.cluster.balanceOf(receiver), sol)
    })
  )

  it.effect("after a refresh was committed leaves two attempts, of which the newer one is sent", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [id] = yield* world.accept()
      world.cluster.swallows = true
      yield* world.poll(36)
      assert.lengthOf((yield* world.transaction(id)).attempts, 1)
      for (let round = 0; round < 15; round++) if (yield* world.dieAt("committed")) break
      assert.lengthOf((yield* world.transaction(id)).attempts, 2)
      world.cluster.swallows = false
      yield* endsAs(world, id, "confirmed", "confirmed", 2)
      assert.strictEqual(world.cluster.balanceOf(receiver), sol)
    })
  )

  it.effect("does not sign a refresh that a cancel overtakes between the decision and the commit", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [id] = yield* world.accept()
      world.cluster.swallows = true
      yield* world.poll(36)
      const cancel = Effect.orDie(world.cancel(id))
      for (let round = 0; round < 15; round++) {
        yield* world.stepWith("signed", cancel)
        if ((yield* world.transaction(id)).intent === "cancel") break
      }
      assert.deepStrictEqual(yield* shown(world, id), ["submitted", "canceling", 1])
      assert.strictEqual(world.cluster.sent.size, 1)
      yield* endsAs(world, id, "canceled", "canceled", 1)
      assert.strictEqual(world.cluster.sent.size, 1)
    })
  )

  it.effect("after a proof was seen makes the proof again", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [id] = yield* world.accept(memo("dead"), 1, { validUntil: 20 * second })
      world.cluster.swallows = true
      yield* world.poll(36)
      for (let round = 0; round < 3; round++) assert.isTrue(yield* world.dieAt("seen"))
      yield* endsAs(world, id, "expired", "deadline_passed", 1)
    })
  )

  it.effect("26: or freezes beyond its lease commits nothing afterwards, and sends only what was committed", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [id] = yield* world.accept()
      world.cluster.swallows = true
      yield* world.poll(30)
      const frozen = world.context ?? assert.fail("no lane is held")
      yield* world.claim
      yield* world.poll(20)
      assert.lengthOf((yield* world.transaction(id)).attempts, 2)
      const thawed = yield* Effect.flip(LaneStep.run(frozen))
      assert.strictEqual(thawed._tag, "LaneLost")
      world.cluster.swallows = false
      yield* endsAs(world, id, "confirmed", "confirmed", 2)
      assert.strictEqual(world.cluster.balanceOf(receiver), sol)
    })
  )

  it.effect("does not make the next one sign equal requests with one signature in the same blockhash", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [one] = yield* world.accept(memo("equal"))
      yield* world.poll()
      const [other] = yield* world.accept(memo("equal"))
      yield* world.claim
      yield* world.poll(1, 0)
      const hashes = [one, other].map((id) => Effect.map(world.transaction(id), ({ attempts }) => attempts[0]))
      const [first, second] = yield* Effect.all(hashes)
      assert.strictEqual(first?.offer.blockhash, second?.offer.blockhash)
      assert.notStrictEqual(first?.hash, second?.hash)
    })
  )
})

layerEach(memory)("an end", (it) => {
  it.effect("18: after the deadline is `executed_late` if the bytes land", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [id] = yield* world.accept(memo("late"), 1, { validUntil: 5 * second })
      world.cluster.swallows = true
      yield* world.poll(4)
      assert.strictEqual((yield* world.transaction(id)).state, "submitted")
      world.cluster.swallows = false
      yield* endsAs(world, id, "confirmed", "executed_late", 1)
    })
  )

  it.effect("19: by the deadline waits for the proof that the bytes are dead", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [id] = yield* world.accept(memo("never"), 1, { validUntil: 5 * second })
      world.cluster.swallows = true
      yield* world.poll(30)
      assert.strictEqual((yield* world.transaction(id)).state, "submitted")
      yield* endsAs(world, id, "expired", "deadline_passed", 1)
    })
  )

  it.effect("20: by a cancel of a pending transaction is at once, and nothing is sent", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [id] = yield* world.accept()
      yield* world.cancel(id)
      assert.deepStrictEqual(yield* shown(world, id), ["canceled", "canceled", 0])
      assert.strictEqual(world.cluster.sent.size, 0)
    })
  )

  it.effect("21: by a cancel after the send is that of the chain if the bytes land", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [id] = yield* world.accept()
      yield* world.poll()
      yield* world.cancel(id)
      yield* endsAs(world, id, "confirmed", "confirmed", 1)
      assert.strictEqual((yield* world.transaction(id)).intent, "cancel")
    })
  )

  it.effect("22: by a cancel after the send is `canceled` after the proof, without new bytes", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [id] = yield* world.accept()
      world.cluster.swallows = true
      yield* world.poll()
      yield* world.cancel(id)
      yield* world.poll(20)
      assert.strictEqual((yield* world.transaction(id)).state, "submitted")
      yield* endsAs(world, id, "canceled", "canceled", 1)
    })
  )

  it.effect(
    "23: of bytes whose blockhash may not be exchanged is `blockhash_expired`, and they are never changed",
    () =>
      Effect.gen(function* () {
        const world = yield* World.make()
        const { request } = yield* signedMemo(world, "fixed")
        const [id] = yield* world.accept(request, 1, prebuilt)
        world.cluster.swallows = true
        yield* world.poll(2)
        yield* endsAs(world, id, "expired", "blockhash_expired", 1)
        assert.strictEqual(world.cluster.sent.size, 1)
      })
  )

  it.effect("17: is not `failed` while the error is not finalized", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [id] = yield* world.accept()
      yield* world.poll()
      const [node] = world.nodes
      node?.lies.set("getSignatureStatuses", () => ({
        result: {
          context: { slot: 60 },
          value: [
            { slot: 60, confirmations: 0, err: { InstructionError: [0, "Custom"] }, confirmationStatus: "processed" }
          ]
        }
      }))
      yield* world.poll(2)
      assert.deepStrictEqual(yield* shown(world, id), ["submitted", "failed_unconfirmed", 1])
      node?.lies.clear()
      yield* endsAs(world, id, "confirmed", "confirmed", 1)
    })
  )
})
