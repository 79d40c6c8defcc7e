// Traces of stellar in the driver while something is wrong outside of the service: each payment ends after the trouble, and has one effect.
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { assert } from "@effect/vitest"
import { StellarRelayer } from "../../../../src/domain/relayer/Relayer.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import { memory } from "../../../server/ledger/Fixtures.ts"
import * as World from "./World.ts"

const { receiver, xlm } = World

/** Stroops of the receiver before. */
const had = 10n * xlm

/** Milliseconds. */
const hour = 3_600_000

/** Milliseconds between two steps of a world. */
const ledgerTime = 5000

const inAnHour = { validUntil: hour }

type Made = Effect.Success<ReturnType<typeof World.make>>

const codeOf = (world: Made, id: Parameters<Made["transaction"]>[0]) =>
  Effect.map(world.transaction(id), ({ cause }) => cause?.code)

/** It is confirmed, and the receiver got so many XLM in all. */
const endsOnce = Effect.fnUntraced(function* (world: Made, id: Parameters<Made["transaction"]>[0], received = 1n) {
  yield* world.finish
  const found = yield* world.transaction(id)
  assert.strictEqual(found.state, "confirmed", found.cause?.code)
  assert.strictEqual(world.balanceOf(receiver.publicKey()), had + received * xlm)
  return found
})

layerEach(memory)("a payment on stellar", (it) => {
  it.effect("waits while the network closes no ledger, is not moved meanwhile, and ends after the halt", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [id] = yield* world.accept(World.payment(xlm), 1, inAnHour)
      yield* world.poll(1, 0)
      const first = (yield* world.transaction(id)).place
      // Longer than its envelope is valid by the clock.
      yield* world.poll(40, 0)
      assert.strictEqual(yield* codeOf(world, id), "ledger_stalled")
      assert.lengthOf((yield* world.transaction(id)).attempts, 1)
      const { attempts, place } = yield* endsOnce(world, id)
      assert.deepStrictEqual(place, first)
      assert.lengthOf(attempts, 2)
    })
  )

  it.effect("is not signed while the clock and the close times differ, whichever is wrong", () =>
    Effect.gen(function* () {
      // Close times are not below 0, also those of an hour ago.
      yield* TestClock.adjust("2 hours")
      const world = yield* World.make()
      const [id] = yield* world.accept(World.payment(xlm), 1, { validUntil: 4 * hour })
      for (const offset of [-hour / 1000, hour / 1000]) {
        for (const { faults } of world.nodes) faults.closeTimeOffset = offset
        yield* world.poll(3)
        const { attempts, cause } = yield* world.transaction(id)
        assert.strictEqual(cause?.code, "clock_skew")
        assert.isDefined(cause?.figures.close_time)
        assert.isDefined(cause?.figures.clock)
        assert.lengthOf(attempts, 0)
      }
      for (const { faults } of world.nodes) faults.closeTimeOffset = 0
      yield* endsOnce(world, id)
    })
  )

  it.effect("waits while its account does not exist, and goes on with the first poll that finds it", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ funds: 0n })
      const disabled_reason = { type: "SequenceSyncFailed", details: "the account does not exist" } as const
      world.relayer = StellarRelayer.make({ ...world.relayer, system_disabled: true, disabled_reason })
      const [id] = yield* world.accept(World.payment(xlm), 1, inAnHour)
      yield* world.poll()
      assert.strictEqual(yield* codeOf(world, id), "no_account")
      world.network.grant(world.address, 1000n * xlm)
      // The health check that enables the relayer has not run yet.
      yield* endsOnce(world, id)
    })
  )

  it.effect("waits while no provider answers, before and after its signature", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      world.away.add(0)
      const [id] = yield* world.accept(World.payment(xlm), 1, inAnHour)
      yield* world.poll(3)
      assert.strictEqual(yield* codeOf(world, id), "providers_unavailable")
      world.away.clear()
      yield* world.poll(1, 0)
      assert.lengthOf((yield* world.transaction(id)).attempts, 1)
      world.away.add(0)
      yield* world.poll(5)
      world.away.clear()
      yield* endsOnce(world, id)
    })
  )

  it.effect("is confirmed by both providers when the one that was away comes back", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      world.away.add(1)
      const [id] = yield* world.accept(World.payment(xlm), 1, inAnHour)
      yield* world.poll(12)
      const { cause, causeSince = 0, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, cause?.code], ["submitted", "second_provider_missing"])
      assert.strictEqual(cause?.figures.decides_at, causeSince + hour)
      world.away.clear()
      assert.isUndefined((yield* endsOnce(world, id)).confirmedBy)
    })
  )

  it.effect("is confirmed by the provider that is left at the moment that it names, and not before [46]", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      world.away.add(1)
      const [id] = yield* world.accept(World.payment(xlm), 1, { validUntil: 2 * hour })
      yield* world.poll(12)
      const { cause } = yield* world.transaction(id)
      const left = Number(cause?.figures.decides_at) - world.network.latest.closeTime * 1000
      yield* TestClock.adjust(left - 3 * ledgerTime)
      yield* world.poll(2)
      const waiting = yield* world.transaction(id)
      assert.deepStrictEqual([waiting.state, waiting.cause?.code], ["submitted", "second_provider_missing"])
      assert.strictEqual(waiting.cause?.figures.decides_at, cause?.figures.decides_at)
      yield* world.poll(3)
      assert.strictEqual((yield* endsOnce(world, id)).confirmedBy, 1)
    })
  )

  it.effect("gets a new sequence after each of three foreign uses of its key, and fails at the fourth", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [node] = world.nodes
      if (node === undefined) return assert.fail("no node")
      const [id] = yield* world.accept(World.payment(xlm), 1, inAnHour)
      node.faults.lost = { sendTransaction: "before" }
      for (let uses = 1; uses <= 4; uses++) {
        yield* world.poll()
        const { attempts, requeues } = yield* world.transaction(id)
        assert.deepStrictEqual([attempts.length, requeues], [uses, uses - 1])
        world.useSequence()
      }
      yield* world.poll(2)
      const { cause, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, cause?.code], ["failed", "nonce_taken_too_often"])
      assert.strictEqual(world.balanceOf(receiver.publicKey()), had)
    })
  )

  it.effect("waits for funds without a refusal of a node: what must stay on the account is never sent", () =>
    Effect.gen(function* () {
      // One XLM is the reserve of the network, and another one has to stay.
      const world = yield* World.make({ funds: 5n * xlm })
      const request = { ...World.payment(xlm), wait_for_funds: true }
      const ids = yield* world.accept(request, 3, inAnHour)
      const third = ids.at(-1) ?? ids[0]
      yield* world.poll(8)
      assert.strictEqual(yield* codeOf(world, third), "insufficient_funds")
      assert.lengthOf((yield* world.transaction(third)).attempts, 0)
      world.network.grant(world.address, xlm)
      const { attempts } = yield* endsOnce(world, third, 3n)
      assert.lengthOf(attempts, 1)
    })
  )

  it.effect("fails at once without funds if it is a top-up, which holds nothing of its payer", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ funds: 4n * xlm })
      const [topUp] = yield* world.accept({ ...World.payment(5n * xlm), fails_without_funds: true }, 1, inAnHour)
      const [next] = yield* world.accept(World.payment(xlm), 1, inAnHour)
      yield* world.poll(2)
      const { cause, state } = yield* world.transaction(topUp)
      assert.deepStrictEqual([state, cause?.code], ["failed", "insufficient_funds"])
      yield* endsOnce(world, next, 1n)
    })
  )

  it.effect("waits for an account that does not exist yet", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ funds: 0n })
      const [id] = yield* world.accept(World.payment(xlm), 1, inAnHour)
      yield* world.poll(2)
      assert.strictEqual(yield* codeOf(world, id), "no_account")
      world.network.grant(world.address, 10n * xlm)
      yield* endsOnce(world, id)
    })
  )

  it.effect("is not signed while its provider is on another network [35]", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [node] = world.nodes
      if (node === undefined) return assert.fail("no node")
      node.faults.passphrase = "Another network"
      const [id] = yield* world.accept(World.payment(xlm), 1, inAnHour)
      yield* world.poll(3)
      assert.strictEqual(yield* codeOf(world, id), "chain_changed")
      assert.lengthOf((yield* world.transaction(id)).attempts, 0)
      node.faults.passphrase = undefined
      yield* endsOnce(world, id)
    })
  )

  it.effect(
    "is not signed if both providers show that the test network was restarted, and one alone shows nothing",
    () =>
      Effect.gen(function* () {
        const world = yield* World.make({ providers: 2 })
        const [before] = yield* world.accept()
        yield* endsOnce(world, before)
        /** The sequence of the account begins two ledgers earlier, as after a restart of the test network. */
        const restart = (node: (typeof world.nodes)[number]) => {
          node.faults.sequenceOffset = -(2 ** 33)
        }
        const [honest, liar] = [world.nodes[0], world.nodes[1] ?? assert.fail("there is one node")]
        restart(liar)
        const [id] = yield* world.accept(World.payment(xlm), 1, inAnHour)
        yield* world.poll(1, 0)
        assert.notStrictEqual(yield* codeOf(world, id), "chain_changed")
        restart(honest)
        const [later] = yield* world.accept(World.payment(xlm), 1, inAnHour)
        yield* world.poll(3)
        assert.strictEqual(yield* codeOf(world, later), "chain_changed")
        assert.lengthOf((yield* world.transaction(later)).attempts, 0)
      })
  )
})
