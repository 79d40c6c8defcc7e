// The counters of a lane: which count is believed, holes in its nonces, and what is settled.
import { cause } from "../../../../../src/networks/core/Cause.ts"
import { isInFlight } from "../../../../../src/networks/core/Transaction.ts"
import { maxFeesOf } from "../../../../../src/networks/evm/rules/Costs.ts"
import { nonceOf } from "../../../../../src/networks/evm/rules/Evm.ts"
import { believedFloor, findGaps, settleNonces } from "../../../../../src/networks/evm/rules/LaneNonces.ts"
import { priceOf } from "../../../../../src/networks/evm/rules/Market.ts"
import { dieAt, living } from "./Faults.ts"
import type { Faults } from "./Faults.ts"
import { marketIn } from "./Prices.ts"
import { seeLane } from "./Reader.ts"
import { sign } from "./Signing.ts"
import { totals } from "./Situations.ts"
import { store } from "./World.ts"
import type { World } from "./World.ts"

const fillGap = (world: World, faults: Faults, nonce: number): void => {
  const number = ++world.lastNumber
  const fees = priceOf(marketIn(world), "fast", "eip1559")
  store(world, {
    number,
    relayerNumber: 1,
    origin: "gap",
    generation: world.ledger.lane.generation,
    versions: [{ to: world.ledger.lane.address, value: 0n }],
    intent: "clear",
    clearCode: "gap_filled",
    facts: {},
    state: "pending",
    causeSince: world.now,
    priority: 0,
    restored: false,
    validUntil: world.now,
    requeues: 0,
    createdAt: world.now,
    attempts: []
  })
  sign(world, { ...faults, crash: "never" }, number, nonce, {
    _tag: "Sign",
    kind: "noop",
    offer: { fees, gasLimit: 21_000n },
    maxFee: maxFeesOf({ fees, gasLimit: 21_000n }),
    cause: cause("gap_filled")
  })
}

/** Counters of the lane: floor, gaps, settled nonce. */
export const pollLane = (world: World, faults: Faults): void =>
  living(world, () => {
    const view = seeLane(world, faults.reading)
    const maxJump = world.trustsCount ? Infinity : world.network.window
    const step = believedFloor(world.ledger.lane, view, world.memory.claim, maxJump)
    const { claim: _, ...memory } = world.memory
    world.memory = step.claim === undefined ? memory : { ...memory, claim: step.claim }
    const { transactions } = world.ledger
    const committed = transactions.flatMap((transaction) => {
      const nonce = nonceOf(transaction)
      const isCommitted = transaction.generation === step.lane.generation && nonce !== undefined && nonce >= view.count
      return isCommitted ? [nonce] : []
    })
    const gaps = findGaps(step.lane, view.count, committed, world.network.window)
    dieAt(faults, "before_commit")
    const { lowestOpen } = totals(world)
    const finalCount = Math.max(world.memory.finalCount ?? 0, view.finalCount)
    world.memory = { ...world.memory, finalCount }
    const lane = settleNonces(gaps.lane, finalCount, lowestOpen === undefined ? undefined : Number(lowestOpen))
    world.ledger = { ...world.ledger, lane }
    const isStillAhead = world.stop === "nonce_ahead" && step.claim !== undefined
    world.stop = step.code ?? (isStillAhead ? world.stop : undefined)
    world.trustsCount &&= step.claim !== undefined
    for (const nonce of gaps.gaps) fillGap(world, faults, nonce)
    const isQuiet = !world.ledger.transactions.some(isInFlight)
    const { quietSince = world.now, ...rest } = world.memory
    world.memory = isQuiet ? { ...rest, quietSince } : rest
  })
