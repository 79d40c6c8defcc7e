// The random order by weight, over many draws.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Random } from "effect"
import { shuffle } from "../../../src/server/chains/Providers.ts"

const items = [
  { name: "a", weight: 60 },
  { name: "b", weight: 30 },
  { name: "c", weight: 10 },
  { name: "d", weight: 0 }
]

describe("an order by weight", () => {
  it.effect("puts each item first as often as its share, and omits weight 0", () =>
    Effect.gen(function* () {
      const draws = 20_000
      const orders = new Map<string, number>()
      for (let draw = 0; draw < draws; draw++) {
        const order = (yield* shuffle(items)).map(({ name }) => name).join("")
        orders.set(order, (orders.get(order) ?? 0) + 1)
      }
      const share = (prefix: string) =>
        [...orders].reduce((sum, [order, count]) => sum + (order.startsWith(prefix) ? count : 0), 0) / draws
      assert.closeTo(share("a"), 0.6, 0.01)
      assert.closeTo(share("b"), 0.3, 0.01)
      assert.closeTo(share("c"), 0.1, 0.01)
      // The shares of the second item are those of the weights without the first item.
      assert.closeTo(share("ab"), 0.6 * 0.75, 0.01)
      for (const order of orders.keys()) assert.lengthOf(order, 3)
    }).pipe(Random.withSeed("shares"))
  )
})
