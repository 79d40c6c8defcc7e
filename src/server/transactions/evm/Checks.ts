// Checks of a request against its relayer, its network and its API key, and what is stored of it.
import { DateTime, Effect, Struct } from "effect"
import { contractCreation } from "../../../domain/relayer/Policy.ts"
import type { Violation } from "../../../domain/request/Request.ts"
import {
  isMixedCase,
  isOwnCall,
  limitedOwnCall,
  ownCodeCall,
  policyViolationsOf,
  violationsOf
} from "../../../domain/transaction/evm/Admission.ts"
import type { Admission } from "../../../domain/transaction/evm/Admission.ts"
import type { SendEvmTransaction } from "../../../domain/transaction/evm/SendEvmTransaction.ts"
import { exceeded } from "../../../domain/transaction/TransactionLimits.ts"
import type { NetworkLimits } from "../../../domain/transaction/TransactionLimits.ts"
import * as EvmBytes from "../../chains/evm/EvmBytes.ts"
import type { EvmTarget, Request } from "../../../domain/transaction/evm/Evm.ts"
import { evmTermsOf } from "../../../domain/transaction/evm/EvmTerms.ts"

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

/** The checksum function needs a library that takes 15 MB: it is loaded with the first address in mixed case. */
const checksumFor = ({ to }: Pick<SendEvmTransaction, "to">) =>
  to !== undefined && isMixedCase(to) ? EvmBytes.checksum : Effect.succeed((address: string) => address)

const admissionOf = Effect.fnUntraced(function* (body: SendEvmTransaction, target: EvmTarget) {
  const admission: Admission = {
    now: DateTime.toEpochMillis(yield* DateTime.now),
    terms: evmTermsOf(target),
    checksum: yield* checksumFor(body)
  }
  return admission
})

/** Everything that is wrong with the request itself. Empty: it is admitted. */
export const violations = (body: SendEvmTransaction, target: EvmTarget) =>
  Effect.map(admissionOf(body, target), (admission) => violationsOf(body, admission))

/** What limits of the API key, or code of the account, forbid about data for the own address. */
export const ownCallViolation = (
  body: SendEvmTransaction,
  { relayer: { address } }: EvmTarget,
  limits: NetworkLimits | undefined,
  code: string
): Violation | undefined =>
  limitedOwnCall(body, address, limits) ?? (code !== "0x" && isOwnCall(body, address) ? ownCodeCall : undefined)

/** Those of `violations` that only the relayer's policy forbids. */
export const policyViolations = (body: SendEvmTransaction, target: EvmTarget) =>
  Effect.map(admissionOf(body, target), (admission) => policyViolationsOf(body, admission))

/** What the limits of the API key do not allow. Fees per day are summed by the ledger. */
export const limitViolation = (
  { value, to = contractCreation }: SendEvmTransaction,
  limits: NetworkLimits | undefined
): Violation | undefined =>
  limits === undefined ? undefined : exceeded("evm", { value, receivers: [{ field: "to", address: to }] }, limits)
