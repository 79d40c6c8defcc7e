// Checks of a send that need its relayer, its network and the time. The first ones are repeated before a signature.
import { DateTime } from "effect"
import type { EvmPolicy } from "../relayer/Policy.ts"
import type { Violation } from "../request/Request.ts"
import type { Moment } from "./Moment.ts"
import type { NetworkNumbers } from "./NetworkNumbers.ts"
import { inconsistenciesOf } from "./Consistency.ts"
import { byteLength } from "./Gas.ts"
import { defaultValidity, initCode, maxValidity } from "./Numbers.ts"
import { givenFees } from "./Offer.ts"
import { maxFeeOf } from "./Fees.ts"
import type { SendEvmTransaction } from "./SendEvmTransaction.ts"
import type { Request } from "./Transaction.ts"
import { includes } from "./TransactionLimits.ts"

export interface Admission {
  readonly now: Moment
  /** Lower-case hex. */
  readonly relayerAddress: string
  readonly policy: EvmPolicy
  readonly network: NetworkNumbers
  /** EIP-55, which needs keccak-256: the server passes its implementation. */
  readonly checksum: (address: string) => string
}

/** A list allows its entries and the relayer's own address; the empty list allows only that. */
export const isReceiverAllowed = ({ to }: Request, { policy, relayerAddress }: Admission): boolean => {
  const { whitelist_receivers } = policy
  return whitelist_receivers === undefined || includes([...whitelist_receivers, relayerAddress], to)
}

type Rule = (request: SendEvmTransaction, admission: Admission) => Violation | undefined

/** Whether the address has a checksum (EIP-55). */
export const isMixedCase = (address: string): boolean => /[a-f]/.test(address) && /[A-F]/.test(address.slice(2))

const checksum: Rule = ({ to }, admission) =>
  to !== undefined && isMixedCase(to) && admission.checksum(to) !== to
    ? { field: "to", message: "has a wrong checksum (EIP-55); check it, or write it in lower case" }
    : undefined

const receiver: Rule = (request, admission) =>
  isReceiverAllowed(request, admission)
    ? undefined
    : { field: "to", message: "is not in whitelist_receivers of the relayer's policy" }

const gasLimit: Rule = ({ gas_limit }, { policy, network }) => {
  const cap = network.transactionGasCap
  if (gas_limit === undefined) {
    return policy.gas_limit_estimation === false
      ? { field: "gas_limit", message: "is required because the relayer's policy turns estimates off" }
      : undefined
  }
  return cap !== undefined && gas_limit > cap
    ? { field: "gas_limit", message: `must be at most ${cap} on this network (EIP-7825)` }
    : undefined
}

const priceType: Rule = (request, { network }) =>
  givenFees(request)?.type === "eip1559" && !network.isEip1559
    ? { field: "max_fee_per_gas", message: "cannot be used because the network does not support EIP-1559 fees" }
    : undefined

const priceCap: Rule = (request, { policy: { gas_price_cap } }) => {
  const given = givenFees(request)
  if (given === undefined || gas_price_cap === undefined || maxFeeOf(given) <= gas_price_cap) return undefined
  const field = given.type === "legacy" ? "gas_price" : "max_fee_per_gas"
  return { field, message: `must be at most ${gas_price_cap}, the gas_price_cap of the relayer` }
}

const creation: Rule = ({ to, data = "0x" }) =>
  to === undefined && byteLength(data) > initCode.maxBytes
    ? { field: "data", message: `must be at most ${initCode.maxBytes} bytes of init code (EIP-3860)` }
    : undefined

const millisOf = (moment: DateTime.Utc | undefined): Moment | undefined =>
  moment === undefined ? undefined : DateTime.toEpochMillis(moment)

/** The deadline that the request gives, else eight hours after it may begin. */
export const deadlineOf = ({ valid_until, not_before }: SendEvmTransaction, now: Moment): Moment =>
  millisOf(valid_until) ?? Math.max(millisOf(not_before) ?? now, now) + defaultValidity

const deadline: Rule = (request, { now }) => {
  const validUntil = millisOf(request.valid_until)
  if (validUntil === undefined) return undefined
  if (validUntil <= now) return { field: "valid_until", message: "must be in the future" }
  return validUntil > now + maxValidity ? { field: "valid_until", message: "must be within 7 days" } : undefined
}

const beginning: Rule = (request, { now }) => {
  const notBefore = millisOf(request.not_before)
  if (notBefore === undefined) return undefined
  if (notBefore >= now + maxValidity) return { field: "not_before", message: "must be within 7 days" }
  return notBefore >= deadlineOf(request, now)
    ? { field: "not_before", message: "must be before valid_until" }
    : undefined
}

/** What the relayer's policy forbids, however valid the request is. */
const policyRules: ReadonlyArray<Rule> = [receiver, priceCap]

const rules: ReadonlyArray<Rule> = [checksum, gasLimit, priceType, creation, deadline, beginning, ...policyRules]

export const policyViolationsOf = (request: SendEvmTransaction, admission: Admission): ReadonlyArray<Violation> =>
  policyRules.flatMap((rule) => rule(request, admission) ?? [])

/** Everything that is wrong with a request that was decoded, a field each. Empty: it is admitted. */
export const violationsOf = (request: SendEvmTransaction, admission: Admission): ReadonlyArray<Violation> => [
  ...inconsistenciesOf(request),
  ...rules.flatMap((rule) => rule(request, admission) ?? [])
]
