// Beginnings and passages that many traces share.
import { assert } from "@effect/vitest"
import { faultless } from "./Driver.ts"
import type { Faults } from "./Driver.ts"
import { watch } from "./Invariants.ts"
import { fair } from "./Reader.ts"
import { begin, fairRound, take } from "./Steps.ts"
import type { Step } from "./Steps.ts"
import { transactionOf } from "./World.ts"
import type { World } from "./World.ts"

/** Everything as it should be. */
const noFaults: Extract<Step, { readonly do: "Assign" }>["faults"] = {
  isLiarFirst: false,
  lag: 0,
  countLie: 0,
  hidesReceipts: false,
  crash: 0,
  honestNode: 0,
  lyingNode: 0,
  lie: 0
}

/** A lane whose first request, number 1 at nonce 0, is in the pool. */
export const sent = (over: Parameters<typeof begin>[0] = {}): World => {
  const world = begin(over)
  take(world, { do: "Assign", faults: noFaults }, watch)
  assert.strictEqual(transactionOf(world, 1).state, "submitted")
  return world
}

export const reading = (over: Partial<Faults["reading"]>): Faults => ({ ...faultless, reading: { ...fair, ...over } })

/** Empty blocks. */
export const blocks = (world: World, count: number): void => take(world, { do: "Block", count }, watch)

/** Fair looks at everything, and a block that takes what the pool has after each. */
export const rounds = (world: World, count: number): void => {
  for (let round = 0; round < count; round++) fairRound(world, watch)
}
