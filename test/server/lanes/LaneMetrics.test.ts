// What the metrics of a lane say about a transaction that is bumped and then confirmed.
import { assert } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { evmLaneMetrics } from "../../../src/networks/evm/lane/EvmLane.ts"
import { metrics } from "../../../src/server/lanes/LaneSending.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { memory } from "../ledger/Fixtures.ts"
import { finish, sent } from "./fake/Scenes.ts"

/** A counter's value, or how many values a histogram has. */
const amountOf = (name: string, attributes: Record<string, string> = {}) =>
  Effect.gen(function* () {
    const metric = [...metrics, ...evmLaneMetrics].find(({ id }) => id === name) ?? assert.fail(name)
    const state: object = yield* Metric.value(Metric.withAttributes(metric as Metric.Metric<never, object>, attributes))
    return "count" in state ? Number(state.count) : 0
  })

const amounts = Effect.all({
  bumps: amountOf("transaction_signatures_total", { kind: "bump" }),
  originals: amountOf("transaction_signatures_total", { kind: "original" }),
  firstSends: amountOf("transaction_first_send_seconds"),
  confirmations: amountOf("transaction_confirmation_seconds"),
  confirmed: amountOf("transactions_final_total", { state: "confirmed" }),
  fees: amountOf("transaction_fees_paid_gwei_total")
})

layerEach(memory)("the metrics of a lane", (it) => {
  it.effect("count the signatures, the bumps, the fee, and the time to the first send and to the confirmation", () =>
    Effect.gen(function* () {
      const before = yield* amounts
      const { id, world } = yield* sent()
      world.chain.baseFee *= 40n
      for (let block = 0; block < 20 && (yield* world.transaction(id)).attempts.length < 2; block++) {
        world.chain.include([])
        yield* world.poll()
      }
      yield* finish(world)
      const { state, mined, attempts } = yield* world.transaction(id)
      assert.strictEqual(state, "confirmed")
      const { gasUsed = 0n, effectiveGasPrice = 0n } = mined?.receipt.details ?? {}
      const after = yield* amounts
      assert.strictEqual(after.originals - before.originals, 1)
      assert.strictEqual(after.bumps - before.bumps, attempts.length - 1)
      assert.isAtLeast(attempts.length, 2)
      assert.strictEqual(after.firstSends - before.firstSends, 1)
      assert.strictEqual(after.confirmations - before.confirmations, 1)
      assert.strictEqual(after.confirmed - before.confirmed, 1)
      assert.approximately(after.fees - before.fees, Number(gasUsed * effectiveGasPrice) / 1e9, 1e-6)
    })
  )
})
