// What the policy of a stellar relayer means for its transactions. Admission and lanes read the policy only here.
import { defaultMargin, defaultSlippage } from "../../price/Price.ts"
import { minBalanceOf } from "../../health/Funding.ts"
import { finalityByOneOf } from "../../network/Network.ts"
import type { StellarPolicy } from "../../relayer/Policy.ts"
import { present } from "../Presentation.ts"
import { newestRequest } from "../Transaction.ts"
import type { Transaction } from "../Transaction.ts"
import { usesChannels } from "./Channels.ts"
import { capOf } from "./Fees.ts"
import type { Terms } from "./GuardRules.ts"
import type { PaymentTerms } from "./SponsoredPayment.ts"
import type { Stellar, StellarPolicyTerms, StellarTarget } from "./Stellar.ts"
import {
  defaultMaxFee,
  defaultMaxSubentries,
  envelopeValidity,
  maxForeignValidity,
  maxSponsoredValidity
} from "./StellarNumbers.ts"

/** The part of a target that payment strategy, fees and guard depend on. */
interface WithPolicy {
  readonly relayer: { readonly policies?: StellarPolicy }
}

/** The nearest bound, if the setting is outside of them: such policies exist, and are shown as they were given. */
const timeoutOf = (seconds: bigint | undefined): number => {
  const { maximum, minimum, standard } = envelopeValidity
  return seconds === undefined ? standard : Math.min(maximum, Math.max(minimum, Number(seconds)))
}

/** False for work on channels: it uses the relayer's own account, and each payment strategy allows it. */
const isRequest = (transaction: Transaction<Stellar>): boolean => newestRequest(transaction).channels === undefined

/** Whether the relayer only pays for envelopes whose users pay it in a token. */
export const usersPay = ({ relayer: { policies = {} } }: WithPolicy): boolean =>
  policies.fee_payment_strategy === "user"

/** The terms of payments: which tokens count, and at which prices, margin and slippage. */
export const paymentTermsOf = ({ relayer: { address, policies = {} } }: StellarTarget): PaymentTerms => ({
  relayer: address,
  tokens: policies.allowed_tokens ?? [],
  margin: policies.fee_margin_percentage ?? defaultMargin,
  slippage: policies.slippage_percentage ?? defaultSlippage,
  ...present("priceSource", policies.price_source)
})

/** The most seconds that a user's envelope may stay valid: fewer if the user pays, because the present price is used. */
export const timeLimitOf = (target: WithPolicy): number => {
  const { sponsor_time_limit_seconds: limit = maxForeignValidity } = target.relayer.policies ?? {}
  return usersPay(target) ? Math.min(limit, maxSponsoredValidity) : limit
}

/** Whether the payment strategy allows the transaction: the users of a relayer pay, or nobody pays it. */
const isAllowed = (target: StellarTarget, transaction: Transaction<Stellar>): boolean => {
  if (!isRequest(transaction) || transaction.facts.guest !== undefined) return true
  return usersPay(target) === (transaction.facts.build !== undefined)
}

/** Stroops that the policy lets an envelope cost. Absent: the policy does not say it. */
export const highestFeeOf = ({ relayer: { policies = {} } }: WithPolicy): bigint | undefined =>
  policies.max_fee === undefined ? undefined : BigInt(policies.max_fee)

/** Stroops that an envelope may cost. `asked`: what its request says. */
const feeCapOf = (target: WithPolicy, asked: bigint | undefined): bigint =>
  capOf(asked, highestFeeOf(target), defaultMaxFee)

/** What the guard compares envelopes with, as far as the policy says it. */
export const guardTermsOf = (
  target: WithPolicy,
  asked: bigint | undefined
): Pick<Terms, "allowedOperations" | "allowedTokens" | "cap" | "maxSubentries" | "strategy" | "timeLimit"> => {
  const { allowed_operations, allowed_tokens, max_subentries } = target.relayer.policies ?? {}
  return {
    strategy: usersPay(target) ? "user" : "relayer",
    allowedOperations: allowed_operations ?? [],
    allowedTokens: (allowed_tokens ?? []).map(({ asset }) => asset),
    maxSubentries: max_subentries ?? defaultMaxSubentries,
    timeLimit: timeLimitOf(target),
    cap: feeCapOf(target, asked)
  }
}

export const stellarTermsOf = (
  target: StellarTarget,
  transaction: Transaction<Stellar>
): StellarPolicyTerms & { readonly isAllowed: boolean } => {
  const { relayer, network } = target
  const { policies = {} } = relayer
  return {
    minBalance: minBalanceOf("stellar", policies),
    cap: feeCapOf(target, newestRequest(transaction).max_fee),
    timeout: timeoutOf(policies.timeout_seconds),
    finalityByOne: finalityByOneOf(network),
    usesChannels: isRequest(transaction) && usesChannels(policies),
    isAllowed: isAllowed(target, transaction)
  }
}
