// Sends committed bytes to the providers, and records what they answer.
import { apply, withSent } from "../../../../../src/networks/core/Transition.ts"
import type { Attempt, Transaction } from "../../../../../src/networks/core/Transaction.ts"
import { laneOf } from "../../../../../src/networks/evm/rules/Evm.ts"
import type { Evm } from "../../../../../src/networks/evm/rules/Evm.ts"
import { evmRules, hear } from "../../../../../src/networks/evm/rules/EvmRules.ts"
import { headOf } from "../../../../../src/testkit/chain/Blocks.ts"
import { dieAt } from "./Faults.ts"
import type { Faults } from "./Faults.ts"
import { answerOf, offer } from "./Node.ts"
import { totals } from "./Situations.ts"
import { offerPrivately, sendTo } from "./Privacy.ts"
import { store, transactionOf } from "./World.ts"
import type { Bytes, World } from "./World.ts"

/** Both providers are asked. Whatever they answer, bytes that arrived anywhere have left. */
const sendBytes = (world: World, faults: Faults, bytes: Bytes) => {
  const [answer, pool] = offer(world, bytes)
  const deliveries = [faults.honestNode, ...(world.hasSecond ? [faults.lyingNode] : [])]
  if (deliveries.some((delivery) => delivery !== "lost")) world.left.add(bytes.hash)
  if (faults.honestNode === "taken" || faults.honestNode === "silent") world.pool = pool
  return deliveries.map((delivery) => answerOf(delivery, answer, faults.lie))
}

const isHeldBack = (world: World, transaction: Transaction<Evm>, attempt: Attempt<Evm>): boolean =>
  evmRules.isHeldBack?.(transaction, attempt, laneOf(world.ledger.lane), totals(world).survey) === true

export const broadcast = (world: World, faults: Faults, number: number, ordinals: ReadonlyArray<number>): void => {
  for (const ordinal of ordinals) {
    const transaction = transactionOf(world, number)
    const attempt = transaction.attempts.find((one) => one.ordinal === ordinal)
    const bytes = attempt && world.bytes.get(attempt.hash)
    if (attempt === undefined || bytes === undefined) throw new Error("bytes of an attempt are missing")
    if (isHeldBack(world, transaction, attempt)) return
    const destination = sendTo(world, transaction, attempt)
    const privately = destination === "public" ? [] : [offerPrivately(world, bytes, faults.lie)]
    const answers = destination === "private" ? privately : sendBytes(world, faults, bytes)
    dieAt(faults, "after_send")
    const sent = hear(transaction, attempt, answers, { at: world.now, height: headOf(world.chain).number })
    const recorded = withSent(transaction, sent)
    store(world, sent.follows === undefined ? recorded : apply(recorded, sent.follows, world.now))
    if (sent.isAccepted || !sent.triesOlder) return
  }
}
