// Checks of a send that need its relayer, its network and the time. The first ones are repeated before a signature.
import { contractCreation } from "../../relayer/Policy.ts"
import type { Violation } from "../../request/Request.ts"
import { byteLength, minimum } from "./Gas.ts"
import { initCode } from "./EvmNumbers.ts"
import { givenFees } from "./Offer.ts"
import { maxFeeOf } from "./Fees.ts"
import type { SendEvmTransaction } from "./SendEvmTransaction.ts"
import type { EvmTerms, Request } from "./Evm.ts"
import { includes } from "../TransactionLimits.ts"
import type { NetworkLimits } from "../TransactionLimits.ts"
import { timing } from "../TransactionRequests.ts"
import { defaultValidity } from "../TransactionValues.ts"
import type { Moment } from "../TransactionValues.ts"

// Rules that compare fields with each other. They are no part of the schema, so that all that is wrong with a request is reported
// at once, a field each.
type FieldRule = (request: SendEvmTransaction) => Violation | undefined

const violation = (field: string, message: string): Violation => ({ field, message })

const hasEffect: FieldRule = ({ to, data }) =>
  to === undefined && data === undefined ? violation("to", "is required unless data is given") : undefined

const oneKindOfPrice: FieldRule = ({ gas_price, max_fee_per_gas, max_priority_fee_per_gas, speed }) => {
  const isDynamic = max_fee_per_gas !== undefined || max_priority_fee_per_gas !== undefined
  if (gas_price !== undefined && isDynamic) {
    return violation("gas_price", "cannot be given together with EIP-1559 fees")
  }
  return speed !== undefined && (isDynamic || gas_price !== undefined)
    ? violation("speed", "cannot be given together with fees")
    : undefined
}

const bothDynamicFees: FieldRule = ({ max_fee_per_gas, max_priority_fee_per_gas }) => {
  if (max_fee_per_gas === undefined && max_priority_fee_per_gas === undefined) return undefined
  if (max_fee_per_gas === undefined) return violation("max_fee_per_gas", "is required with max_priority_fee_per_gas")
  if (max_priority_fee_per_gas === undefined) {
    return violation("max_priority_fee_per_gas", "is required with max_fee_per_gas")
  }
  return max_priority_fee_per_gas > max_fee_per_gas
    ? violation("max_priority_fee_per_gas", "must be at most max_fee_per_gas")
    : undefined
}

const enoughGas: FieldRule = ({ to, data = "0x", gas_limit, simulate }) => {
  if (gas_limit === undefined) {
    return simulate === false ? violation("gas_limit", "is required if simulate is false") : undefined
  }
  const least = minimum(to === undefined ? { data } : { to, data })
  return gas_limit < least ? violation("gas_limit", `must be at least ${least} for this data`) : undefined
}

const fieldRules: ReadonlyArray<FieldRule> = [hasEffect, oneKindOfPrice, bothDynamicFees, enoughGas]

export const inconsistenciesOf = (request: SendEvmTransaction): ReadonlyArray<Violation> =>
  fieldRules.flatMap((rule) => rule(request) ?? [])

export interface Admission {
  readonly now: Moment
  readonly terms: EvmTerms
  /** EIP-55, which needs keccak-256: the server passes its implementation. */
  readonly checksum: (address: string) => string
}

/**
 * Whether it calls the account itself. Without code of the account the data does nothing. With code, such as that of an executor to
 * which an EIP-7702 authorization has delegated the account, the data can call anybody with any value.
 */
export const isOwnCall = ({ to, data = "0x" }: Pick<Request, "to" | "data">, address: string): boolean =>
  to !== undefined && data !== "0x" && includes("evm", [address], to)

/** A list allows its entries, and the relayer's own address without data; the empty list allows only that. */
export const isReceiverAllowed = (request: Request, { address, receivers }: EvmTerms): boolean =>
  receivers === undefined ||
  (!isOwnCall(request, address) && includes("evm", receivers, request.to ?? contractCreation))

const ownCall = (why: string): Violation => ({
  field: "data",
  message: `cannot be sent to the relayer's own address ${why}: code of the account could call anybody with it`
})

/** The limits of an API key that data for the own address could pass. Undefined: it is no such call, or there are none. */
export const limitedOwnCall = (
  request: Pick<Request, "to" | "data">,
  address: string,
  { max_value, receivers }: NetworkLimits = {}
): Violation | undefined =>
  isOwnCall(request, address) && (max_value !== undefined || receivers !== undefined)
    ? ownCall(`by an API key with ${receivers === undefined ? "max_value" : "receivers"}`)
    : undefined

/** What is wrong with data for the own address of an account with code. */
export const ownCodeCall: Violation = {
  field: "data",
  message: "cannot be sent to the relayer's own address, because the account has code, which the data would call"
}

type Rule = (request: SendEvmTransaction, admission: Admission) => Violation | undefined

/** A rule that can be asked again about what is stored of a request. */
type TermsRule = (request: Request, admission: Pick<Admission, "terms">) => Violation | undefined

/** Whether the address has a checksum (EIP-55). */
export const isMixedCase = (address: string): boolean => /[a-f]/.test(address) && /[A-F]/.test(address.slice(2))

const checksum: Rule = ({ to }, admission) =>
  to !== undefined && isMixedCase(to) && admission.checksum(to) !== to
    ? { field: "to", message: "has a wrong checksum (EIP-55); check it, or write it in lower case" }
    : undefined

const receiver: TermsRule = (request, { terms }) => {
  if (isReceiverAllowed(request, terms)) return undefined
  return isOwnCall(request, terms.address)
    ? ownCall("of a relayer whose policy has whitelist_receivers")
    : { field: "to", message: "is not in whitelist_receivers of the relayer's policy" }
}

const gasLimit: TermsRule = ({ gas_limit }, { terms }) => {
  const cap = terms.network.transactionGasCap
  if (gas_limit === undefined) {
    return !terms.estimatesGas
      ? { field: "gas_limit", message: "is required because the relayer's policy turns estimates off" }
      : undefined
  }
  return cap !== undefined && gas_limit > cap
    ? { field: "gas_limit", message: `must be at most ${cap} on this network (EIP-7825)` }
    : undefined
}

const priceType: Rule = (request, { terms }) =>
  givenFees(request)?.type === "eip1559" && !terms.network.isEip1559
    ? { field: "max_fee_per_gas", message: "cannot be used because the network does not support EIP-1559 fees" }
    : undefined

const priceCap: TermsRule = (request, { terms: { cap } }) => {
  const given = givenFees(request)
  if (given === undefined || cap === undefined || maxFeeOf(given) <= cap) return undefined
  const field = given.type === "legacy" ? "gas_price" : "max_fee_per_gas"
  return { field, message: `must be at most ${cap}, the gas_price_cap of the relayer` }
}

const creation: Rule = ({ to, data = "0x" }) =>
  to === undefined && byteLength(data) > initCode.maxBytes
    ? { field: "data", message: `must be at most ${initCode.maxBytes} bytes of init code (EIP-3860)` }
    : undefined

/** A send without `valid_until` ends eight hours after it may begin. */
const times = timing(defaultValidity)

export const { deadlineOf } = times

/** What the relayer's policy forbids, however valid the request is. */
const policyRules: ReadonlyArray<TermsRule> = [receiver, priceCap]

const rules: ReadonlyArray<Rule> = [
  checksum,
  gasLimit,
  priceType,
  creation,
  times.deadline,
  times.beginning,
  ...policyRules
]

export const policyViolationsOf = (request: SendEvmTransaction, admission: Admission): ReadonlyArray<Violation> =>
  policyRules.flatMap((rule) => rule(request, admission) ?? [])

/** What admission would say about a stored request under these terms, whatever the time is. */
export const storedViolationsOf = (request: Request, terms: EvmTerms): ReadonlyArray<Violation> =>
  [gasLimit, ...policyRules].flatMap((rule) => rule(request, { terms }) ?? [])

/** Everything that is wrong with a request that was decoded, a field each. Empty: it is admitted. */
export const violationsOf = (request: SendEvmTransaction, admission: Admission): ReadonlyArray<Violation> => [
  ...inconsistenciesOf(request),
  ...rules.flatMap((rule) => rule(request, admission) ?? [])
]
