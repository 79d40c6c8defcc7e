// What the process that holds the lane knows when it decides about one transaction.
import type { LaneSituation, Terms } from "../../../../src/domain/transaction/Lane.ts"
import { othersOf, totalsOf } from "../../../../src/domain/transaction/Totals.ts"
import { isFinal } from "../../../../src/domain/transaction/Transaction.ts"
import type { Transaction } from "../../../../src/domain/transaction/Transaction.ts"
import type { World } from "./World.ts"

export const termsOf = ({ isAllowed, isPaused }: World): Terms => ({
  isPaused,
  minBalance: 0n,
  isEip1559: true,
  isAllowed
})

export const baseOf = (world: World) => {
  const { lane, transactions } = world.ledger
  const isDeepReorg = transactions.some(
    (transaction) => isFinal(transaction) && transaction.nonce !== undefined && transaction.nonce >= lane.chainNonce
  )
  return { lane, network: world.network, isDeepReorg }
}

export const totals = (world: World) => totalsOf(world.ledger.transactions, world.memory)

export const situationOf = (world: World, transaction: Transaction): LaneSituation => ({
  ...baseOf(world),
  terms: termsOf(world),
  others: othersOf(transaction, totals(world), false)
})
