// Quotes and builds classic transactions whose users pay in a credit: the user's operations, and then a payment to the relayer.
import { Clock, DateTime, Effect, Result } from "effect"
import { present } from "../../../domain/transaction/Presentation.ts"
import { guard } from "../../../domain/transaction/stellar/Guard.ts"
import {
  creditOf,
  payerProblem,
  paymentIn,
  tokenProblem
} from "../../../domain/transaction/stellar/SponsoredPayment.ts"
import type { UserPayment } from "../../../domain/transaction/stellar/SponsoredPayment.ts"
import type { Stellar } from "../../../domain/transaction/stellar/Stellar.ts"
import type { StellarBuilding } from "../../../domain/transaction/stellar/StellarExchanges.ts"
import { creditDecimals } from "../../../domain/transaction/stellar/StellarNumbers.ts"
import { firstPrice } from "../../../domain/transaction/stellar/StellarOffers.ts"
import { paymentTermsOf } from "../../../domain/transaction/stellar/StellarTerms.ts"
import { decode } from "../../chains/stellar/StellarDecoding.ts"
import { paymentOf, placed } from "../../chains/stellar/StellarEnvelopes.ts"
import { termsOf } from "../../chains/stellar/StellarGuarding.ts"
import { library } from "../../chains/stellar/StellarLibrary.ts"
import type { StellarProviders } from "../../chains/stellar/StellarNodes.ts"
import { networkIdOf } from "../../chains/stellar/StellarSignatures.ts"
import { paidAccounts } from "../../chains/stellar/StellarTrustlines.ts"
import { PriceSource } from "../../prices/PriceSource.ts"
import type { Sender } from "../Intake.ts"
import { feesOf } from "./RelayerChain.ts"
import * as RelayerChain from "./RelayerChain.ts"
import { chargeFor, endOf, invalid, rateOf, refusedAs, shownFee } from "./SponsoredFees.ts"
import type { Fee, SponsoredRequest } from "./SponsoredFees.ts"

interface Priced extends Fee {
  /** Base64. */
  readonly text: string
  readonly payment: UserPayment
  /** Unix seconds. */
  readonly maxTime: number
  readonly providers: StellarProviders
}

export const make = Effect.gen(function* () {
  const chain = yield* RelayerChain.make
  const prices = yield* PriceSource

  const sequenceOf = Effect.fnUntraced(function* (providers: StellarProviders, { envelope, field }: SponsoredRequest) {
    const { address } = envelope.source
    const { of } = yield* chain.look(providers, [address])
    return of.get(address)?.sequence ?? (yield* invalid(field, `no_account: ${address} does not exist on the network`))
  })

  const price = Effect.fnUntraced(function* (wanted: SponsoredRequest, sender: Sender<Stellar>) {
    const { target } = sender
    const { address } = target.relayer
    const { envelope, field, own, text, token } = wanted
    const credit = creditOf(token.asset)
    if (credit === undefined)
      return yield* invalid("fee_token", "expected CODE:ISSUER, because the transaction calls no contract")
    const providers = yield* chain.providersOf(sender)
    const sequence = yield* sequenceOf(providers, wanted)
    const lib = yield* library
    const now = yield* Clock.currentTimeMillis
    const terms = termsOf(lib, { target, own, maxFee: undefined, now })
    const operations = envelope.operations.length + 1
    const { baseFee } = yield* providers.settings
    const fee = baseFee * BigInt(operations)
    const stats = (yield* feesOf(providers))?.inclusionFee
    const rate = yield* rateOf(prices, sender, token)
    const preparation = { operations, out: 0n, baseFee, inner: { fee }, ...present("stats", stats) }
    const outer = firstPrice(terms.cap, preparation, "guest").fee ?? fee
    const charge = yield* chargeFor(token, { fee: outer, cap: terms.cap, rate, field }, sender)
    const maxTime = endOf(sender, now)
    const networkId = networkIdOf(target.network.passphrase)
    const { envelope: built } = placed(
      lib,
      text,
      { sequence: sequence + 1n, fee, maxTime: BigInt(maxTime) },
      networkId,
      paymentOf(lib, { credit, amount: charge.units, destination: address })
    )
    const guarded = (yield* decode(built, { networkId, known: own })).pipe(
      Result.flatMap((one) => guard("built", one, terms)),
      Result.flatMap((one) => paymentIn(one, paymentTermsOf(target)))
    )
    if (Result.isFailure(guarded)) return yield* refusedAs(field)(guarded.failure)
    const { success: payment } = guarded
    return { text: built, payment, charge, rate, decimals: creditDecimals, maxTime, providers } satisfies Priced
  })

  /** The accounts of the payment, if the relayer can be paid in the token. */
  const readAccounts = Effect.fnUntraced(function* ({ payment, providers }: Priced, relayer: string) {
    const lib = yield* library
    const { credit, payer, token } = payment
    const accounts = yield* chain.first(providers, (node) => paidAccounts(lib, node, credit, { payer, relayer }))
    const problem = tokenProblem(token.asset, accounts)
    return problem === undefined ? accounts : yield* refusedAs("fee_token")(problem)
  })

  const quote = Effect.fnUntraced(function* (wanted: SponsoredRequest, sender: Sender<Stellar>) {
    const priced = yield* price(wanted, sender)
    yield* readAccounts(priced, sender.relayer.address)
    return priced satisfies Fee
  })

  const build = Effect.fnUntraced(function* (wanted: SponsoredRequest, sender: Sender<Stellar>) {
    const priced = yield* price(wanted, sender)
    const accounts = yield* readAccounts(priced, sender.relayer.address)
    const problem = payerProblem(priced.payment, accounts)
    if (problem !== undefined) return yield* refusedAs(wanted.field)(problem)
    const built: StellarBuilding["response"] = {
      transaction: priced.text,
      ...shownFee(priced),
      fee_in_stroops: priced.charge.native,
      fee_token: wanted.token.asset,
      valid_until: DateTime.makeUnsafe(priced.maxTime * 1000)
    }
    return built
  })

  return { quote, build }
})
