// Decides when a poll need not read the balance of the account again.
import { ampleBalance, poll } from "../../domain/transaction/Numbers.ts"
import type { Transaction } from "../../domain/transaction/Transaction.ts"
import { totals } from "./LaneContext.ts"
import type { Work } from "./LaneContext.ts"

const dependsOnBalance = ({ state, cause }: Transaction): boolean =>
  state === "pending" || cause?.code === "insufficient_funds"

/**
 * The balance of a previous poll, if no transaction waits for a decision about funds and the balance is far above what is in
 * flight. This saves a call per second on chains with short blocks. Undefined: the poll reads the balance. Decisions about
 * transactions that arrive before the next poll use it as well. If it is too high, because another program uses the key, a
 * node refuses the bytes.
 */
export const known = (work: Work): bigint | undefined => {
  const { balance } = work.context.memory
  if (balance === undefined || work.now >= balance.readAt + poll.maximum) return undefined
  if ([...work.rows.values()].some(({ transaction }) => dependsOnBalance(transaction))) return undefined
  const { reserved } = totals(work)
  return reserved > 0n && balance.wei >= ampleBalance * reserved ? balance.wei : undefined
}
