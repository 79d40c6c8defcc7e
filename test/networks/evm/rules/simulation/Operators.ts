// What operators do: they restore a backup, answer about transactions that nothing can prove, and repair nonces.
import { Result } from "effect"
import { cause } from "../../../../../src/networks/core/Cause.ts"
import { Command } from "../../../../../src/networks/core/Rules.ts"
import type { Answer } from "../../../../../src/networks/core/Rules.ts"
import { isFinal, isInFlight, isYielding } from "../../../../../src/networks/core/Transaction.ts"
import type { Transaction } from "../../../../../src/networks/core/Transaction.ts"
import { apply, asRestored, isMarkedAnew, onNewGeneration } from "../../../../../src/networks/core/Transition.ts"
import { laneOf, nonceOf } from "../../../../../src/networks/evm/rules/Evm.ts"
import type { Evm } from "../../../../../src/networks/evm/rules/Evm.ts"
import { evmRules } from "../../../../../src/networks/evm/rules/EvmRules.ts"
import { fallenBack } from "../../../../../src/networks/evm/rules/Route.ts"
import { countOf, headOf, upTo } from "../../../../../src/testkit/chain/Blocks.ts"
import { newLane, noMemory, required, store } from "./World.ts"
import type { World } from "./World.ts"

/** The ledger of the backup, in which every open request is marked: the marks of the database differ. */
export const restore = (world: World): void => {
  const { backup } = world
  if (backup === undefined) return
  const transactions = backup.transactions.map((transaction) =>
    isMarkedAnew(transaction) ? asRestored(transaction, world.now) : transaction
  )
  world.ledger = { ...backup, transactions }
  world.backup = undefined
  world.memory = noMemory
}

/** The lowest count in a final block over the honest provider and the one that follows a fork. */
const usedBelow = (world: World): bigint => {
  const countAtFinal = (chain: World["chain"]) => countOf(chain.slice(0, headOf(chain).number - required(world) + 1))
  return BigInt(Math.min(countAtFinal(world.chain), countAtFinal(world.fork ?? world.chain)))
}

const answer = (world: World, transaction: Transaction<Evm>, answer: Answer): void => {
  const known = { lane: laneOf(world.ledger.lane), now: world.now, usedBelow: usedBelow(world) }
  const command = evmRules.resolve?.(transaction, answer, known)
  if (command !== undefined && Result.isSuccess(command)) store(world, apply(transaction, command.success, world.now))
}

/** Private transactions become public: the way out when private providers are dead. `relayer`: whose. Absent: all. */
export const publish = (world: World, relayer?: number): void => {
  for (const transaction of world.ledger.transactions) {
    const { relayerNumber, route } = transaction
    if (relayerNumber !== (relayer ?? relayerNumber) || route?.kind !== "private" || isFinal(transaction)) continue
    store(world, { ...transaction, route: fallenBack(route, world.now) })
  }
}

/**
 * Whether any bytes of the request have left to where an operator sees them: one who answers `send` has made sure that none did. What private
 * providers have is seen nowhere.
 */
const hasLeft = ({ bytes, left }: World, { number }: Transaction<Evm>): boolean =>
  [...left].some((hash) => bytes.get(hash)?.request === number)

/** The count of the chain is right. Each answer is true. */
export const resync = (world: World, given: Answer | "none"): void => {
  world.trustsCount = true
  if (given === "none") return
  for (const transaction of world.ledger.transactions) {
    if (given === "give_up" || !hasLeft(world, transaction)) answer(world, transaction, given)
  }
}

const cleared = Command.Intend({ intent: "clear", clearCode: "canceled", cause: cause("canceling") })

/** Nonces of relayer 1, counted from the settled one. */
export const clear = (world: World, from: number, count: number): void => {
  const first = world.ledger.lane.settledNonce + from
  for (const transaction of world.ledger.transactions) {
    const { relayerNumber, intent } = transaction
    const isWanted = intent === "execute" || isYielding(transaction)
    const nonce = nonceOf(transaction) ?? -1
    if (nonce < first || nonce > first + count || relayerNumber !== 1 || !isWanted) continue
    if (isInFlight(transaction)) store(world, apply(transaction, cleared, world.now))
  }
}

/** The test chain began anew, with nothing of the former one but the bytes that anybody may have kept. */
export const beginGeneration = (world: World): void => {
  const { lane, transactions } = world.ledger
  world.chain = upTo(0)
  world.fork = undefined
  world.pool = new Map()
  world.backup = undefined
  world.memory = noMemory
  world.stop = undefined
  world.trustsCount = false
  world.ledger = { lane: { ...newLane(), generation: lane.generation + 1 }, transactions }
  for (const transaction of transactions) {
    const command = onNewGeneration(transaction)
    if (command !== undefined) store(world, apply(transaction, command, world.now))
  }
}
