// The invariants of the state machine over random sequences of everything that can happen.
import { assert, describe, it } from "@effect/vitest"
import { isFinal } from "../../../src/domain/transaction/Transaction.ts"
import { check, observe, watch } from "./simulation/Invariants.ts"
import { sent } from "./simulation/Scenes.ts"
import { fairRound, giveUpUnproven, Steps, take } from "./simulation/Steps.ts"
import type { Step } from "./simulation/Steps.ts"
import { gwei } from "./simulation/World.ts"
import type { World } from "./simulation/World.ts"

const live = (world: World, steps: ReadonlyArray<Step>): void => {
  for (const step of steps) {
    take(world, step, watch)
    check(world)
  }
}

/** Rounds within which everything ends once chain, providers and funds are fair. */
const maxRounds = 60

const settleAll = (world: World): void => {
  world.fork = undefined
  world.baseFee = gwei
  for (let round = 0; round < maxRounds; round++) {
    if (world.ledger.transactions.every(isFinal)) return
    fairRound(world, watch)
    giveUpUnproven(world)
    check(world)
    world.now += 10_000
  }
  assert.fail(
    `not final: ${JSON.stringify(world.ledger, (_, value) => (typeof value === "bigint" ? `${value}` : value))}`
  )
}

describe("any sequence of events", () => {
  it.prop(
    "with one honest and one lying provider executes nothing twice, reports no wrong end, and reaches an end",
    [Steps],
    ([steps]) => {
      const world = sent({ observe })
      live(world, steps)
      settleAll(world)
    },
    { arbitrary: { runs: 500, size: 60 } }
  )

  it.prop(
    "with a single provider that lags executes nothing twice, reports no wrong end, and reaches an end",
    [Steps],
    ([steps]) => {
      const world = sent({ hasSecond: false, observe })
      live(world, steps)
      settleAll(world)
    },
    { arbitrary: { runs: 300, size: 60 } }
  )
})
