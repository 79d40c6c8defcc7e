// How a transaction of the ledger is shown: the request that was mined, never the no-op that may have replaced it.
import { DateTime } from "effect"
import type { RelayerId } from "../relayer/Relayer.ts"
import { isNoop, paidOf } from "./Attempt.ts"
import type { Attempt } from "./Attempt.ts"
import type { EvmTransaction, TransactionId, TransactionStatus } from "./EvmTransaction.ts"
import { explain } from "./Explanation.ts"
import type { Fees } from "./Fees.ts"
import type { Moment } from "./Moment.ts"
import { givenFees, speedOf } from "./Offer.ts"
import { isFinal, newestRequest, requestOf } from "./Transaction.ts"
import type { Mined, Request, State, Transaction } from "./Transaction.ts"

/** What the state machine does not know. */
export interface Identity {
  readonly id: TransactionId
  readonly relayerId: RelayerId
  /** Lower-case hex. */
  readonly from: string
  readonly externalId?: string
  /** The signature of the attempt that is shown. The server reads it from the signed bytes. */
  readonly signature?: NonNullable<EvmTransaction["signature"]>
  readonly confirmedAt?: Moment
}

export const statusOf = (state: State): TransactionStatus => (state === "signed" ? "sent" : state)

/** The attempt that was mined, else the newest that was not refused, else the newest. */
export const shownAttempt = ({ attempts, mined }: Transaction): Attempt | undefined =>
  mined === undefined
    ? (attempts.findLast(({ outcome }) => outcome !== "refused") ?? attempts.at(-1))
    : attempts.find(({ ordinal }) => ordinal === mined.ordinal)

/** The version that was mined, else the newest. */
const shownRequest = (transaction: Transaction, attempt: Attempt | undefined): Request =>
  attempt === undefined || transaction.mined === undefined || isNoop(attempt)
    ? newestRequest(transaction)
    : requestOf(transaction, attempt)

const instant = (moment: Moment) => DateTime.makeUnsafe(moment)

const present = <K extends string, A>(name: K, value: A | undefined): { readonly [_ in K]?: A } =>
  value === undefined ? {} : ({ [name]: value } as { readonly [_ in K]?: A })

const feesOf = (fees: Fees | undefined) => {
  if (fees === undefined) return {}
  return fees.type === "legacy"
    ? { gas_price: fees.gasPrice }
    : { max_fee_per_gas: fees.maxFee, max_priority_fee_per_gas: fees.tip }
}

const attemptOf = ({ hash, kind, fees, firstSent }: Attempt) => ({
  hash,
  kind,
  ...feesOf(fees),
  ...(firstSent === undefined ? {} : { sent_at: instant(firstSent.at) })
})

const receiptOf = ({ receipt }: Mined) => ({
  block_number: receipt.blockNumber,
  block_hash: receipt.blockHash,
  gas_used: receipt.gasUsed,
  effective_gas_price: receipt.effectiveGasPrice,
  fee_paid: paidOf(receipt),
  ...present("contract_address", receipt.contractAddress),
  ...present("revert_reason", receipt.revertReason)
})

const requestFields = (request: Request, attempt: Attempt | undefined) => {
  const gas = attempt === undefined || isNoop(attempt) ? request.gas_limit : attempt.gasLimit
  return {
    value: request.value,
    ...feesOf(attempt?.fees ?? givenFees(request)),
    ...present("to", request.to),
    ...present("data", request.data),
    ...present("gas_limit", gas === undefined ? undefined : Number(gas)),
    ...(givenFees(request) === undefined ? { speed: speedOf(request) } : {})
  }
}

const causeOf = (transaction: Transaction) => {
  const { cause } = transaction
  return cause === undefined ? {} : { code: cause.code, status_reason: explain(cause, isFinal(transaction)).reason }
}

export const responseOf = (transaction: Transaction, identity: Identity): EvmTransaction => {
  const { attempts, mined, state, intent, nonce, createdAt, validUntil } = transaction
  const attempt = shownAttempt(transaction)
  const sentAt = attempts.find(({ firstSent }) => firstSent !== undefined)?.firstSent?.at
  return {
    id: identity.id,
    relayer_id: identity.relayerId,
    status: statusOf(state),
    from: identity.from,
    created_at: instant(createdAt),
    valid_until: instant(validUntil),
    is_canceled: intent === "cancel" || state === "canceled",
    ...causeOf(transaction),
    ...requestFields(shownRequest(transaction, attempt), attempt),
    ...present("hash", attempt?.hash),
    ...present("nonce", nonce),
    ...present("external_id", identity.externalId),
    ...present("signature", identity.signature),
    ...present("sent_at", sentAt === undefined ? undefined : instant(sentAt)),
    ...present("confirmed_at", identity.confirmedAt === undefined ? undefined : instant(identity.confirmedAt)),
    ...(attempts.length === 0 ? {} : { attempts: attempts.map(attemptOf) }),
    ...(mined === undefined ? {} : receiptOf(mined))
  }
}
