// Quotes and builds transactions whose users pay the fee in a token: the user's operations, and then a payment to the relayer. The
// service stores nothing of a build, and does not trust it later: it verifies the payment before the relayer signs.
import { Clock, DateTime, Effect, Result } from "effect"
import { chargeOf, decimalOf } from "../../../domain/price/Price.ts"
import type { Charge, Rate } from "../../../domain/price/Price.ts"
import { BadRequest } from "../../../domain/request/Request.ts"
import type { Violation } from "../../../domain/request/Request.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import type { TransactionEnvelope } from "../../../domain/transaction/stellar/Envelope.ts"
import { inconsistenciesOf } from "../../../domain/transaction/stellar/Consistency.ts"
import { isSoroban } from "../../../domain/transaction/stellar/Envelope.ts"
import { firstRate, outerFee } from "../../../domain/transaction/stellar/Fees.ts"
import { guard } from "../../../domain/transaction/stellar/Guard.ts"
import { refusal, violationOf } from "../../../domain/transaction/stellar/Refusal.ts"
import type { Refusal } from "../../../domain/transaction/stellar/Refusal.ts"
import {
  creditOf,
  payerProblem,
  paymentIn,
  tokenProblem
} from "../../../domain/transaction/stellar/SponsoredPayment.ts"
import type { FeeToken, UserPayment } from "../../../domain/transaction/stellar/SponsoredPayment.ts"
import type { Stellar, StellarTarget } from "../../../domain/transaction/stellar/Stellar.ts"
import {
  BuildStellarTransaction,
  QuoteStellarTransaction
} from "../../../domain/transaction/stellar/StellarExchanges.ts"
import type { StellarBuilding, StellarQuoting } from "../../../domain/transaction/stellar/StellarExchanges.ts"
import { baseFee, creditDecimals } from "../../../domain/transaction/stellar/StellarNumbers.ts"
import { paymentTermsOf, timeLimitOf, usersPay } from "../../../domain/transaction/stellar/StellarTerms.ts"
import { decode } from "../../chains/stellar/StellarDecoding.ts"
import { draftOf } from "../../chains/stellar/StellarDrafts.ts"
import { paymentOf, placed } from "../../chains/stellar/StellarEnvelopes.ts"
import { termsOf } from "../../chains/stellar/StellarGuarding.ts"
import { library } from "../../chains/stellar/StellarLibrary.ts"
import type { StellarProviders } from "../../chains/stellar/StellarNodes.ts"
import { networkIdOf } from "../../chains/stellar/StellarSignatures.ts"
import { paidAccounts } from "../../chains/stellar/StellarTrustlines.ts"
import type * as OwnAccounts from "../../lanes/stellar/OwnAccounts.ts"
import { priceOf } from "../../lanes/stellar/StellarPayments.ts"
import { PriceSource } from "../../prices/PriceSource.ts"
import type { Answering, Sender } from "../Intake.ts"
import { needsUserStrategy, notAllowedToken, priceUnavailable } from "../Sponsoring.ts"
import { feesOf } from "./RelayerChain.ts"
import * as RelayerChain from "./RelayerChain.ts"
import { fieldOf } from "./StellarChecks.ts"

type Body = StellarQuoting["request"]

const invalid = (field: string, message: string) => BadRequest.of([{ field, message }])

/** Problems of the fields of a body, before its envelope is read. */
const violationsOf = ({ operations, source_account, transaction_xdr }: Body): ReadonlyArray<Violation> => [
  ...inconsistenciesOf({ ...present("operations", operations), ...present("transaction_xdr", transaction_xdr) }),
  ...(operations === undefined || source_account !== undefined
    ? []
    : [{ field: "source_account", message: "is required with operations: the account of the user" }])
]

const isXlm = (asset: string): boolean => asset === "native" || asset === "XLM"

const tokenOf = (target: StellarTarget, asset: string) => {
  if (!usersPay(target)) return needsUserStrategy
  if (isXlm(asset)) return invalid("fee_token", "is XLM, in which users pay the fee themselves; name another token")
  const token = paymentTermsOf(target).tokens.find((one) => one.asset === asset)
  const credit = creditOf(asset)
  if (token === undefined) return notAllowedToken
  return credit === undefined ? invalid("fee_token", "expected CODE:ISSUER") : Effect.succeed({ token, credit })
}

const secondsOf = (moment: number): number => Math.floor(moment / 1000)

interface Priced {
  /** Base64. */
  readonly text: string
  readonly payment: UserPayment
  readonly charge: Charge
  readonly rate: Rate
  /** Unix seconds. */
  readonly maxTime: number
  readonly providers: StellarProviders
}

/** `ownAccounts`: of `OwnAccounts.make`. */
export const make = Effect.fnUntraced(function* (ownAccounts: Effect.Success<typeof OwnAccounts.make>) {
  const chain = yield* RelayerChain.make
  const prices = yield* PriceSource

  /** The envelope that the user gave, or one with the operations that the user gave. */
  const readEnvelope = Effect.fnUntraced(function* (body: Body, { target }: Sender<Stellar>, own: ReadonlySet<string>) {
    const refused = (found: Refusal) => BadRequest.of([violationOf(found, fieldOf(body))])
    const violations = violationsOf(body)
    if (violations.length > 0) return yield* BadRequest.of(violations)
    const { operations, source_account = "", transaction_xdr } = body
    const networkId = networkIdOf(target.network.passphrase)
    const request = { ...present("operations", operations), ...present("transaction_xdr", transaction_xdr) }
    const text = yield* Effect.mapError(draftOf(source_account, request, networkId), refused)
    const decoded = yield* decode(text, { networkId, known: own })
    if (Result.isFailure(decoded)) return yield* refused(decoded.failure)
    const envelope = decoded.success
    if (envelope.kind !== "transaction") {
      return yield* refused(
        refusal("xdr_kind", "expected a transaction, which is no fee bump and not of the format V0")
      )
    }
    if (source_account !== "" && source_account !== envelope.source.address) {
      return yield* invalid("source_account", "must be the source of the envelope")
    }
    if (own.has(envelope.source.address)) {
      return yield* refused(refusal("source_is_own", `${envelope.source.address} is an account of this service`))
    }
    return { text, envelope }
  })

  const sequenceOf = Effect.fnUntraced(function* (
    providers: StellarProviders,
    { source }: TransactionEnvelope,
    field: string
  ) {
    const { of } = yield* chain.look(providers, [source.address])
    const account = of.get(source.address)
    return account?.sequence ?? (yield* invalid(field, `no_account: ${source.address} does not exist on the network`))
  })

  /** The present cost of the fee bump, in stroops and in the token. */
  const chargeFor = Effect.fnUntraced(function* (
    { asset, max_allowed_fee }: FeeToken,
    outer: bigint,
    cap: bigint,
    rate: Rate,
    { target }: Sender<Stellar>,
    field: string
  ) {
    if (outer > cap) {
      return yield* invalid(field, `fee_above_cap: costs ${outer} stroops; max_fee of the policy is ${cap}`)
    }
    const charge = chargeOf(outer, rate, paymentTermsOf(target))
    if (max_allowed_fee !== undefined && charge.units > max_allowed_fee) {
      return yield* invalid(
        field,
        `fee_above_cap: costs ${charge.units} units of ${asset}; max_allowed_fee of the policy is ${max_allowed_fee}`
      )
    }
    return charge
  })

  const price = Effect.fnUntraced(function* (body: Body, sender: Sender<Stellar>) {
    const { target } = sender
    const { address } = target.relayer
    const field = fieldOf(body)
    const { credit, token } = yield* tokenOf(target, body.fee_token)
    const own = yield* ownAccounts
    const { envelope, text } = yield* readEnvelope(body, sender, own)
    if (envelope.operations.some(isSoroban)) {
      return yield* invalid(field, "not_configured: the network has no fee_forwarder, which calls of contracts need")
    }
    const providers = yield* chain.providersOf(sender)
    const sequence = yield* sequenceOf(providers, envelope, field)
    const lib = yield* library
    const now = yield* Clock.currentTimeMillis
    const terms = termsOf(lib, { target, own, maxFee: undefined, now })
    const operations = envelope.operations.length + 1
    const fee = baseFee * BigInt(operations)
    const stats = (yield* feesOf(providers))?.inclusionFee
    const rate = yield* Effect.mapError(priceOf(prices, target, token), ({ reason }) => priceUnavailable(reason))
    const charge = yield* chargeFor(
      token,
      outerFee({ fee, operations }, firstRate(stats)),
      terms.cap,
      rate,
      sender,
      field
    )
    const maxTime = secondsOf(now) + timeLimitOf(target)
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
    if (Result.isFailure(guarded)) return yield* BadRequest.of([violationOf(guarded.failure, field)])
    const priced: Priced = { text: built, payment: guarded.success, charge, rate, maxTime, providers }
    return priced
  })

  /** The accounts of the payment, if the relayer can be paid in the token. */
  const readAccounts = Effect.fnUntraced(function* ({ payment, providers }: Priced, relayer: string) {
    const lib = yield* library
    const { credit, payer, token } = payment
    const accounts = yield* chain.first(providers, (node) => paidAccounts(lib, node, credit, { payer, relayer }))
    const problem = tokenProblem(token.asset, accounts)
    return problem === undefined ? accounts : yield* BadRequest.of([violationOf(problem, "fee_token")])
  })

  const feeOf = ({ charge: { units } }: Priced) => ({
    fee_in_token: units,
    fee_in_token_ui: decimalOf(units, creditDecimals)
  })

  const quote: Answering<Stellar, StellarQuoting> = {
    body: QuoteStellarTransaction,
    answer: Effect.fnUntraced(function* (body, sender) {
      const priced = yield* price(body, sender)
      yield* readAccounts(priced, sender.relayer.address)
      const perXlm = chargeOf(10n ** BigInt(creditDecimals), priced.rate, { margin: 0 }).units
      return { ...feeOf(priced), conversion_rate: decimalOf(perXlm, creditDecimals) }
    })
  }

  const build: Answering<Stellar, StellarBuilding> = {
    body: BuildStellarTransaction,
    answer: Effect.fnUntraced(function* (body, sender) {
      const priced = yield* price(body, sender)
      const accounts = yield* readAccounts(priced, sender.relayer.address)
      const problem = payerProblem(priced.payment, accounts)
      if (problem !== undefined) return yield* BadRequest.of([violationOf(problem, fieldOf(body))])
      const { charge, maxTime, payment, text } = priced
      const built: StellarBuilding["response"] = {
        transaction: text,
        ...feeOf(priced),
        fee_in_stroops: charge.native,
        fee_token: payment.token.asset,
        valid_until: DateTime.makeUnsafe(maxTime * 1000)
      }
      return built
    })
  }

  return { quote, build }
})
