// Envelopes whose user pays the relayer in a token: which payment counts, and what it must be worth.
import { Result } from "effect"
import { lessSlippage, unitsFor } from "../../price/Price.ts"
import type { PriceSource, TokenPrice } from "../../price/Price.ts"
import type { StellarPolicy } from "../../relayer/Policy.ts"
import type { TransactionEnvelope } from "./Envelope.ts"
import { refusal, refuse } from "./Refusal.ts"
import type { Refusal } from "./Refusal.ts"
import { parse } from "./StrKey.ts"

export type FeeToken = NonNullable<StellarPolicy["allowed_tokens"]>[number]

/** What the policy says about payments of users. */
export interface PaymentTerms {
  readonly relayer: string
  /** Absent in the policy: none. */
  readonly tokens: ReadonlyArray<FeeToken>
  /** Absent: there are no prices. */
  readonly priceSource?: PriceSource
  /** Percentages. */
  readonly margin: number
  readonly slippage: number
}

/** A classic token: neither XLM nor a contract. */
export interface Credit {
  readonly code: string
  readonly issuer: string
}

/** Parses `CODE:ISSUER`. Undefined: the text is something else, or the issuer is not a valid address. */
export const creditOf = (asset: string): Credit | undefined => {
  const [code = "", issuer = ""] = asset.split(":")
  return parse(issuer)?.kind === "account" ? { code, issuer } : undefined
}

/** The payment of a user to the relayer. */
export interface UserPayment {
  readonly token: FeeToken
  readonly credit: Credit
  readonly payer: string
  readonly amount: bigint
}

const insufficient = (detail: string): Refusal => refusal("payment_insufficient", detail)

/** Only a plain payment to the exact address counts, and there must be exactly one. */
export const paymentIn = (
  { operations, source }: TransactionEnvelope,
  { relayer, tokens }: PaymentTerms
): Result.Result<UserPayment, Refusal> => {
  const toRelayer = operations.flatMap((operation) =>
    operation.type === "payment" && operation.destination.address === relayer && !operation.destination.isMuxed
      ? [operation]
      : []
  )
  const [payment] = toRelayer
  if (payment === undefined || toRelayer.length > 1) {
    return refuse("payment_insufficient", `expected one payment to ${relayer}, found ${toRelayer.length}`)
  }
  const { amount, asset } = payment
  const token = tokens.find((one) => one.asset === asset)
  const credit = creditOf(asset)
  return token === undefined || credit === undefined
    ? refuse("payment_insufficient", `${asset} is no token in allowed_tokens of the relayer's policy`)
    : Result.succeed({ token, credit, payer: (payment.source ?? source).address, amount })
}

/** The trust line of an account for a credit. */
export interface Trustline {
  readonly balance: bigint
  readonly sellingLiabilities: bigint
  readonly buyingLiabilities: bigint
  readonly limit: bigint
  readonly isAuthorized: boolean
  readonly hasClawback: boolean
}

/** The accounts of a payment at one ledger. An issuer needs no trust line for its own credit. */
export interface PaidAccounts {
  /** Whether the issuer can claw back from new trust lines. */
  readonly issuerClawsBack: boolean
  /** Undefined: there is no trust line. */
  readonly payer: Trustline | "issuer" | undefined
  readonly relayer: Trustline | "issuer" | undefined
}

/** Why users cannot pay with the token: its issuer can take payments back, or the relayer cannot receive it. */
export const tokenProblem = (asset: string, { issuerClawsBack, relayer }: PaidAccounts): Refusal | undefined => {
  if (issuerClawsBack || (relayer !== "issuer" && relayer?.hasClawback === true)) {
    return refusal("fee_token_clawback", `the issuer of ${asset} can take payments back`)
  }
  if (relayer === "issuer" || relayer?.isAuthorized === true) return undefined
  return insufficient(`the relayer has no trust line of ${asset} that can receive payments`)
}

/** Why the payment would fail, by the accounts of the ledger. */
export const payerProblem = (
  { amount, payer: address, token: { asset } }: Pick<UserPayment, "amount" | "payer" | "token">,
  { payer, relayer }: PaidAccounts
): Refusal | undefined => {
  if (relayer !== "issuer" && relayer !== undefined) {
    const free = relayer.limit - relayer.balance - relayer.buyingLiabilities
    if (free < amount) return insufficient(`the relayer's trust line can receive ${free} units of ${asset}`)
  }
  if (payer === "issuer") return undefined
  if (payer?.isAuthorized !== true) return insufficient(`${address} has no trust line of ${asset} that can pay`)
  const spendable = payer.balance - payer.sellingLiabilities
  return spendable < amount
    ? insufficient(`${address} has ${spendable} units of ${asset}, the payment is ${amount}`)
    : undefined
}

/** A payment with the present price of its token. */
export interface PricedPayment {
  readonly asset: string
  readonly amount: bigint
  readonly price: TokenPrice
  /** Percentage. */
  readonly slippage: number
}

/** The smallest payment that covers a fee bump at the present price. */
export const leastOf = (fee: bigint, { price, slippage }: Pick<PricedPayment, "price" | "slippage">): bigint =>
  lessSlippage(unitsFor(fee, price), slippage)

/** `fee`: stroops of the fee bump. */
export const amountProblem = (payment: PricedPayment, fee: bigint): Refusal | undefined => {
  const { amount, asset } = payment
  const least = leastOf(fee, payment)
  return amount < least
    ? insufficient(`the payment is ${amount} units of ${asset}, at least ${least} are needed at the present price`)
    : undefined
}
