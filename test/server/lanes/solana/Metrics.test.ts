// What the metrics of a lane of solana say about bytes that die and are signed again.
import { assert } from "@effect/vitest"
import { Effect, Metric } from "effect"
import * as SolanaMetrics from "../../../../src/server/lanes/solana/SolanaMetrics.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import { ledger } from "../../ledger/Fixtures.ts"
import * as World from "./World.ts"

const [attempts, proofs] = SolanaMetrics.all

const looks = (result: SolanaMetrics.ProofResult) =>
  Effect.map(Metric.value(Metric.withAttributes(proofs, { result })), ({ count }) => Number(count))

const finished = Effect.map(Metric.value(attempts), ({ count, sum }) => ({ count, sum }))

layerEach(ledger)("the metrics of a lane of solana", (it) => {
  it.effect("count the looks that proved nothing and why, the proofs, and the signed versions", () =>
    Effect.gen(function* () {
      const before = { proved: yield* looks("proved"), statuses: yield* looks("statuses"), ...(yield* finished) }
      const world = yield* World.make({ providers: 2 })
      world.cluster.swallows = true
      const [, second] = world.nodes
      Object.assign(second ?? {}, { hasHistory: false })
      const [id] = yield* world.accept()
      yield* world.poll(40)
      assert.isAbove((yield* looks("statuses")) - before.statuses, 0)
      Object.assign(second ?? {}, { hasHistory: true })
      yield* world.poll(2)
      assert.isAtLeast((yield* looks("proved")) - before.proved, 2)
      world.cluster.swallows = false
      yield* world.finish
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      const after = yield* finished
      assert.deepStrictEqual([after.count - before.count, after.sum - before.sum], [1, 2])
    })
  )
})
