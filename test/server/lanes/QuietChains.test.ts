// What transactions offer on chains with few others: what strangers paid for blocks with room does not become their price.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { TransactionId } from "../../../src/networks/core/TransactionValues.ts"
import type { Priced } from "../../../src/networks/evm/rules/Evm.ts"
import { maxFeeOf, tipOf } from "../../../src/networks/evm/rules/Market.ts"
import type { Fees } from "../../../src/networks/evm/rules/Market.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { memory } from "../ledger/Fixtures.ts"
import { gwei } from "./fake/Chain.ts"
import { hex } from "./fake/Hex.ts"
import * as World from "./fake/World.ts"

interface Fee {
  /** The tip in each of the last ten blocks, oldest first, and the share of their gas that was used. */
  readonly tips: ReadonlyArray<bigint>
  readonly used?: number
  readonly suggested: bigint
}

const result = (value: unknown) => () => ({ _tag: "Result" as const, value })

type Lane = Effect.Success<ReturnType<typeof World.make>>

/** What the only provider says about fees. `baseFees`: one more than blocks. */
const says = (
  { chain, nodes: [node] }: Lane,
  { tips, used = 0.001, suggested }: Fee,
  baseFees = Array(11).fill(gwei)
) => {
  const reward = tips.map((tip) => Array(8).fill(hex(tip)))
  const baseFeePerGas = baseFees.map((fee: bigint) => hex(fee))
  node?.lies.set("eth_feeHistory", () => ({
    _tag: "Result",
    value: {
      oldestBlock: hex(Math.max(chain.blocks.length - 10, 0)),
      baseFeePerGas,
      reward,
      gasUsedRatio: Array(10).fill(used)
    }
  }))
  node?.lies.set("eth_maxPriorityFeePerGas", result(hex(suggested)))
}

const isPriced = (offer: unknown): offer is Priced => typeof offer === "object" && offer !== null && "fees" in offer

const feesOf = (world: Lane, id: TransactionId) =>
  Effect.map(world.transaction(id), ({ attempts }): ReadonlyArray<Fees> =>
    attempts.flatMap(({ offer }) => (isPriced(offer) ? [offer.fees] : []))
  )

const tipsOf = (world: Lane, id: TransactionId) => Effect.map(feesOf(world, id), (all) => all.map(tipOf))

const nothing = Array<bigint>(10).fill(0n)

layerEach(memory)("on a quiet chain a transaction", (it) => {
  it.effect("pays the least that the node takes, although a stranger has paid 60 gwei", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      says(world, { tips: nothing.with(9, 60n * gwei), suggested: 1n })
      const [id] = yield* world.accept()
      yield* world.poll()
      assert.deepStrictEqual(yield* tipsOf(world, id), [1n])
    })
  )

  it.effect("pays what makers of blocks usually take, if the node suggests what a stranger has paid", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      says(world, { tips: nothing.fill(60n * gwei), suggested: 60n * gwei })
      const [id] = yield* world.accept()
      yield* world.poll()
      assert.deepStrictEqual(yield* tipsOf(world, id), [1_000_000n])
    })
  )

  it.effect("that blocks with room pass over pays the lowest tip that was enough, and so do those after it", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      says(world, {
        tips: Array(10)
          .fill(2n * gwei)
          .with(0, 1n),
        suggested: gwei
      })
      const [id] = yield* world.accept()
      const waits = Effect.fnUntraced(function* (blocks: number) {
        for (let block = 0; block < blocks; block++) {
          world.chain.include([])
          yield* world.poll()
        }
        return yield* tipsOf(world, id)
      })
      assert.deepStrictEqual(yield* waits(5), [1_000_000n])
      assert.deepStrictEqual(yield* waits(5), [1_000_000n, 2n * gwei])
      const [later] = yield* world.accept()
      yield* world.poll()
      assert.deepStrictEqual(yield* tipsOf(world, later), [2n * gwei])
    })
  )

  it.effect("that full blocks pass over leaves no trace in the price of those after it", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      says(world, { tips: nothing.fill(2n * gwei), used: 1, suggested: gwei })
      yield* world.accept()
      for (let block = 0; block < 10; block++) {
        world.chain.include([])
        yield* world.poll()
      }
      says(world, { tips: nothing.fill(3n * gwei), suggested: gwei })
      world.chain.include([])
      const [later] = yield* world.accept()
      yield* world.poll()
      assert.deepStrictEqual(yield* tipsOf(world, later), [1_000_000n])
    })
  )

  it.effect("does not pay the tips of full blocks if own transactions filled one of them", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      world.chain.gasLimit = 40_000
      says(world, { tips: nothing.fill(60n * gwei), used: 1, suggested: gwei })
      const [id] = yield* world.accept()
      yield* world.poll()
      assert.deepStrictEqual(yield* tipsOf(world, id), [60n * gwei])
      for (let block = 0; block < 2; block++) {
        world.chain.mine()
        yield* world.poll()
      }
      const [later] = yield* world.accept()
      yield* world.poll()
      assert.deepStrictEqual(yield* tipsOf(world, later), [1_000_000n])
    })
  )
})

/** The base fees of ten blocks. The history has no base fee of the block that comes next. */
const ofBlocks = Array<bigint>(10).fill(225n * gwei)

layerEach(memory)("on a chain whose fee history has no base fee of the next block, a transaction", (it) => {
  const policies = { gas_price_cap: 100n * gwei }
  const fee = { tips: nothing.with(9, 225n * gwei), suggested: 225n * gwei }

  /** A transaction that the base fee holds above the cap. `price` sets what the node says that the next block costs. */
  const heldByPrice = Effect.gen(function* () {
    const world = yield* World.make({ policies })
    says(world, fee, ofBlocks)
    const price = (base: bigint) => world.nodes[0]?.lies.set("eth_gasPrice", result(hex(225n * gwei + base)))
    price(150n * gwei)
    const [id] = yield* world.accept()
    yield* world.poll()
    assert.deepInclude((yield* world.transaction(id)).cause, { code: "gas_price_above_cap" })
    return { id, price, world }
  })

  it.effect("is not held by the base fee of the last block, and pays the least tip", () =>
    Effect.gen(function* () {
      const world = yield* World.make({ policies })
      says(world, fee, ofBlocks)
      world.nodes[0]?.lies.set("eth_gasPrice", result(hex(225n * gwei + 1n)))
      const [id] = yield* world.accept()
      yield* world.poll()
      assert.deepStrictEqual(yield* feesOf(world, id), [{ type: "eip1559", tip: 1n, maxFee: 3n }])
    })
  )

  it.effect("with given fees is not held as gas_price_below_base_fee by the base fee of the last block", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      says(world, fee, ofBlocks)
      world.nodes[0]?.lies.set("eth_gasPrice", result(hex(225n * gwei + 1n)))
      const fees = { max_fee_per_gas: 10n, max_priority_fee_per_gas: 1n }
      const request = { to: World.receiver, value: 1n, gas_limit: 21_000n, ...fees }
      const [id] = yield* world.accept(1, { request })
      yield* world.poll()
      assert.deepStrictEqual(yield* feesOf(world, id), [{ type: "eip1559", tip: 1n, maxFee: 10n }])
    })
  )

  it.effect("that is held is sent when the base fee has fallen, although no block came", () =>
    Effect.gen(function* () {
      const { id, price, world } = yield* heldByPrice
      price(50n * gwei)
      yield* world.poll(3)
      const [fees] = yield* feesOf(world, id)
      assert.strictEqual(fees && maxFeeOf(fees), 100n * gwei)
    })
  )

  it.effect("is sent after a read of fees that failed, although no block came", () =>
    Effect.gen(function* () {
      const { id, price, world } = yield* heldByPrice
      const busy = { _tag: "RpcError", code: -32005, message: "limit exceeded" } as const
      for (const method of ["eth_feeHistory", "eth_gasPrice"]) world.nodes[0]?.lies.set(method, () => busy)
      yield* world.poll(3)
      assert.deepInclude((yield* world.transaction(id)).cause, { code: "providers_unavailable" })
      says(world, fee, ofBlocks)
      price(50n * gwei)
      yield* world.poll(3)
      assert.strictEqual((yield* feesOf(world, id)).length, 1)
    })
  )
})
