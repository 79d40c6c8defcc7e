// Verifies the payment of a user in a token, against the ledger and the present price. Lanes verify it before each signature, and
// requests before the response.
import { Effect, Result } from "effect"
import { present } from "../../../domain/transaction/Presentation.ts"
import type { TransactionEnvelope } from "../../../domain/transaction/stellar/Envelope.ts"
import { forwardingIn } from "../../../domain/transaction/stellar/Forwarding.ts"
import { refusal } from "../../../domain/transaction/stellar/Refusal.ts"
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

/** A payment with the present price of its token. */
const valueOf = Effect.fnUntraced(function* (
  { prices, target }: Omit<Verifying, "providers">,
  token: FeeToken,
  amount: bigint
) {
  const price = yield* Effect.result(priceOf(prices, target, token))
  if (Result.isFailure(price)) return { payment: { _tag: "NoPrice" } } satisfies PaymentFindings
  const { slippage } = paymentTermsOf(target)
  const verdict: PaymentFindings = {
    payment: { _tag: "Priced", asset: token.asset, amount, price: price.success, slippage }
  }
  return verdict
})

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
  return yield* valueOf({ prices, target }, token, amount)
})

/** The forwarder moves the token, so the simulation of the call shows whether the user can pay. */
export const verifyForward = Effect.fn("StellarPayments.verifyForward")(function* (
  { prices, target }: Verifying,
  envelope: TransactionEnvelope
) {
  const { relayer, tokens } = paymentTermsOf(target)
  const found = forwardingIn(envelope, { relayer, ...present("forwarder", target.network.fee_forwarder) })
  if (Result.isFailure(found)) return { broken: found.failure } satisfies PaymentFindings
  const { fee, token: asset } = found.success
  const token = tokens.find((one) => one.asset === asset)
  if (token !== undefined) return yield* valueOf({ prices, target }, token, fee)
  const broken = refusal("payment_insufficient", `${asset} is no token in allowed_tokens of the relayer's policy`)
  return { broken } satisfies PaymentFindings
})
