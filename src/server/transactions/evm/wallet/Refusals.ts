// Why a transaction will not be executed, as JSON-RPC errors. The texts of nodes come first: clients search for them.
import { explain } from "../../../../domain/transaction/evm/EvmWords.ts"
import { entryOf } from "../../../../domain/request/Shown.ts"
import { cause } from "../../../../domain/transaction/Cause.ts"
import type { Cause, Figures, KnownCode } from "../../../../domain/transaction/Cause.ts"
import { notExecuted, refused, rpcCodes, RpcError } from "../../../../domain/transaction/NodeCall.ts"
import type { StoredTransaction } from "../../../ledger/LedgerEntries.ts"

const nonce = ({ required_nonce = 0, next_nonce = 0 }: Figures): string =>
  `nonce too ${required_nonce < next_nonce ? "low" : "high"}: next nonce ${next_nonce}`

/** What geth says in the same situation. */
const nodeTexts: Partial<Readonly<Record<KnownCode, (figures: Figures) => string>>> = {
  insufficient_funds: () => "insufficient funds for gas * price + value",
  gas_price_above_cap: () => "max fee per gas less than block base fee",
  gas_price_below_base_fee: () => "max fee per gas less than block base fee",
  gas_limit_above_block: () => "exceeds block gas limit",
  nonce_unavailable: nonce,
  would_revert: ({ revert_reason }) =>
    revert_reason === undefined ? "execution reverted" : `execution reverted: ${revert_reason}`
}

const nodeTextOf = ({ code, figures }: Cause): string | undefined =>
  code === "waits_for_predecessors" && figures.required_nonce !== undefined
    ? nonce(figures)
    : entryOf(nodeTexts, code)?.(figures)

/** `stored` has no bytes, and will never have any. Its cause is the one before it was withdrawn, if it was. */
export const refusalOf = ({ id, transaction }: StoredTransaction): RpcError => {
  const why = transaction.cause ?? cause("queued")
  const { reason } = explain(why, true)
  const text = nodeTextOf(why)
  const message = text === undefined ? reason : `${text}. ${reason}`
  const data = { code: why.code, transaction_id: id }
  if (why.code === "policy_changed") return refused(message)
  return notExecuted(message, data)
}

/** A call that reverts in the estimate. `data`: the revert data, by which clients decode custom errors. */
export const revertOf = ({ transaction: { cause } }: StoredTransaction, data: string | undefined): RpcError =>
  new RpcError({
    code: rpcCodes.reverted,
    message: (cause && nodeTextOf(cause)) ?? "execution reverted",
    ...(data === undefined ? {} : { data })
  })
