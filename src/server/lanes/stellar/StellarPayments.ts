// Verifies the payment in a token by the user of a fee bump, against the ledger and the present price. Lanes verify it before each
// signature, and requests before the response.
import { Effect, Result } from "effect"
import { present } from "../../../domain/transaction/Presentation.ts"
import type { TransactionEnvelope } from "../../../domain/transaction/stellar/Envelope.ts"
import type { Refusal } from "../../../domain/transaction/stellar/Refusal.ts"
import { payerProblem, paymentIn, tokenProblem } from "../../../domain/transaction/stellar/SponsoredPayment.ts"
import type { FeeToken } from "../../../domain/transaction/stellar/SponsoredPayment.ts"
import type { StellarTarget } from "../../../domain/transaction/stellar/Stellar.ts"
import type { PaymentView } from "../../../domain/transaction/stellar/StellarSeen.ts"
import { paymentTermsOf } from "../../../domain/transaction/stellar/StellarTerms.ts"
import { library } from "../../chains/stellar/StellarLibrary.ts"
import type { StellarProviders } from "../../chains/stellar/StellarNodes.ts"
import { paidAccounts } from "../../chains/stellar/StellarTrustlines.ts"
import type { PriceSource } from "../../prices/PriceSource.ts"

/** The price of a token for a relayer. */
export const priceOf = (
  prices: PriceSource["Service"],
  target: StellarTarget,
  { asset, price, price_bounds }: FeeToken
) =>
  prices.rate({
    network: target.network.id,
    source: paymentTermsOf(target).priceSource,
    token: { id: asset, ...present("price", price), ...present("bounds", price_bounds) }
  })

interface Verifying {
  readonly providers: StellarProviders
  readonly prices: PriceSource["Service"]
  readonly target: StellarTarget
}

/** `broken`: why no payment counts. The amount is not checked here, because it depends on the fee. */
export interface PaymentFindings {
  readonly broken?: Refusal
  readonly payment?: PaymentView
}

export const verify = Effect.fn("StellarPayments.verify")(function* (
  { prices, providers, target }: Verifying,
  envelope: TransactionEnvelope
) {
  const lib = yield* library
  const terms = paymentTermsOf(target)
  const found = paymentIn(envelope, terms)
  if (Result.isFailure(found)) return { broken: found.failure } satisfies PaymentFindings
  const { amount, credit, payer, token } = found.success
  const { asset } = token
  const holders = { payer, relayer: terms.relayer }
  const read = yield* Effect.result(providers.first((node) => paidAccounts(lib, node, credit, holders)))
  if (Result.isFailure(read)) return { payment: { _tag: "Unreadable" } } satisfies PaymentFindings
  const broken = tokenProblem(asset, read.success) ?? payerProblem(found.success, read.success)
  if (broken !== undefined) return { broken } satisfies PaymentFindings
  const price = yield* Effect.result(priceOf(prices, target, token))
  if (Result.isFailure(price)) return { payment: { _tag: "NoPrice" } } satisfies PaymentFindings
  const verdict: PaymentFindings = {
    payment: { _tag: "Priced", asset, amount, price: price.success, slippage: terms.slippage }
  }
  return verdict
})
