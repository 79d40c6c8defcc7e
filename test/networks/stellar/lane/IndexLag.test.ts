// Payments on stellar while the transactions of a provider are behind its ledger number and its entries. The balance of the receiver on
// the ledger says how often each was made.
import { Effect } from "effect"
import { assert } from "@effect/vitest"
import { unseenPatience } from "../../../../src/networks/stellar/rules/StellarNumbers.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import { keyNamed } from "../../../../testkit/stellar/Building.ts"
import type { IndexLag } from "../../../../testkit/stellar/Provider.ts"
import { memory } from "../../../server/ledger/Fixtures.ts"
import * as World from "./World.ts"

const { receiver, xlm } = World

/** Stroops of the receiver before. */
const had = 10n * xlm

/** Milliseconds. */
const hour = 3_600_000

const inTime = { validUntil: 3 * hour }

type Made = Effect.Success<ReturnType<typeof World.make>>

const lags: ReadonlyArray<readonly [name: string, lag: IndexLag]> = [
  ["3 ledgers behind", { ledgers: 3 }],
  ["1 to 8 ledgers behind at random", { ledgers: 8, isRandom: true }],
  ["10 ledgers behind, and says so", { ledgers: 10, isHonest: true }],
  ["1 to 10 ledgers behind at random, and says so", { ledgers: 10, isRandom: true, isHonest: true }]
]

const setLags = ({ nodes }: Made, lags: ReadonlyArray<IndexLag | undefined>) => {
  for (const [index, { faults }] of nodes.entries()) faults.indexLag = lags[index]
}

const finishAll = (world: Made) => Effect.andThen(world.finish, Effect.andThen(world.finish, world.finish))

/** 12 payments: so many are made, and so many are confirmed. */
const twelve = Effect.fnUntraced(function* (world: Made) {
  const ids = yield* world.accept(World.payment(xlm), 12, inTime)
  yield* finishAll(world)
  const found = yield* Effect.forEach(ids, world.transaction)
  const confirmed = found.filter(({ state }) => state === "confirmed").length
  assert.deepStrictEqual([world.balanceOf(receiver.publicKey()) - had, confirmed], [12n * xlm, 12])
})

/** The keys of channels need the mark of the master key. */
layerEach(memory)("twelve payments are made twelve times and confirmed while the index of transactions is", (it) => {
  for (const [name, lag] of lags) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const world = yield* World.make()
        setLags(world, [lag])
        yield* twelve(world)
      })
    )
  }

  const random = { ledgers: 8, isRandom: true } as const

  it.effect("1 to 8 ledgers behind, by channels", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ policies: { channels: { count: 3 } } })
      setLags(world, [random])
      yield* world.settle
      yield* twelve(world)
    })
  )

  it.effect("1 to 8 ledgers behind at one of two providers", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      setLags(world, [undefined, random])
      yield* twelve(world)
    })
  )

  it.effect("1 to 8 ledgers behind at two URLs of one gateway", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ providers: 2 })
      setLags(world, [random, random])
      yield* twelve(world)
    })
  )
})

layerEach(memory)("while the index of transactions is behind", (it) => {
  const behind = { ledgers: 5 } as const

  const waits = Effect.fnUntraced(function* (world: Made, id: Parameters<Made["transaction"]>[0], attempts: number) {
    const found = yield* world.transaction(id)
    assert.deepStrictEqual([found.cause?.code, found.attempts.length], ["landing_unproven", attempts])
  })

  it.effect("a payment whose sequence something else used gets a new one when that transaction is shown", () =>
    Effect.gen(function* () {
      const { first, heal, id, world } = yield* World.losing
      setLags(world, [behind])
      world.useSequence()
      heal()
      yield* world.poll(5)
      yield* waits(world, id, 1)
      yield* world.finish
      const { place, requeues, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, place?.sequence, requeues], ["confirmed", first + 1n, 1])
      assert.strictEqual(world.balanceOf(receiver.publicKey()), had + xlm)
    })
  )

  it.effect("a payment that is canceled after it was applied is not ended as canceled", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      setLags(world, [behind])
      const [id] = yield* world.accept()
      yield* world.poll(2)
      yield* world.cancel(id)
      yield* world.poll(3)
      yield* waits(world, id, 1)
      yield* world.finish
      const { cause, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, cause?.code], ["confirmed", "executed_late"])
    })
  )

  it.effect("an envelope that its user sent himself is confirmed when it is shown, and nothing is signed for it", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      setLags(world, [behind])
      const { accept, text } = World.guestOf(world, "user")
      world.network.submit(0, text)
      world.network.close()
      const id = yield* accept
      yield* world.poll(3)
      yield* waits(world, id, 0)
      yield* world.finish
      const { cause, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, cause?.code], ["confirmed", "executed_by_other"])
      assert.strictEqual(world.balanceOf(receiver.publicKey()), had + xlm)
    })
  )

  it.effect("an envelope whose user used its sequence has failed when the other transaction is shown", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      setLags(world, [behind])
      const { accept } = World.guestOf(world, "user")
      world.network.useSequence(keyNamed("user").publicKey())
      world.network.close()
      const id = yield* accept
      yield* world.poll(3)
      yield* waits(world, id, 0)
      yield* world.finish
      const { cause, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, cause?.code], ["failed", "sequence_used"])
      assert.strictEqual(
        cause?.figures.hash,
        world.network.ledgers.flatMap(({ transactions }) => transactions)[0]?.hash
      )
    })
  )

  it.effect("for long, a payment is for an operator, is not signed again, and is confirmed when it is shown", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      setLags(world, [{ ledgers: 1_000_000 }])
      const [id] = yield* world.accept(World.payment(xlm), 1, inTime)
      yield* world.poll(3)
      const until = (yield* world.transaction(id)).cause?.figures.until
      yield* waits(world, id, 1)
      yield* world.poll(unseenPatience / 5000)
      const { attempts, cause, causeSince } = yield* world.transaction(id)
      assert.deepStrictEqual([cause?.code, attempts.length], ["nonce_taken_unproven", 1])
      assert.strictEqual(causeSince, until)
      setLags(world, [])
      yield* world.finish
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      assert.strictEqual(world.balanceOf(receiver.publicKey()), had + xlm)
    })
  )
})
