// A provider that asks for far too high fees: what it can make a transaction offer.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { tipOf } from "../../../src/domain/transaction/evm/Fees.ts"
import type { Priced } from "../../../src/domain/transaction/evm/Evm.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { ledger } from "../ledger/Fixtures.ts"
import { gwei } from "./fake/Chain.ts"
import { hex } from "./fake/Hex.ts"
import * as World from "./fake/World.ts"

const tip = 1_000_000n * gwei

const lie = {
  _tag: "Result" as const,
  value: { baseFeePerGas: Array(11).fill(hex(gwei)), reward: [Array(4).fill(hex(tip))] }
}

const isPriced = (offer: unknown): offer is Priced => typeof offer === "object" && offer !== null && "fees" in offer

/** The priority fee in gwei of the first attempt, with this many providers, of which the first lies. */
const offered = Effect.fnUntraced(function* (providers: number) {
  const world = yield* World.make({ providers })
  world.chain.balance = 10n ** 30n
  world.nodes[0]?.lies.set("eth_feeHistory", () => lie)
  const [id] = yield* world.accept()
  yield* world.poll()
  const [attempt] = (yield* world.transaction(id)).attempts
  return isPriced(attempt?.offer) ? tipOf(attempt.offer.fees) / gwei : undefined
})

layerEach(ledger)("a provider that asks for a priority fee of 1,000,000 gwei", (it) => {
  it.effect("is not believed if a second one names less", () =>
    Effect.map(offered(2), (found) => assert.strictEqual(found, 1n))
  )

  it.effect("that is the only one gets 100 gwei", () =>
    Effect.map(offered(1), (found) => assert.strictEqual(found, 100n))
  )
})
