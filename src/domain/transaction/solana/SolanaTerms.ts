// What the policy of a solana relayer means for its transactions. Admission and lanes read the policy only here.
import { minBalanceOf } from "../../health/Funding.ts"
import { finalityByOneOf } from "../../network/Network.ts"
import { defaultMargin, defaultSlippage } from "../../price/Price.ts"
import { present } from "../Presentation.ts"
import type { Form, GuardTerms } from "./Guard.ts"
import type { SolanaPolicyTerms, SolanaRequest, SolanaTarget } from "./Solana.ts"
import type { PaymentTerms } from "./Payment.ts"
import { defaultMaxFee } from "./SolanaNumbers.ts"

const lower = (one: bigint, other: bigint | undefined): bigint => (other === undefined || one < other ? one : other)

const lowest = (limits: ReadonlyArray<bigint | undefined>): bigint | undefined =>
  limits.reduce((least, one) => (one === undefined ? least : lower(one, least)), undefined)

export const guardTermsOf = (
  { relayer: { address, policies = {} } }: SolanaTarget,
  { max_fee_lamports, max_value }: Pick<SolanaRequest, "max_fee_lamports" | "max_value">
): GuardTerms => ({
  relayer: address,
  maxFee: lower(policies.max_allowed_fee_lamports ?? defaultMaxFee, max_fee_lamports),
  authority: policies.fee_payer_as_authority ?? "own_instructions",
  authorityPrograms: policies.authority_programs ?? [],
  feeMints: (policies.allowed_tokens ?? []).map(({ mint }) => mint),
  ...present("maxSpent", lowest([policies.max_lamports_out, max_value])),
  ...present("maxBytes", policies.max_tx_data_size),
  ...present("maxSignatures", policies.max_signatures),
  ...present("allowedPrograms", policies.allowed_programs),
  ...present("allowedAccounts", policies.allowed_accounts),
  ...present("disallowedAccounts", policies.disallowed_accounts)
})

export const solanaTermsOf = (
  target: SolanaTarget,
  request: SolanaRequest
): Omit<SolanaPolicyTerms, "isSponsored"> => ({
  minBalance: minBalanceOf("solana", target.relayer.policies),
  guard: guardTermsOf(target, request),
  finalityByOne: finalityByOneOf(target.network)
})

/** What payments of users are worth, and which count. */
export const paymentTermsOf = ({ relayer: { address, policies = {} } }: SolanaTarget): PaymentTerms => ({
  relayer: address,
  tokens: policies.allowed_tokens ?? [],
  allowedExtensions: policies.allowed_extensions ?? [],
  margin: policies.fee_margin_percentage ?? defaultMargin,
  slippage: policies.slippage_percentage ?? defaultSlippage,
  ...present("priceSource", policies.price_source)
})

/** Whether the relayer pays fees itself. The other strategy needs a payment of the user. */
export const paysFees = ({ relayer: { policies = {} } }: SolanaTarget): boolean =>
  policies.fee_payment_strategy === "relayer"

/** Prebuilt transactions whose users pay are sponsored. */
export const formOf = (
  target: SolanaTarget,
  { transaction }: Pick<SolanaRequest, "transaction">
): Extract<Form, "instructions" | "prebuilt" | "sponsored"> => {
  if (transaction === undefined) return "instructions"
  return paysFees(target) ? "prebuilt" : "sponsored"
}
