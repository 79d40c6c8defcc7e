// Beginnings and passages that many traces share.
import { assert } from "@effect/vitest"
import { isFinal } from "../../../../../src/networks/core/Transaction.ts"
import { catchUp } from "./Authorities.ts"
import { faultless } from "./Faults.ts"
import type { Faults } from "./Faults.ts"
import { check, watch } from "./Invariants.ts"
import { publish, resync } from "./Operators.ts"
import { fair } from "./Reader.ts"
import { validities } from "./Step.ts"
import type { Step } from "./Step.ts"
import { begin, fairRound, take } from "./Steps.ts"
import { ether, gwei, transactionOf } from "./World.ts"
import type { World } from "./World.ts"

/** Everything as it should be. */
export const noFaults: Extract<Step, { readonly do: "Assign" }>["faults"] = {
  isLiarFirst: false,
  lag: 0,
  countLie: 0,
  hidesReceipts: false,
  indexLag: 0,
  hidesBlocks: false,
  crash: 0,
  honestNode: 0,
  lyingNode: 0,
  lie: 0
}

/** A transfer at the speed of the relayer, with a gas limit and a deadline in 100 seconds. */
export const acceptance = {
  do: "Accept",
  lasts: 0,
  requires: 0,
  offer: 0,
  delay: 0,
  priority: 0,
  relayer: 0
} as const satisfies Step

/** A new version of the newest request, with another value. */
export const replacement = { do: "Replace", which: 0, offer: 0, lasts: validities.length } as const satisfies Step

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

/** Fair polls of everything, and a block that takes what the pool has after each. */
export const rounds = (world: World, count: number): void => {
  for (let round = 0; round < count; round++) fairRound(world, watch)
}

/** Every step, and the invariants after each. */
export const live = (world: World, steps: ReadonlyArray<Step>): void => {
  for (const step of steps) {
    take(world, step, watch)
    check(world)
  }
}

/** Rounds within which everything ends once chain, providers and funds are fair. */
const maxRounds = 60

/** Rounds of a lane without any private provider, after which the operator makes private transactions public. */
const roundsBeforePublished = 20

/** Chain, providers and funds become fair, and everything has to end. */
export const settleAll = (world: World): void => {
  world.fork = undefined
  world.baseFee = gwei
  world.balance = ether
  world.cap = undefined
  world.isPaused = false
  world.isSignerAway = false
  world.estimate = "gas"
  // Every private provider is dead: the lane ends all the same, by fallbacks, deadlines, and the operator who makes the rest public.
  world.privateNode = "dead"
  for (let round = 0; round < maxRounds; round++) {
    if (world.ledger.transactions.every(isFinal)) return
    catchUp(world)
    fairRound(world, watch)
    resync(world, "give_up")
    if (round === roundsBeforePublished) publish(world)
    check(world)
    world.now += 10_000
  }
  assert.fail(
    `not final: ${JSON.stringify(world.ledger, (_, value) => (typeof value === "bigint" ? `${value}` : value))}`
  )
}
