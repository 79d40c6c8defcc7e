// A provider that asks for far too high fees: what it can make a transaction offer.
import { assert } from "@effect/vitest"
import { Effect, Logger, Metric } from "effect"
import * as EvmMarkets from "../../../src/networks/evm/chain/EvmMarkets.ts"
import type { Priced } from "../../../src/networks/evm/rules/Evm.ts"
import { maxFeeOf, tipOf } from "../../../src/networks/evm/rules/Market.ts"
import { grow } from "../../../src/testkit/chain/Blocks.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { memory } from "../ledger/Fixtures.ts"
import { gwei } from "./fake/Chain.ts"
import { hex } from "./fake/Hex.ts"
import * as World from "./fake/World.ts"

const tip = 1_000_000n * gwei

const lie = {
  _tag: "Result" as const,
  value: { baseFeePerGas: Array(11).fill(hex(gwei)), reward: [Array(8).fill(hex(tip))] }
}

const cutsSoFar = Effect.map(
  Effect.forEach(EvmMarkets.metrics, (metric) => Metric.value(metric)),
  (counters) => counters.reduce((sum, { count }) => sum + count, 0)
)

const isPriced = (offer: unknown): offer is Priced => typeof offer === "object" && offer !== null && "fees" in offer

/** The offers of the first attempts, one after the other, on a chain without EIP-1559, whose first provider lies from the second one on. */
const legacyOffers = Effect.fnUntraced(function* (providers: number) {
  const world = yield* World.make({ providers, network: { features: [] } })
  world.chain.balance = 10n ** 30n
  for (const { lies } of world.nodes) {
    lies.set("eth_feeHistory", () => ({ _tag: "Result", value: { baseFeePerGas: [], reward: [] } }))
    lies.set("eth_gasPrice", () => ({ _tag: "Result", value: hex(gwei) }))
  }
  const offers: Array<bigint | undefined> = []
  for (const price of [gwei, tip]) {
    world.nodes[0]?.lies.set("eth_gasPrice", () => ({ _tag: "Result", value: hex(price) }))
    const [id] = yield* world.accept()
    for (let block = 0; block < 2; block++) {
      world.chain.mine()
      yield* world.poll()
    }
    const [attempt] = (yield* world.transaction(id)).attempts
    offers.push(isPriced(attempt?.offer) ? maxFeeOf(attempt.offer.fees) : undefined)
  }
  return offers
})

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

layerEach(memory)("a provider that asks for a priority fee of 1,000,000 gwei", (it) => {
  it.effect("is not believed if a second one names less", () =>
    Effect.map(offered(2), (found) => assert.strictEqual(found, 1n))
  )

  it.effect("that is the only one gets 100 gwei", () =>
    Effect.map(offered(1), (found) => assert.strictEqual(found, 100n))
  )
})

/** How often a warning about fees that are cut was logged, and in how many blocks fees were cut, in three blocks with this answer. */
const cuts = Effect.fnUntraced(function* (isLying: boolean) {
  const messages: Array<unknown> = []
  const collecting = Logger.layer([Logger.make(({ message }) => void messages.push(message))])
  const before = yield* cutsSoFar
  const world = yield* World.make()
  if (isLying) world.nodes[0]?.lies.set("eth_feeHistory", () => lie)
  yield* world.accept()
  for (let block = 0; block < 3; block++) {
    world.chain.blocks = grow(world.chain.blocks)
    yield* Effect.provide(world.poll(), collecting)
  }
  const warnings = messages.flat().filter((message) => String(message).includes("asks for fees above the limit"))
  return [warnings.length, (yield* cutsSoFar) - before]
})

layerEach(memory)("fees above the limit", (it) => {
  it.effect("are one warning as long as a provider asks for them, and count in each block", () =>
    Effect.map(cuts(true), (found) => assert.deepStrictEqual(found, [1, 3]))
  )

  it.effect("are neither if no provider asks for them", () =>
    Effect.map(cuts(false), (found) => assert.deepStrictEqual(found, [0, 0]))
  )
})

layerEach(memory)("a provider of a legacy chain that asks for a gas price of 1,000,000 gwei", (it) => {
  it.effect("is not believed if a second one names less", () =>
    Effect.map(legacyOffers(2), ([honest, lied]) => assert.strictEqual(lied, honest))
  )

  it.effect("that is the only one gets four times what it has named before", () =>
    Effect.map(legacyOffers(1), ([honest = 0n, lied]) => assert.strictEqual(lied, 4n * honest))
  )
})

/** What a transaction of the speed `fast` offers at a gas price of one gwei. */
const fastPrice = (15n * gwei) / 10n

/** A legacy chain without other transactions, whose only provider names these gas prices, one in each block. */
const legacy = Effect.fnUntraced(function* () {
  const world = yield* World.make({ network: { features: [] } })
  const [node] = world.nodes
  world.chain.balance = 10n ** 30n
  node?.lies.set("eth_feeHistory", () => ({ _tag: "Result", value: { baseFeePerGas: [], reward: [] } }))
  const [id] = yield* world.accept()
  const offer = Effect.map(world.transaction(id), ({ attempts: [attempt], cause }) =>
    isPriced(attempt?.offer) ? maxFeeOf(attempt.offer.fees) : cause
  )
  const names = (price: bigint) => node?.lies.set("eth_gasPrice", () => ({ _tag: "Result", value: hex(price) }))
  return { world, offer, names }
})

layerEach(memory)("the first gas price that the only provider of a legacy chain names", (it) => {
  it.effect("is not offered before another block, and then only if that one has no lower price", () =>
    Effect.gen(function* () {
      const { names, offer, world } = yield* legacy()
      names(tip)
      yield* world.poll(3)
      assert.deepStrictEqual(yield* offer, { code: "providers_unavailable", figures: { price: tip } })
      world.chain.blocks = grow(world.chain.blocks)
      names(gwei)
      yield* world.poll()
      assert.strictEqual(yield* offer, fastPrice)
    })
  )

  it.effect(
    "is offered after ten seconds without another block, because such chains make blocks for transactions alone",
    () =>
      Effect.gen(function* () {
        const { names, offer, world } = yield* legacy()
        names(gwei)
        yield* world.poll(10)
        assert.deepStrictEqual(yield* offer, { code: "providers_unavailable", figures: { price: gwei } })
        yield* world.poll()
        assert.strictEqual(yield* offer, fastPrice)
      })
  )
})
