// What the process that holds the lane knows when it decides about one transaction.
import { cause } from "../../../../src/domain/transaction/Cause.ts"
import type { LaneSituation, Terms } from "../../../../src/domain/transaction/Lane.ts"
import { othersOf, totalsOf } from "../../../../src/domain/transaction/Totals.ts"
import { isFinal } from "../../../../src/domain/transaction/Transaction.ts"
import type { Transaction } from "../../../../src/domain/transaction/Transaction.ts"
import type { World } from "./World.ts"

export const termsOf = ({ isAllowed, isPaused, cap }: World, { relayerNumber }: Transaction): Terms => ({
  isPaused: isPaused && relayerNumber === 1,
  minBalance: 0n,
  ...(cap === undefined ? {} : { cap }),
  isEip1559: true,
  isAllowed
})

/** Milliseconds after which a signer that failed is asked again. */
const signerPause = 5000

export const baseOf = (world: World) => {
  const { lane, transactions } = world.ledger
  const isDeepReorg = transactions.some(
    (transaction) => isFinal(transaction) && transaction.nonce !== undefined && transaction.nonce >= lane.chainNonce
  )
  const signerRetry = { code: "signer_unavailable", at: world.now + signerPause } as const
  return {
    lane,
    network: world.network,
    isDeepReorg,
    ...(world.stop === undefined ? {} : { stop: cause(world.stop) }),
    ...(world.isSignerAway ? { signerRetry } : {})
  }
}

export const totals = (world: World) => totalsOf(world.ledger.transactions, world.memory)

export const situationOf = (world: World, transaction: Transaction): LaneSituation => ({
  ...baseOf(world),
  terms: termsOf(world, transaction),
  others: othersOf(transaction, totals(world), false)
})
