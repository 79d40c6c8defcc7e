// Envelopes that callers got signed, in the driver: payments wait for their sequence, and they are no foreign use of the key.
import { Effect } from "effect"
import { assert } from "@effect/vitest"
import { Keypair } from "@stellar/stellar-sdk/base"
import { endOfGiven } from "../../../../src/networks/stellar/rules/StellarTerms.ts"
import { Ledger } from "../../../../src/server/ledger/Ledger.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import { envelope, payment as paid } from "../../../../testkit/stellar/Building.ts"
import { memory } from "../../../server/ledger/Fixtures.ts"
import * as World from "./World.ts"

const { receiver, xlm } = World

const key = Keypair.fromRawEd25519Seed(Buffer.alloc(32, 0x42))

/** Seconds. */
const validity = 100

/** An envelope of the relayer at its next sequence, which the ledger knows as one that a caller got. */
const give = Effect.fnUntraced(function* (world: Effect.Success<ReturnType<typeof World.make>>) {
  const sequence = world.sequence() + 1n
  const maxTime = world.network.latest.closeTime + validity
  const text = envelope(key, [paid(receiver, xlm)], { sequence, maxTime })
  const hash = world.hashOf(text)
  yield* (yield* Ledger).give(world.account, {
    identity: hash,
    hash,
    raw: Buffer.from(text, "base64"),
    fee: 100n,
    outflow: xlm,
    sequence,
    end: { validUntil: endOfGiven(BigInt(maxTime)) }
  })
  return { hash, sequence, text }
})

const had = 10n * xlm

layerEach(memory)("an envelope that a caller got signed", (it) => {
  it.effect("makes payments wait for its sequence, names its hash, and is followed by the next one", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      assert.strictEqual(key.publicKey(), world.address)
      const { hash, sequence, text } = yield* give(world)
      const [id] = yield* world.accept()
      yield* world.poll(2)
      const { attempts, cause } = yield* world.transaction(id)
      assert.lengthOf(attempts, 0)
      assert.deepStrictEqual([cause?.code, cause?.figures.hash], ["lane_window_full", hash])
      world.network.submit(0, text)
      yield* world.finish
      const { place, requeues, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, place?.sequence, requeues], ["confirmed", sequence + 1n, 0])
      assert.strictEqual(world.balanceOf(receiver.publicKey()), had + 2n * xlm)
    })
  )

  it.effect("that is never sent leaves its sequence to the next payment when it is dead", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const { sequence } = yield* give(world)
      const [id] = yield* world.accept(World.payment(xlm), 1, { validUntil: 3_600_000 })
      yield* world.poll(validity / 5)
      assert.strictEqual((yield* world.transaction(id)).state, "pending")
      yield* world.finish
      const { place, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, place?.sequence], ["confirmed", sequence])
    })
  )

  it.effect("that uses the sequence of a payment moves it on without being counted as foreign use", () =>
    Effect.gen(function* () {
      const { first, heal, id, world } = yield* World.losing
      const { text } = yield* give(world)
      world.network.submit(0, text)
      heal()
      yield* world.finish
      const { place, requeues, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, place?.sequence, requeues], ["confirmed", first + 1n, 0])
      assert.strictEqual(world.balanceOf(receiver.publicKey()), had + 2n * xlm)
    })
  )
})
