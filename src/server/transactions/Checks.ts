// Checks of a request against its relayer, its network and its API key, and what is stored of it.
import { DateTime, Effect, Schema, Struct } from "effect"
import type { Caller } from "../../domain/access/Caller.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import type { Violation } from "../../domain/request/Request.ts"
import { isMixedCase, policyViolationsOf, violationsOf } from "../../domain/transaction/Admission.ts"
import type { Admission } from "../../domain/transaction/Admission.ts"
import { TransactionConflict } from "../../domain/transaction/Cancellation.ts"
import type { Moment } from "../../domain/transaction/Moment.ts"
import type { ReplaceEvmTransaction } from "../../domain/transaction/SendEvmTransaction.ts"
import { SendEvmTransaction } from "../../domain/transaction/SendEvmTransaction.ts"
import type { Request } from "../../domain/transaction/Transaction.ts"
import { exceeded, TransactionLimitExceeded } from "../../domain/transaction/TransactionLimits.ts"
import * as EvmBytes from "../chains/evm/EvmBytes.ts"
import type { Sender } from "./Senders.ts"

/** The fields of a body that decide about its effect and its price. */
const effective = [
  "to",
  "value",
  "data",
  "gas_limit",
  "gas_price",
  "max_fee_per_gas",
  "max_priority_fee_per_gas",
  "speed",
  "simulate",
  "wait_for_funds"
] as const

export const requestOf = (body: SendEvmTransaction): Request => Struct.pick(body, effective)

/** The deadline that a body gives. */
export const deadlineIn = ({ valid_until }: ReplaceEvmTransaction): Moment | undefined =>
  valid_until === undefined ? undefined : DateTime.toEpochMillis(valid_until)

const encode = Schema.encodeSync(SendEvmTransaction)

/** Equal bodies have the same text, however their amounts were written. */
export const textOf = (body: SendEvmTransaction): string => JSON.stringify(encode(body))

/** The checksum function needs a library that takes 15 MB: it is loaded with the first address in mixed case. */
const checksumFor = ({ to }: Pick<SendEvmTransaction, "to">) =>
  to !== undefined && isMixedCase(to) ? EvmBytes.checksum : Effect.succeed((address: string) => address)

const admissionOf = Effect.fnUntraced(function* (body: SendEvmTransaction, { relayer, numbers }: Sender) {
  const admission: Admission = {
    now: DateTime.toEpochMillis(yield* DateTime.now),
    relayerAddress: relayer.address.toLowerCase(),
    policy: relayer.policies ?? {},
    network: numbers,
    checksum: yield* checksumFor(body)
  }
  return admission
})

/** Everything that is wrong with the request itself. Empty: it is admitted. */
export const violations = (body: SendEvmTransaction, sender: Sender) =>
  Effect.map(admissionOf(body, sender), (admission) => violationsOf(body, admission))

/** Those of `violations` that only the relayer's policy forbids. */
export const policyViolations = (body: SendEvmTransaction, sender: Sender) =>
  Effect.map(admissionOf(body, sender), (admission) => policyViolationsOf(body, admission))

/** What the API key does not allow. Fees per day are summed by the ledger. */
export const limitViolation = (body: SendEvmTransaction, { transactionLimits }: Caller): Violation | undefined =>
  transactionLimits === undefined ? undefined : exceeded(requestOf(body), transactionLimits)

/** `prefix`: path of the request in the body. */
export const admit = Effect.fnUntraced(function* (
  body: SendEvmTransaction,
  sender: Sender,
  caller: Caller,
  prefix = ""
) {
  const found = yield* violations(body, sender)
  if (found.length > 0) {
    return yield* BadRequest.of(found.map(({ field, message }) => ({ field: `${prefix}${field}`, message })))
  }
  const limit = limitViolation(body, caller)
  if (limit !== undefined) {
    return yield* new TransactionLimitExceeded({ error: `${prefix}${limit.field}: ${limit.message}` })
  }
  if (sender.relayer.policies?.private_transactions === true) {
    return yield* new TransactionConflict({
      error: "the relayer's policy asks for private transactions, which are not supported yet"
    })
  }
})
