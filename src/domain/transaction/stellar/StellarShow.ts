// How a stellar transaction of the ledger is shown.
import {
  heightOf,
  instant,
  present,
  shownAttempt,
  shownAttemptFields,
  shownFields,
  shownVersions
} from "../Presentation.ts"
import type { Identity } from "../Presentation.ts"
import { newestRequest } from "../Transaction.ts"
import type { Attempt, Mined, Transaction } from "../Transaction.ts"
import type { Stellar, StellarRequest } from "./Stellar.ts"
import { momentOf } from "./Stellar.ts"
import type { StellarTransactionResponse } from "./StellarTransactionResponse.ts"
import { explain } from "./StellarWords.ts"

const kindOf = ({ kind }: Attempt<Stellar>): "original" | "refresh" | "replace" =>
  kind === "refresh" || kind === "replace" ? kind : "original"

const attemptOf = (transaction: Transaction<Stellar>, attempt: Attempt<Stellar>) => ({
  hash: attempt.hash,
  ...present("inner_hash", attempt.offer.innerHash),
  kind: kindOf(attempt),
  max_fee: attempt.maxFee,
  valid_until: instant(momentOf(attempt.offer.maxTime)),
  ...shownAttemptFields(attempt, attempt.refusal),
  account: attempt.place.account,
  ...present("sequence_number", attempt.place.sequence),
  ...present("ledger", heightOf(transaction, attempt))
})

const requestFields = ({ operations, memo }: StellarRequest) => ({
  ...present("operations", operations),
  ...present("memo", memo)
})

const versionOf = (request: StellarRequest) => ({
  ...requestFields(request),
  ...present("transaction_xdr", request.transaction_xdr),
  ...present("max_fee", request.max_fee)
})

const receiptOf = ({ receipt: { details, height, paid } }: Mined<Stellar>) => ({
  ledger: height,
  fee_paid: paid,
  hash: details.hash,
  transaction_result_xdr: details.result,
  ...present("result_code", details.resultCode),
  ...present("operation_results", details.operationResults),
  ...present("contract_error", details.contractError)
})

/** Wire clients read a failed execution in this form. */
const failureOf = ({ receipt: { details } }: Mined<Stellar>): string => {
  const index = details.operationResults?.findIndex((name) => !name.endsWith("Success")) ?? -1
  const operation = index === -1 ? "none" : `${index}:${details.operationResults?.[index]}`
  return `Transaction failed on-chain. reason=${details.resultCode ?? "unknown"} inner=${operation} op=${index === -1 ? "none" : index} contract_error=${details.contractError ?? "none"}`
}

const reasonOf = ({ mined, state }: Transaction<Stellar>) =>
  state === "failed" && mined !== undefined ? { status_reason: failureOf(mined) } : {}

/** The sequence that it has, else the one of its newest envelope. */
const sequenceOf = ({ attempts, facts, place }: Transaction<Stellar>): bigint =>
  facts.guest?.sequence ?? place?.sequence ?? attempts.at(-1)?.place.sequence ?? 0n

const channelOf = ({ facts, place }: Transaction<Stellar>, { from }: Identity): string | undefined =>
  facts.guest === undefined && place !== undefined && place.account !== from ? place.account : undefined

export const show = (transaction: Transaction<Stellar>, identity: Identity): StellarTransactionResponse => {
  const { attempts, facts, mined } = transaction
  const attempt = shownAttempt(transaction) ?? attempts.at(-1)
  const charged = mined?.receipt.paid ?? attempt?.maxFee ?? 0n
  return {
    ...shownFields(explain, transaction, identity),
    ...reasonOf(transaction),
    network_type: "stellar",
    source_account: facts.guest?.account ?? identity.from,
    fee: Number(charged),
    sequence_number: sequenceOf(transaction),
    ...present("hash", attempt?.hash),
    ...present("inner_hash", facts.guest?.innerHash ?? attempt?.offer.innerHash),
    ...present("channel_account", channelOf(transaction, identity)),
    ...(identity.isWhole === true ? requestFields(newestRequest(transaction)) : {}),
    ...(attempts.length === 0 ? {} : { attempts: attempts.map((one) => attemptOf(transaction, one)) }),
    ...shownVersions(transaction, identity, versionOf),
    ...(mined === undefined ? {} : receiptOf(mined))
  }
}
