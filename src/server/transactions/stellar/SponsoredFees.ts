// What users are asked to send, and what it costs them in a token: what payments and calls of contracts have in common.
import { Effect } from "effect"
import { chargeOf, decimalOf } from "../../../domain/price/Price.ts"
import type { Charge, Rate } from "../../../domain/price/Price.ts"
import { BadRequest } from "../../../domain/request/Request.ts"
import type { TransactionEnvelope } from "../../../domain/transaction/stellar/Envelope.ts"
import { violationOf } from "../../../domain/transaction/stellar/Refusal.ts"
import type { Refusal } from "../../../domain/transaction/stellar/Refusal.ts"
import type { FeeToken } from "../../../domain/transaction/stellar/SponsoredPayment.ts"
import type { Stellar } from "../../../domain/transaction/stellar/Stellar.ts"
import { paymentTermsOf, timeLimitOf } from "../../../domain/transaction/stellar/StellarTerms.ts"
import { priceOf } from "../../lanes/stellar/StellarPayments.ts"
import type { PriceSource } from "../../prices/PriceSource.ts"
import type { Sender } from "../Intake.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import { priceUnavailable } from "../Exchanges.ts"

export const invalid = (field: string, message: string) => BadRequest.of([{ field, message }])

export const paysInXlm = invalid("fee_token", "is XLM, in which users pay the fee themselves; name another token")

export const refusedAs = (field: string) => (found: Refusal) => BadRequest.of([violationOf(found, field)])

/** What a user wants to send, and the token that the user pays with. */
export interface SponsoredRequest {
  /** The envelope in base64, and as plain data. */
  readonly text: string
  readonly envelope: TransactionEnvelope
  readonly token: FeeToken
  /** The field of the body that has the operations. */
  readonly field: string
  /** Accounts of the service. */
  readonly own: ReadonlySet<string>
}

/** Amounts in units of the token. */
export interface Fee {
  readonly charge: Charge
  readonly rate: Rate
  /** Of the token. */
  readonly decimals: number
  /** The most that the user lets a forwarder take. Absent: no forwarder takes the fee. */
  readonly max?: bigint
}

/** Stroops of one XLM, for which the rate of conversion is shown. */
const oneXlm = 10_000_000n

export const shownFee = ({ charge: { units }, decimals, max }: Fee) => ({
  fee_in_token: units,
  fee_in_token_ui: decimalOf(units, decimals),
  ...present("max_fee_in_token", max),
  ...present("max_fee_in_token_ui", max === undefined ? undefined : decimalOf(max, decimals))
})

export const shownRate = ({ decimals, rate }: Fee): string =>
  decimalOf(chargeOf(oneXlm, rate, { margin: 0 }).units, decimals)

export const rateOf = (prices: PriceSource["Service"], { target }: Sender<Stellar>, token: FeeToken) =>
  Effect.mapError(priceOf(prices, target, token), ({ reason }) => priceUnavailable(reason))

/** What the user is charged for an envelope that costs so many stroops, if policy and token allow it. */
export const chargeFor = Effect.fnUntraced(function* (
  { asset, max_allowed_fee }: FeeToken,
  {
    cap,
    fee,
    field,
    rate
  }: { readonly cap: bigint; readonly fee: bigint; readonly field: string; readonly rate: Rate },
  { target }: Sender<Stellar>
) {
  if (fee > cap) {
    return yield* invalid(field, `fee_above_cap: costs ${fee} stroops; max_fee of the policy is ${cap}`)
  }
  const charge = chargeOf(fee, rate, paymentTermsOf(target))
  if (max_allowed_fee !== undefined && charge.units > max_allowed_fee) {
    return yield* invalid(
      field,
      `fee_above_cap: costs ${charge.units} units of ${asset}; max_allowed_fee of the policy is ${max_allowed_fee}`
    )
  }
  return charge
})

/** The end of an envelope that is built now, in unix seconds. */
export const endOf = ({ target }: Sender<Stellar>, now: number): number => Math.floor(now / 1000) + timeLimitOf(target)
