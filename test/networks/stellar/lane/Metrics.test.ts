// What the metrics of stellar lanes say about fees, answers of nodes, dead envelopes and foreign use.
import { Effect, Metric } from "effect"
import { assert } from "@effect/vitest"
import { Keypair } from "@stellar/stellar-sdk/base"
import { stellarMetrics } from "../../../../src/networks/stellar/lane/StellarUpkeep.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import { envelope, payment } from "../../../../testkit/stellar/Building.ts"
import { memory } from "../../../server/ledger/Fixtures.ts"
import * as World from "./World.ts"

/** The key of the relayer. */
const ownKey = Keypair.fromRawEd25519Seed(Buffer.alloc(32, 0x42))

const valueOf = (name: string, attributes: Record<string, string> = {}) =>
  Effect.gen(function* () {
    const metric = stellarMetrics.find(({ id }) => id === `stellar_${name}`) ?? assert.fail(name)
    const state: object = yield* Metric.value(Metric.withAttributes(metric as Metric.Metric<never, object>, attributes))
    return "count" in state ? Number(state.count) : "value" in state ? Number(state.value) : 0
  })

const values = Effect.all({
  bid: valueOf("fees_bid_stroops_total"),
  charged: valueOf("fees_charged_stroops_total"),
  dead: valueOf("envelopes_dead_total"),
  taken: valueOf("sequences_taken_total"),
  pending: valueOf("sends_total", { answer: "pending" }),
  unknown: valueOf("sends_total", { answer: "unknown" }),
  later: valueOf("sends_total", { answer: "try_again_later" })
})

const during = <A, E, R>(run: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const before = yield* values
    yield* run
    const after = yield* values
    return {
      bid: after.bid - before.bid,
      charged: after.charged - before.charged,
      dead: after.dead - before.dead,
      taken: after.taken - before.taken,
      pending: after.pending - before.pending,
      unknown: after.unknown - before.unknown,
      later: after.later - before.later
    }
  })

layerEach(memory)("the metrics of a stellar lane", (it) => {
  it.effect("count what was bid and charged, and show the age of the newest ledger", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      yield* world.accept(World.payment(World.xlm), 2)
      const counted = yield* during(world.finish)
      assert.deepStrictEqual(counted, { bid: 200, charged: 200, dead: 0, taken: 0, pending: 2, unknown: 0, later: 0 })
      yield* world.accept()
      yield* world.poll(1, 0)
      assert.strictEqual(yield* valueOf("ledger_age_seconds", { network: "local" }), 5)
    })
  )

  it.effect("count sends that a node takes only later, because it has another envelope of the account", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const sequence = world.sequence() + 1n
      const maxTime = world.network.latest.closeTime + 100
      const foreign = envelope(ownKey, [payment(World.receiver, 1n)], { sequence, maxTime })
      world.network.submit(0, foreign)
      yield* world.accept()
      const counted = yield* during(world.poll(1, 0))
      assert.deepStrictEqual([counted.pending, counted.later], [0, 1])
    })
  )

  it.effect("show how many channels there are, and on how many a transaction has a place", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ policies: { channels: { count: 3 } } })
      yield* world.settle
      yield* world.accept(World.payment(World.xlm), 2)
      yield* world.poll(1, 0)
      yield* world.upkeep
      assert.deepStrictEqual(
        [yield* valueOf("channels", { state: "ready" }), yield* valueOf("channel_places_in_use")],
        [3, 2]
      )
    })
  )

  it.effect("count envelopes that died, and sequences that something else has used", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [node] = world.nodes
      if (node === undefined) return assert.fail("no node")
      const counted = yield* during(
        Effect.gen(function* () {
          yield* world.accept()
          node.faults.lost = { sendTransaction: "before" }
          yield* world.poll()
          world.useSequence()
          node.faults.lost = {}
          yield* world.finish
        })
      )
      assert.deepStrictEqual([counted.dead, counted.taken, counted.pending], [1, 1, 1])
      assert.isAtLeast(counted.unknown, 1)
    })
  )
})
