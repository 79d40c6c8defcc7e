// Quotes and builds transactions whose users pay the fee in a token. What is sent later is verified again before the relayer signs.
import { Effect, Result } from "effect"
import { BadRequest } from "../../../domain/request/Request.ts"
import type { Violation } from "../../../domain/request/Request.ts"
import { inconsistenciesOf } from "../../../domain/transaction/stellar/Consistency.ts"
import { isSoroban } from "../../../domain/transaction/stellar/Envelope.ts"
import { refusal } from "../../../domain/transaction/stellar/Refusal.ts"
import type { Stellar, StellarTarget } from "../../../domain/transaction/stellar/Stellar.ts"
import {
  BuildStellarTransaction,
  QuoteStellarTransaction
} from "../../../domain/transaction/stellar/StellarExchanges.ts"
import type { StellarBuilding, StellarQuoting } from "../../../domain/transaction/stellar/StellarExchanges.ts"
import { paymentTermsOf, usersPay } from "../../../domain/transaction/stellar/StellarTerms.ts"
import { decode } from "../../chains/stellar/StellarDecoding.ts"
import { draftOf } from "../../chains/stellar/StellarDrafts.ts"
import { networkIdOf } from "../../chains/stellar/StellarSignatures.ts"
import type { OwnAccounts } from "../../lanes/stellar/OwnAccounts.ts"
import type { Answering, Sender } from "../Intake.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import { needsUserStrategy, notAllowedToken } from "../Exchanges.ts"
import * as SponsoredCalls from "./SponsoredCalls.ts"
import { invalid, paysInXlm, refusedAs, shownFee, shownRate } from "./SponsoredFees.ts"
import type { Fee, SponsoredRequest } from "./SponsoredFees.ts"
import * as SponsoredPayments from "./SponsoredPayments.ts"
import { fieldOf } from "./StellarChecks.ts"

type Body = StellarQuoting["request"]

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
  if (isXlm(asset)) return paysInXlm
  const token = paymentTermsOf(target).tokens.find((one) => one.asset === asset)
  return token === undefined ? notAllowedToken : Effect.succeed(token)
}

export const make = Effect.fnUntraced(function* (ownAccounts: OwnAccounts) {
  const payments = yield* SponsoredPayments.make
  const calls = yield* SponsoredCalls.make

  /** The envelope that the user gave, or one with the operations that the user gave. */
  const read = Effect.fnUntraced(function* (body: Body, { target }: Sender<Stellar>) {
    const token = yield* tokenOf(target, body.fee_token)
    const field = fieldOf(body)
    const refused = refusedAs(field)
    const violations = violationsOf(body)
    if (violations.length > 0) return yield* BadRequest.of(violations)
    const { operations, source_account = "", transaction_xdr } = body
    const networkId = networkIdOf(target.network.passphrase)
    const request = { ...present("operations", operations), ...present("transaction_xdr", transaction_xdr) }
    const text = yield* Effect.mapError(draftOf(source_account, request, networkId), refused)
    const own = yield* ownAccounts({ text })
    const decoded = yield* decode(text, { networkId, known: own })
    if (Result.isFailure(decoded)) return yield* refused(decoded.failure)
    const envelope = decoded.success
    if (envelope.kind !== "transaction") {
      return yield* refused(refusal("xdr_kind", "expected an envelope of the format V1, and no fee bump"))
    }
    if (source_account !== "" && source_account !== envelope.source.address) {
      return yield* invalid("source_account", "must be the source of the envelope")
    }
    if (own.has(envelope.source.address)) {
      return yield* refused(refusal("source_is_own", `${envelope.source.address} is an account of this service`))
    }
    const wanted: SponsoredRequest = { text, envelope, token, field, own }
    return { wanted, way: envelope.operations.some(isSoroban) ? calls : payments }
  })

  const quote: Answering<Stellar, StellarQuoting> = {
    body: QuoteStellarTransaction,
    answer: Effect.fnUntraced(function* (body, sender) {
      const { wanted, way } = yield* read(body, sender)
      const fee: Fee = yield* way.quote(wanted, sender)
      return { ...shownFee(fee), conversion_rate: shownRate(fee) }
    })
  }

  const build: Answering<Stellar, StellarBuilding> = {
    body: BuildStellarTransaction,
    answer: Effect.fnUntraced(function* (body, sender) {
      const { wanted, way } = yield* read(body, sender)
      return yield* way.build(wanted, sender)
    })
  }

  return { quote, build }
})
