// What a poll asks providers about an open transaction. What is not asked is unknown.
import { currentAttempts, isFinal } from "../Transaction.ts"
import type { Transaction } from "../Transaction.ts"
import { nonceOf } from "./Evm.ts"
import type { Evm } from "./Evm.ts"

export interface Questions {
  /** Hashes whose receipts are read: any of the attempts can be the one that was mined. */
  readonly receipts: ReadonlyArray<string>
  /** Hash that is looked up in the pool. Absent: none. */
  readonly pooled?: string
  /** Height whose block hash is read, at a second provider as well if the block is deep. Absent: none. */
  readonly block?: number
}

const none: Questions = { receipts: [] }

/** `count`: transactions of the account in the same poll. Only final transactions are not asked about. */
export const questionsOf = (transaction: Transaction<Evm>, count: number): Questions => {
  const { mined } = transaction
  const nonce = nonceOf(transaction)
  if (nonce === undefined || isFinal(transaction)) return none
  if (mined !== undefined) return { receipts: [], block: mined.receipt.height }
  const attempts = currentAttempts(transaction)
  if (nonce < count) return { receipts: attempts.map(({ hash }) => hash) }
  const newest = attempts.at(-1)
  return newest === undefined || newest.sends === 0 ? none : { receipts: [], pooled: newest.hash }
}
