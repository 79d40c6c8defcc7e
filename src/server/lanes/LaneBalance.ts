// When a poll does without reading the balance of the account again.
import { ampleBalance, poll } from "../../domain/transaction/Numbers.ts"
import type { Transaction } from "../../domain/transaction/Transaction.ts"
import { totals } from "./LaneContext.ts"
import type { Work } from "./LaneContext.ts"

const dependsOnBalance = ({ state, cause }: Transaction): boolean =>
  state === "pending" || cause?.code === "insufficient_funds"

/**
 * The balance of a former poll, if nothing waits for a decision about funds and it is far above what is in flight: chains with
 * short blocks would have it read every second. Undefined: the poll reads it. Transactions that arrive before the next poll
 * are decided with it as well. If it is too high, because another program uses the key, a node refuses the bytes.
 */
export const known = (work: Work): bigint | undefined => {
  const { balance } = work.context.memory
  if (balance === undefined || work.now >= balance.readAt + poll.maximum) return undefined
  if ([...work.rows.values()].some(({ transaction }) => dependsOnBalance(transaction))) return undefined
  const { reserved } = totals(work)
  return reserved > 0n && balance.wei >= ampleBalance * reserved ? balance.wei : undefined
}
