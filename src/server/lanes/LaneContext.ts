// What the steps of one held lane share.
import type { Effect } from "effect"
import type { TransactionId } from "../../domain/transaction/EvmTransaction.ts"
import type { StoredTransaction } from "../ledger/StoredTransaction.ts"
import type { LaneLedger } from "../ledger/LaneLedger.ts"
import type { Hold } from "../ledger/StoredLane.ts"
import type { EvmNodes } from "../chains/evm/EvmNodes.ts"
import type { Code } from "../../domain/transaction/Code.ts"
import { cause } from "../../domain/transaction/Cause.ts"
import type { Cause } from "../../domain/transaction/Cause.ts"
import type { Lane, LaneSituation, Terms } from "../../domain/transaction/Lane.ts"
import type { Moment } from "../../domain/transaction/Moment.ts"
import { othersOf, totalsOf } from "../../domain/transaction/Totals.ts"
import type { Totals } from "../../domain/transaction/Totals.ts"
import { isInFlight } from "../../domain/transaction/Transaction.ts"
import type { LaneBase } from "../../domain/transaction/Queue.ts"
import type { RelayerId } from "../../domain/relayer/Relayer.ts"
import type { RelayerTargets } from "../relayers/RelayerTargets.ts"
import type { FeeBudget, LaneFees } from "./LaneFees.ts"
import type { LaneMemory } from "./LaneMemory.ts"
import { termsOf } from "./LaneRelayers.ts"
import type { LaneRelayer } from "./LaneRelayers.ts"
import type { LaneSigner } from "./LaneSigner.ts"

export interface LaneContext {
  readonly ledger: LaneLedger["Service"]
  readonly nodes: EvmNodes["Service"]
  readonly targets: Pick<RelayerTargets["Service"], "get">
  readonly signer: LaneSigner
  readonly fees: LaneFees
  readonly newId: Effect.Effect<TransactionId>
  readonly hold: Hold
  readonly memory: LaneMemory
}

/** What one step works on. `rows` follows what the step writes. */
export interface Work {
  readonly context: LaneContext
  readonly now: Moment
  readonly relayers: ReadonlyMap<RelayerId, LaneRelayer>
  readonly budget: FeeBudget
  /** Hash of block 0. Undefined: not seen in this generation. */
  readonly genesis: string | undefined
  lane: Lane
  /** What stops the lane from assigning nonces. */
  stop: Code | undefined
  isDeepReorg: boolean
  /** Open transactions by number. */
  readonly rows: Map<number, StoredTransaction>
  /** The earliest moment at which something is to be done. */
  nextPollAt: Moment
}

export const update = (work: Work, changed: ReadonlyArray<StoredTransaction>): void => {
  for (const stored of changed) work.rows.set(stored.transaction.number, stored)
}

export const totals = ({ rows, context: { memory }, now }: Work): Totals => {
  const transactions = [...rows.values()].map(({ transaction }) => transaction)
  memory.quietSince = transactions.some(isInFlight) ? undefined : (memory.quietSince ?? now)
  return totalsOf(transactions, { lastSignedAt: memory.lastSignedAt, quietSince: memory.quietSince })
}

/** Why the lane assigns no nonces, with the figures that it has seen. */
const stopOf = ({ stop, lane, context: { memory } }: Work): Cause | undefined => {
  if (stop !== "nonce_ahead") return stop === undefined ? undefined : cause(stop)
  const count = memory.claim === undefined ? {} : { count: memory.claim.count }
  return cause(stop, { ...count, next_nonce: lane.nextNonce })
}

export const baseOf = (work: Work, { numbers }: LaneRelayer): LaneBase => {
  const { lane, isDeepReorg, now } = work
  const stop = stopOf(work)
  const { signerRetry } = work.context.memory
  return {
    lane,
    network: numbers,
    isDeepReorg,
    ...(stop === undefined ? {} : { stop }),
    ...(signerRetry === undefined || signerRetry.at <= now ? {} : { signerRetry })
  }
}

export const termsIn = ({ lane, budget }: Work, relayer: LaneRelayer, stored: StoredTransaction): Terms => {
  const feeLimit = budget.maximumOf(stored)
  return { ...termsOf(relayer, stored.transaction, lane.address), ...(feeLimit === undefined ? {} : { feeLimit }) }
}

export const situationOf = (
  work: Work,
  relayer: LaneRelayer,
  stored: StoredTransaction,
  totals: Totals
): LaneSituation => ({
  ...baseOf(work, relayer),
  terms: termsIn(work, relayer, stored),
  others: othersOf(stored.transaction, totals, false)
})
