// What can happen: users, the chain, a stranger with the same key, a lying provider, time, and a process that may die.
import { grow, headOf, reorg } from "../../../../../src/testkit/chain/Blocks.ts"
import { use } from "./Authorities.ts"
import { afterBlock, foreign, fork, mine, mineFromPool, stranger } from "./Blocks.ts"
import { assign, poll } from "./Driver.ts"
import type { Watch } from "./Driver.ts"
import { faultless } from "./Faults.ts"
import { pollLane } from "./LanePoll.ts"
import { beginGeneration, clear, publish, restore, resync } from "./Operators.ts"
import { balances, baseFees, caps, estimates, faultsOf, nodeCaps, waits, windows } from "./Step.ts"
import type { Step } from "./Step.ts"
import {
  acceptBatch,
  acceptCalls,
  acceptDelegation,
  acceptOne,
  cancelAll,
  cancelChosen,
  replaceChosen
} from "./Users.ts"
import { accept, gwei, newWorld, noMemory, privateNodes, required } from "./World.ts"
import type { World } from "./World.ts"

export const take = (world: World, step: Step, watch: Watch): void => {
  switch (step.do) {
    case "Accept":
      return acceptOne(world, step)
    case "Batch":
      return acceptBatch(world, step)
    case "Delegate":
      return acceptDelegation(world, step.ends === 2)
    case "Calls":
      return acceptCalls(world, step)
    case "Stranger":
      return stranger(world)
    case "Cancel":
      return cancelChosen(world, step.which)
    case "CancelAll":
      return cancelAll(world)
    case "Replace":
      return replaceChosen(world, step)
    case "Clear":
      return clear(world, step.from, step.count)
    case "Resync":
      return resync(world, step.answer)
    case "Generation":
      return step.dice === 0 ? beginGeneration(world) : undefined
    case "Poll":
      for (const { number, state } of world.ledger.transactions) {
        if (state !== "pending") poll(world, faultsOf(step.faults), number, watch)
      }
      return
    case "PollLane":
      return pollLane(world, faultsOf(step.faults))
    case "Assign":
      return assign(world, faultsOf(step.faults), watch)
    case "Mine":
      return mine(world, step.which, step.reverts === 3)
    case "Block":
      for (let block = 0; block < step.count; block++) {
        world.chain = grow(world.chain)
        afterBlock(world)
      }
      return
    case "Foreign":
      return foreign(world)
    case "Use":
      return use(world)
    case "Reorg":
      world.chain = reorg(world.chain, Math.min(step.depth, required(world), headOf(world.chain).number))
      return
    case "DropPool":
      world.pool = new Map()
      return
    case "Fork":
      world.hasForked = true
      world.fork = world.hasSecond ? fork(world, step.depth, step.which, step.blocks) : undefined
      return
    case "Unfork":
      world.fork = undefined
      return
    case "BaseFee":
      world.baseFee = (baseFees[step.which] ?? 1n) * gwei
      return
    case "Wait":
      world.now += (waits[step.which] ?? 0) * 1000
      return
    case "Crash":
      world.memory = noMemory
      return
    case "Prune":
      world.isPruned = true
      return
    case "Policy":
      world.isAllowed = step.isAllowed
      return
    case "Backup":
      world.backup = world.ledger
      return
    case "Restore":
      return restore(world)
    case "Publish":
      return publish(world, 1)
    case "PrivateNodes":
      world.privateNode = privateNodes[step.which] ?? "takes"
      return
    case "Pause":
      world.isPaused = step.isPaused
      return
    case "Signer":
      world.isSignerAway = step.isAway
      return
    case "Cap":
      world.cap = caps[step.which]
      return
    case "NodeCap":
      world.nodeCap = nodeCaps[step.which]
      return
    case "Fund":
      world.balance = balances[step.which] ?? 0n
      return
    case "Estimate":
      world.estimate = estimates[step.which] ?? "gas"
      return
    case "Window": {
      const { lane } = world.ledger
      world.ledger = { ...world.ledger, lane: { ...lane, windowSize: windows[step.which] ?? 1 } }
      return
    }
  }
}

/** One poll of everything, by a process whose providers are honest, and a block that takes what the pool has. */
export const fairRound = (world: World, watch: Watch): void => {
  pollLane(world, faultless)
  for (const { number, state } of world.ledger.transactions) {
    if (state !== "pending") poll(world, faultless, number, watch)
  }
  assign(world, faultless, watch)
  mineFromPool(world)
}

/** A polled lane with one request. */
export const begin = (over: Partial<World> = {}): World => {
  const world = newWorld(over)
  pollLane(world, faultless)
  accept(world)
  return world
}
