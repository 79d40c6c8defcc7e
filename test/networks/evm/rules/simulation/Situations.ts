// What the process that holds the lane knows when it decides about one transaction.
import { cause } from "../../../../../src/networks/core/Cause.ts"
import { restOf, totalsOf } from "../../../../../src/networks/core/Queue.ts"
import type { LaneSituation, Situation, Unreachable } from "../../../../../src/networks/core/Rules.ts"
import { isFinal } from "../../../../../src/networks/core/Transaction.ts"
import type { Terms, Transaction } from "../../../../../src/networks/core/Transaction.ts"
import { laneOf, nonceOf } from "../../../../../src/networks/evm/rules/Evm.ts"
import type { Evm, Seen } from "../../../../../src/networks/evm/rules/Evm.ts"
import { evmRules } from "../../../../../src/networks/evm/rules/EvmRules.ts"
import { address } from "./World.ts"
import type { World } from "./World.ts"

export const termsOf = (
  { isAllowed, isPaused, cap, network }: World,
  { relayerNumber }: Transaction<Evm>
): Terms<Evm> => ({
  isPaused: isPaused && relayerNumber === 1,
  address,
  minBalance: 0n,
  ...(cap === undefined ? {} : { cap }),
  isEip1559: true,
  estimatesGas: true,
  isPrivate: false,
  hasPrivateProviders: true,
  estimatesPrivately: true,
  wantsRevertReason: false,
  network,
  isAllowed
})

/** Milliseconds after which a signer that failed is asked again. */
const signerPause = 5000

export const baseOf = (world: World): LaneSituation<Evm> => {
  const { lane, transactions } = world.ledger
  const isDeepReorg = transactions.some(
    (transaction) => isFinal(transaction) && (nonceOf(transaction) ?? -1) >= lane.chainNonce
  )
  const signerRetry = { code: "signer_unavailable", at: world.now + signerPause } as const
  const { delegation } = world.ledger
  const found = laneOf(lane)
  const [own] = found.accounts
  return {
    lane: delegation === undefined ? found : { ...found, accounts: [{ ...own, counters: { delegation } }] },
    isDeepReorg,
    ...(world.stop === undefined ? {} : { stop: cause(world.stop) }),
    ...(world.isSignerAway ? { signerRetry } : {})
  }
}

export const totals = (world: World) => totalsOf<Evm>(evmRules, world.ledger.transactions, world.memory)

export const situationOf = (world: World, transaction: Transaction<Evm>, view: Seen | Unreachable): Situation<Evm> => ({
  ...baseOf(world),
  transaction,
  terms: termsOf(world, transaction),
  rest: restOf<Evm>(evmRules, transaction, totals(world), false),
  view,
  now: world.now
})
