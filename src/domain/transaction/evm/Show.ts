// How an evm transaction of the ledger is shown: the request that was mined, never the no-op that may have replaced it.
import { heightOf, present, shownAttempt, shownAttemptFields, shownFields, shownVersions } from "../Presentation.ts"
import type { Identity } from "../Presentation.ts"
import { isNoop, newestRequest, requestOf } from "../Transaction.ts"
import type { Attempt, Mined, Transaction } from "../Transaction.ts"
import { attemptNonceOf, nonceOf } from "./Evm.ts"
import type { Evm, Request } from "./Evm.ts"
import type { EvmTransaction } from "./EvmTransaction.ts"
import { explain } from "./EvmWords.ts"
import type { Fees } from "./Fees.ts"
import { paidOf } from "./Funds.ts"
import { givenFees, speedOf } from "./Offer.ts"
import { signatureOf } from "./SignedBytes.ts"

/** The version that was mined, else the newest. */
const shownRequest = (transaction: Transaction<Evm>, attempt: Attempt<Evm> | undefined): Request =>
  attempt === undefined || transaction.mined === undefined || isNoop(attempt)
    ? newestRequest(transaction)
    : requestOf(transaction, attempt)

const feesOf = (fees: Fees | undefined) => {
  if (fees === undefined) return {}
  return fees.type === "legacy"
    ? { gas_price: fees.gasPrice }
    : { max_fee_per_gas: fees.maxFee, max_priority_fee_per_gas: fees.tip }
}

const kindOf = ({ kind }: Attempt<Evm>) => (kind === "refresh" ? "replace" : kind)

const refusalOf = ({ refusal }: Attempt<Evm>) =>
  refusal && {
    class: refusal.class,
    ...present("needed", refusal.minimumNeeded),
    ...present("words", refusal.words)
  }

const attemptOf = (transaction: Transaction<Evm>, attempt: Attempt<Evm>) => ({
  hash: attempt.hash,
  kind: kindOf(attempt),
  ...feesOf(attempt.offer.fees),
  ...shownAttemptFields(attempt, refusalOf(attempt)),
  nonce: attemptNonceOf(attempt),
  gas_limit: Number(attempt.offer.gasLimit),
  ...present("first_sent_block", attempt.firstSent?.height),
  ...present("block_number", heightOf(transaction, attempt))
})

const receiptOf = ({ receipt: { height, blockHash, details } }: Mined<Evm>) => ({
  block_number: height,
  ...present("block_hash", blockHash),
  gas_used: details.gasUsed,
  effective_gas_price: details.effectiveGasPrice,
  fee_paid: paidOf(details),
  ...present("contract_address", details.contractAddress),
  ...present("revert_reason", details.revertReason)
})

const requestFields = (request: Request, attempt: Attempt<Evm> | undefined) => {
  const gas = attempt === undefined || isNoop(attempt) ? request.gas_limit : attempt.offer.gasLimit
  return {
    value: request.value,
    ...feesOf(attempt?.offer.fees ?? givenFees(request)),
    ...present("to", request.to),
    ...present("data", request.data),
    ...present("gas_limit", gas === undefined ? undefined : Number(gas)),
    ...(givenFees(request) === undefined ? { speed: speedOf(request) } : {})
  }
}

/** `raw`: the bytes of the attempt that is shown. Absent: its signature is not shown. */
export const show = (transaction: Transaction<Evm>, identity: Identity, raw?: Uint8Array): EvmTransaction => {
  const { attempts, mined } = transaction
  const attempt = shownAttempt(transaction)
  return {
    ...shownFields(explain, transaction, identity),
    network_type: "evm",
    ...present("hash", attempt?.hash),
    from: identity.from,
    ...requestFields(shownRequest(transaction, attempt), attempt),
    ...present("nonce", nonceOf(transaction)),
    ...present("signature", raw && signatureOf(raw)),
    ...(attempts.length === 0 ? {} : { attempts: attempts.map((one) => attemptOf(transaction, one)) }),
    ...shownVersions(transaction, identity, (request) => requestFields(request, undefined)),
    ...(mined === undefined ? {} : receiptOf(mined))
  }
}
