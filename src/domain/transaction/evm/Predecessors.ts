// Transactions that wait for others of their account, and what they show about the one in front.
import { cause } from "../Cause.ts"
import type { Cause, Code, Figures } from "../Cause.ts"
import type { Predecessors } from "../Rules.ts"
import type { Transaction } from "../Transaction.ts"
import type { TransactionId } from "../TransactionValues.ts"
import { nonceOf } from "./Evm.ts"
import type { Evm } from "./Evm.ts"

/** Codes of bytes that nothing of the transaction itself holds back. */
const flying: ReadonlySet<Code> = new Set(["sending", "in_pool", "not_in_pool_rebroadcast"])

const codeOf = ({ cause: why }: Transaction<Evm>): Code => why?.code ?? "queued"

/** A call that reverts waits for transactions in flight, a required nonce for those that can get a lower one. */
const frontOf = (transaction: Transaction<Evm>) => {
  const code = codeOf(transaction)
  if (code !== "waits_for_predecessors") return flying.has(code) ? "in_flight" : undefined
  return transaction.cause?.figures.required_nonce === undefined ? "in_flight" : "pending"
}

/** Codes of bytes that the node which is asked has lost. */
const lost: ReadonlySet<Code> = new Set(["not_in_pool_rebroadcast", "dropped_by_node"])

/** No node has accepted its bytes, or the node that is asked has lost them. */
const isAtNoNode = (transaction: Transaction<Evm>): boolean =>
  transaction.state === "signed" || lost.has(codeOf(transaction))

const figuresOf = (front: Transaction<Evm>, front_id: TransactionId | undefined): Figures => {
  const front_nonce = nonceOf(front)
  return {
    front_code: codeOf(front),
    ...(front_nonce === undefined ? {} : { front_nonce }),
    ...(front_id === undefined ? {} : { front_id })
  }
}

const causeBehind = (
  transaction: Transaction<Evm>,
  front: Transaction<Evm>,
  id: TransactionId | undefined
): Cause | undefined => {
  const figures = figuresOf(front, id)
  const nonce = nonceOf(transaction)
  if (nonce === undefined) return cause("waits_for_predecessors", { ...transaction.cause?.figures, ...figures })
  const isBehind = (nonceOf(front) ?? nonce) < nonce && isAtNoNode(front)
  return isBehind ? cause("waits_for_predecessors", { nonce, ...figures }) : undefined
}

export const predecessors: Predecessors<Evm> = { frontOf, causeBehind }
