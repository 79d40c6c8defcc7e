// Verifies the payment of a sponsored message against the chain and the present price. Lanes do it before every signature, and
// requests before they answer with a transaction that a lane would refuse.
import { Effect, Result } from "effect"
import { instructionsOf } from "../../../domain/transaction/solana/Instruction.ts"
import * as Payments from "../../../domain/transaction/solana/Payment.ts"
import type { FeeToken, Payment, PaymentTerms } from "../../../domain/transaction/solana/Payment.ts"
import type { WireTransaction } from "../../../domain/transaction/solana/Message.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import { systemProgram } from "../../../domain/transaction/solana/Programs.ts"
import type { SolanaTarget } from "../../../domain/transaction/solana/Solana.ts"
import { maxMintBytes } from "../../../domain/transaction/solana/SolanaNumbers.ts"
import { paymentTermsOf } from "../../../domain/transaction/solana/SolanaTerms.ts"
import * as Accounts from "../../chains/solana/SolanaAccounts.ts"
import { derivations } from "../../chains/solana/SolanaKeys.ts"
import type { SolanaProviders } from "../../chains/solana/SolanaNodes.ts"
import type { PriceSource } from "../../prices/PriceSource.ts"

/** Payments of one message that are read on the chain. A message needs one. */
const maxRead = 4

/** `Unreadable`: no provider gives its accounts. `NoPrice`: there is no price that may be used now. */
type PaymentVerdict =
  | { readonly _tag: "Paid"; readonly payment: Payment; readonly least: bigint }
  | { readonly _tag: "Unpaid"; readonly problem: string }
  | { readonly _tag: "NoPrice"; readonly problem: string }
  | { readonly _tag: "Unreadable" }

/** The price of a token for a relayer. SOL has one without any source. */
export const priceOf = (
  prices: PriceSource["Service"],
  target: SolanaTarget,
  { mint, price, price_bounds }: FeeToken
) =>
  mint === Payments.nativeToken
    ? Effect.succeed(Payments.nativePrice)
    : prices.rate({
        network: target.network.id,
        source: paymentTermsOf(target).priceSource,
        token: { id: mint, ...present("price", price), ...present("bounds", price_bounds) }
      })

interface Verifying {
  readonly providers: SolanaProviders
  readonly prices: PriceSource["Service"]
  readonly target: SolanaTarget
  readonly transaction: WireTransaction
  /** Lamports that the message costs. */
  readonly fee: bigint
  /** What the tables of the message load. */
  readonly loaded: ReadonlyArray<string>
}

const verifyOne = Effect.fnUntraced(function* (
  { providers, prices, target, fee }: Verifying,
  terms: PaymentTerms,
  payment: Payment
) {
  const { token, program, source, destination } = payment
  if (program !== systemProgram) {
    const addresses = [source, destination, token.mint]
    const read = yield* Effect.result(providers.first((node) => Accounts.read(node, addresses, maxMintBytes)))
    if (Result.isFailure(read)) return { _tag: "Unreadable" } satisfies PaymentVerdict
    const found = read.success
    const problem = Payments.paymentProblem(
      payment,
      {
        source: Accounts.stateOf(found.get(source)),
        destination: Accounts.stateOf(found.get(destination)),
        mint: Accounts.mintOf(found.get(token.mint))
      },
      terms
    )
    if (problem !== undefined) return { _tag: "Unpaid", problem } satisfies PaymentVerdict
  }
  const price = yield* Effect.result(priceOf(prices, target, token))
  if (Result.isFailure(price)) return { _tag: "NoPrice", problem: price.failure.reason } satisfies PaymentVerdict
  const least = Payments.leastOf(fee, price.success, terms)
  const problem = Payments.tooLow(payment, least)
  const verdict: PaymentVerdict = problem === undefined ? { _tag: "Paid", payment, least } : { _tag: "Unpaid", problem }
  return verdict
})

/** The first payment that counts. If none counts: why the first one does not. */
export const verify = Effect.fn("SolanaPayments.verify")(function* (verifying: Verifying) {
  const { target, transaction, loaded } = verifying
  const { message } = transaction
  const terms = paymentTermsOf(target)
  const signers = new Set(message.keys.slice(0, message.signers))
  const payments = Payments.paymentsOf(instructionsOf(message, loaded), signers, terms, derivations)
  let first: PaymentVerdict | undefined
  for (const payment of payments.slice(0, maxRead)) {
    const verdict = yield* verifyOne(verifying, terms, payment)
    if (verdict._tag === "Paid") return verdict
    first ??= verdict
  }
  const none: PaymentVerdict = { _tag: "Unpaid", problem: Payments.missingPayment(terms) }
  return first ?? none
})
