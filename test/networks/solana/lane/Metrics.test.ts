// What the metrics of a lane of solana say about bytes that die and are signed again.
import { Effect, Metric } from "effect"
import { assert } from "@effect/vitest"
import { solanaMetrics } from "../../../../src/networks/solana/lane/SolanaPolls.ts"
import type { ProofResult } from "../../../../src/networks/solana/lane/SolanaPolls.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import { memory } from "../../../server/ledger/Fixtures.ts"
import * as World from "./World.ts"

const [attempts, proofs, landed] = solanaMetrics

const looks = (result: ProofResult) =>
  Effect.map(Metric.value(Metric.withAttributes(proofs, { result })), ({ count }) => Number(count))

/** The tests insert transactions with this key. */
const landedOf = (result: "success" | "failed") =>
  Effect.map(Metric.value(Metric.withAttributes(landed, { key_id: "key", result })), ({ count }) => Number(count))

const finished = Effect.map(Metric.value(attempts), ({ count, sum }) => ({ count, sum }))

layerEach(memory)("the metrics of a lane of solana", (it) => {
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

  it.effect("count by API key what landed with success and what failed, so that a board shows the failed share", () =>
    Effect.gen(function* () {
      const before = [yield* landedOf("success"), yield* landedOf("failed")]
      const world = yield* World.make()
      yield* world.accept(World.memo("lands"))
      const { run } = world.cluster
      yield* world.finish
      // It succeeds in the simulation, and fails in a block.
      const [failing] = yield* world.accept(World.memo("fails"))
      yield* world.poll(1, 0)
      world.cluster.run = (accounts, transaction) => ({ ...run(accounts, transaction), error: "AccountNotFound" })
      yield* world.finish
      assert.strictEqual((yield* world.transaction(failing)).cause?.code, "failed_on_chain")
      const after = [yield* landedOf("success"), yield* landedOf("failed")]
      assert.deepStrictEqual(
        after.map((count, index) => count - (before[index] ?? 0)),
        [1, 1]
      )
    })
  )
})
