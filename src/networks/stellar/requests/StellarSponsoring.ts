// Quotes and builds transactions whose users pay the fee in a token. What is sent later is verified again before the relayer signs.
import { Clock, DateTime, Effect, Result } from "effect"
import { SecureRandom } from "effect/crypto"
import { chargeOf, decimalOf, withMargin } from "../../../domain/price/Price.ts"
import type { Charge, Rate } from "../../../domain/price/Price.ts"
import { BadRequest } from "../../../domain/request/Request.ts"
import type { Violation } from "../../../domain/request/Request.ts"
import { PriceSource } from "../../../server/prices/PriceSource.ts"
import { needsUserStrategy, notAllowedToken, priceUnavailable } from "../../../server/transactions/Exchanges.ts"
import { unanswered } from "../../../server/transactions/Intake.ts"
import type { Answering, Sender } from "../../../server/transactions/Intake.ts"
import { present } from "../../core/Presentation.ts"
import * as Calls from "../chain/StellarCalls.ts"
import { simulatedIn } from "../chain/StellarCalls.ts"
import { decode, decodeWith, termsOf } from "../chain/StellarDecoding.ts"
import {
  belowForward,
  buildForward,
  buildHashOf,
  callIn,
  draftOf,
  draftOfForward,
  draftOfRead
} from "../chain/StellarDrafts.ts"
import type { Forward } from "../chain/StellarDrafts.ts"
import { paymentOf, placed } from "../chain/StellarEncoding.ts"
import { library, networkIdOf, scValFromXdr } from "../chain/StellarLibrary.ts"
import type { Library } from "../chain/StellarLibrary.ts"
import * as StellarLooks from "../chain/StellarLooks.ts"
import { paidAccounts } from "../chain/StellarLooks.ts"
import type { StellarProviders } from "../chain/StellarNodes.ts"
import type { OwnAccounts } from "../lane/StellarContext.ts"
import { tokenPriceOf } from "../lane/StellarPreparing.ts"
import { firstPrice } from "../rules/DecideSignature.ts"
import { commonRules, firstBroken, isSoroban, refusal, violationOf } from "../rules/Envelope.ts"
import type { GuardTerms, Refusal, TransactionEnvelope } from "../rules/Envelope.ts"
import { guard, ownChanges } from "../rules/Guard.ts"
import { creditOf, payerProblem, paymentIn, tokenProblem } from "../rules/SponsoredPayment.ts"
import type { FeeToken, UserPayment } from "../rules/SponsoredPayment.ts"
import type { Stellar, StellarTarget } from "../rules/Stellar.ts"
import { creditDecimals } from "../rules/StellarNumbers.ts"
import { BuildStellarTransaction, QuoteStellarTransaction } from "../rules/StellarRequests.ts"
import type { StellarBuilding, StellarQuoting } from "../rules/StellarRequests.ts"
import { inconsistenciesOf } from "../rules/StellarRules.ts"
import { paymentTermsOf, timeLimitOf, usersPay, usesChannels } from "../rules/StellarTerms.ts"
import { parseAddress } from "../../../domain/chain/StrKey.ts"
import * as BuildsRepo from "./BuildsRepo.ts"
import { feesOf, fieldOf, makeRelayerChain } from "./StellarChecks.ts"

// What users are asked to send, and what it costs them in a token: what payments and calls of contracts have in common.

const invalid = (field: string, message: string) => BadRequest.of([{ field, message }])

const paysInXlm = invalid("fee_token", "is XLM, in which users pay the fee themselves; name another token")

const refusedAs = (field: string) => (found: Refusal) => BadRequest.of([violationOf(found, field)])

/** What a user wants to send, and the token that the user pays with. */
interface SponsoredRequest {
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
export interface FeeInToken {
  readonly charge: Charge
  readonly rate: Rate
  /** Decimals of the token in which the user pays. */
  readonly decimals: number
  /** The most that the user lets a forwarder take. Absent: no forwarder takes the fee. */
  readonly max?: bigint
}

/** Stroops of one XLM, for which the rate of conversion is shown. */
const oneXlm = 10_000_000n

const shownFee = ({ charge: { units }, decimals, max }: FeeInToken) => ({
  fee_in_token: units,
  fee_in_token_ui: decimalOf(units, decimals),
  ...present("max_fee_in_token", max),
  ...present("max_fee_in_token_ui", max === undefined ? undefined : decimalOf(max, decimals))
})

const shownRate = ({ decimals, rate }: FeeInToken): string =>
  decimalOf(chargeOf(oneXlm, rate, { margin: 0 }).units, decimals)

const rateOf = (prices: PriceSource["Service"], { target }: Sender<Stellar>, token: FeeToken) =>
  Effect.mapError(tokenPriceOf(prices, target, token), ({ reason }) => priceUnavailable(reason))

/** What the user is charged for an envelope that costs so many stroops, if policy and token allow it. */
const chargeFor = Effect.fnUntraced(function* (
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
const endOf = ({ target }: Sender<Stellar>, now: number): number => Math.floor(now / 1000) + timeLimitOf(target)

// Quotes and builds calls of contracts whose users pay in a token: the relayer calls the forwarder of the network, which passes the call
// on and takes the fee. The user signs an authorization, and no envelope.

/** Decimals that a token can have: an amount has 39 digits at most. */
const maxDecimals = 38

/** Units of the token. The cost of a call does not depend on the fee, so the smallest one is simulated. */
const anyFee = 1n

/** A call that a user wants, with what its price needs. */
interface CallToPrice {
  readonly lib: Library
  readonly terms: GuardTerms
  readonly providers: StellarProviders
  readonly networkId: Uint8Array
  /** Its fee is `anyFee`. */
  readonly call: Forward
  readonly now: number
}

interface PricedCall extends FeeInToken, CallToPrice {
  readonly call: Forward
  /** Stroops that the envelope offers, and base64 of its Soroban data. */
  readonly fee: bigint
  readonly data: string
}

/** Bytes of the nonce of an authorization, which is an `int64`. */
const nonceLength = 8

/** The contract that passes the calls on. */
const forwarderOf = ({ network: { fee_forwarder } }: StellarTarget, field: string) => {
  if (fee_forwarder === undefined) {
    return invalid(field, "not_configured: the network has no fee_forwarder, through which users pay for calls; set it")
  }
  return parseAddress(fee_forwarder)?.kind === "contract"
    ? Effect.succeed(fee_forwarder)
    : invalid(field, "not_configured: the fee_forwarder of the network has a wrong checksum; correct it")
}

/** The call that the user wants, if the user can pay for it in the token. */
const calledBy = Effect.fnUntraced(function* (wanted: SponsoredRequest, lib: Library, terms: GuardTerms) {
  const { envelope, field, text, token } = wanted
  if (parseAddress(token.asset)?.kind !== "contract") {
    return yield* invalid("fee_token", "expected the contract of a token, C…, because the transaction calls a contract")
  }
  if (token.asset === terms.nativeContract) return yield* paysInXlm
  const broken = firstBroken(commonRules, envelope, terms)
  if (broken !== undefined) return yield* refusedAs(field)(broken)
  const called = callIn(lib, text)
  const [operation] = envelope.operations
  const isOfUser = operation?.source === undefined || operation.source.address === envelope.source.address
  if (called !== undefined && isOfUser) return called
  return yield* invalid(
    field,
    "operation_not_allowed: users can pay in a token for one call of a contract by their own account"
  )
})

const makeSponsoredCalls = Effect.gen(function* () {
  const chain = yield* makeRelayerChain
  const prices = yield* PriceSource
  const builds = yield* BuildsRepo.make
  const random = yield* SecureRandom.SecureRandom

  /** A number that only one build has. */
  const newNonce = Effect.map(random.randomBytes(nonceLength), (bytes) => Buffer.from(bytes).readBigInt64BE())

  const simulate = Effect.fnUntraced(function* (
    { lib, providers }: Pick<CallToPrice, "lib" | "providers">,
    text: string
  ) {
    const { limits } = yield* providers.settings
    const answer = yield* chain.first(providers, (node) => node.call(Calls.simulate(text, "record")))
    const read = simulatedIn(lib, answer, limits)
    return read ?? (yield* unanswered("simulates the call"))
  })

  const ask = Effect.fnUntraced(function* (wanted: SponsoredRequest, sender: Sender<Stellar>) {
    const { target } = sender
    const { average_blocktime_ms, passphrase } = target.network
    const lib = yield* library
    const now = yield* Clock.currentTimeMillis
    const terms = termsOf(lib, { target, own: wanted.own, maxFee: undefined, now })
    const forwarder = yield* forwarderOf(target, wanted.field)
    const called = yield* calledBy(wanted, lib, terms)
    const providers = yield* chain.providersOf(sender)
    const newest = yield* chain.first(providers, StellarLooks.newest)
    const call: Forward = {
      token: wanted.token.asset,
      fee: anyFee,
      maxFee: anyFee,
      forwarder,
      untilLedger: newest.ledger.number + Math.ceil((timeLimitOf(target) * 1000) / average_blocktime_ms),
      target: called,
      user: wanted.envelope.source.address,
      relayer: target.relayer.address
    }
    return { lib, terms, providers, networkId: networkIdOf(passphrase), call, now } satisfies CallToPrice
  })

  const decimalsOf = Effect.fnUntraced(function* (asked: CallToPrice) {
    const { call, lib, networkId } = asked
    const text = draftOfRead(lib, { contract: call.token, name: "decimals", source: call.relayer }, networkId)
    const { returned } = yield* simulate(asked, text)
    const value = returned === undefined ? undefined : scValFromXdr(lib, lib.xdr.ScVal.fromXdr(returned, "base64"))
    return value !== undefined && "u32" in value && value.u32 <= maxDecimals
      ? value.u32
      : yield* invalid("fee_token", "is not the contract of a token: its decimals cannot be read")
  })

  /** The forward as it would be applied now. */
  const tried = Effect.fnUntraced(function* (asked: CallToPrice, call: Forward, field: string) {
    const { lib, networkId, terms } = asked
    const read = yield* simulate(asked, draftOfForward(lib, call, networkId))
    if (read.error !== undefined) return yield* refusedAs(field)(refusal("would_fail", read.error))
    const below = belowForward(lib, call, read.auth)
    if (Result.isFailure(below)) return yield* refusedAs(field)(below.failure)
    const changed = ownChanges(read, terms, { actor: undefined, maxValue: undefined })
    if (changed !== undefined) return yield* refusedAs(field)(changed)
    return { read, below: below.success }
  })

  const price = Effect.fnUntraced(function* (wanted: SponsoredRequest, sender: Sender<Stellar>) {
    const { field, token } = wanted
    const { policies = {} } = sender.target.relayer
    const asked = yield* ask(wanted, sender)
    const rate = yield* rateOf(prices, sender, token)
    const decimals = yield* decimalsOf(asked)
    const { read } = yield* tried(asked, asked.call, field)
    const { data = "", resourceFee } = read
    const stats = (yield* feesOf(asked.providers))?.sorobanInclusionFee
    const soroban = { _tag: "Succeeds", resourceFee, data, recorded: [] } as const
    const form = usesChannels(policies) ? "channel" : "own"
    const { baseFee } = yield* asked.providers.settings
    const preparation = { operations: 1, out: 0n, baseFee, soroban, ...present("stats", stats) }
    const { fee } = firstPrice(asked.terms.cap, preparation, form)
    if (fee === undefined) return yield* invalid(field, "fee_above_cap: costs more than the field of a fee can hold")
    const charge = yield* chargeFor(token, { fee, cap: asked.terms.cap, rate, field }, sender)
    const max = withMargin(charge.units, paymentTermsOf(sender.target).slippage)
    const call = { ...asked.call, fee: charge.units, maxFee: max }
    return { ...asked, call, charge, rate, decimals, max, fee, data } satisfies PricedCall
  })

  const build = Effect.fnUntraced(function* (wanted: SponsoredRequest, sender: Sender<Stellar>) {
    const { field, own, token } = wanted
    const priced = yield* price(wanted, sender)
    const { call, charge, data, fee, lib, networkId, now, terms } = priced
    const { below } = yield* tried(priced, call, field)
    const maxTime = endOf(sender, now)
    const given = { fee, maxTime: BigInt(maxTime), sorobanData: data, below, nonce: yield* newNonce }
    const { envelope: transaction, userEntry: entry } = buildForward(lib, call, given, networkId)
    const guarded = Result.flatMap(decodeWith(lib, transaction, { networkId, known: own }), (one) =>
      guard("forward", one, terms)
    )
    if (Result.isFailure(guarded)) return yield* refusedAs(field)(guarded.failure)
    const key = { relayerNumber: sender.account.relayerNumber, hash: buildHashOf(lib, transaction, networkId) }
    yield* builds.insert(key, { entry }, now)
    const built: StellarBuilding["response"] = {
      transaction,
      ...shownFee(priced),
      fee_in_stroops: charge.native,
      fee_token: token.asset,
      user_auth_entry: entry,
      valid_until: DateTime.makeUnsafe(maxTime * 1000)
    }
    return built
  })

  return { quote: price, build }
})

// Quotes and builds classic transactions whose users pay in a credit: the user's operations, and then a payment to the relayer.

interface PricedEnvelope extends FeeInToken {
  /** Base64. */
  readonly text: string
  readonly payment: UserPayment
  /** Unix seconds. */
  readonly maxTime: number
  readonly providers: StellarProviders
}

const makeSponsoredPayments = Effect.gen(function* () {
  const chain = yield* makeRelayerChain
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
    return { text: built, payment, charge, rate, decimals: creditDecimals, maxTime, providers } satisfies PricedEnvelope
  })

  /** The accounts of the payment, if the relayer can be paid in the token. */
  const readAccounts = Effect.fnUntraced(function* ({ payment, providers }: PricedEnvelope, relayer: string) {
    const lib = yield* library
    const { credit, payer, token } = payment
    const accounts = yield* chain.first(providers, (node) => paidAccounts(lib, node, credit, { payer, relayer }))
    const problem = tokenProblem(token.asset, accounts)
    return problem === undefined ? accounts : yield* refusedAs("fee_token")(problem)
  })

  const quote = Effect.fnUntraced(function* (wanted: SponsoredRequest, sender: Sender<Stellar>) {
    const priced = yield* price(wanted, sender)
    yield* readAccounts(priced, sender.relayer.address)
    return priced satisfies FeeInToken
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
  const payments = yield* makeSponsoredPayments
  const calls = yield* makeSponsoredCalls

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
      const fee: FeeInToken = yield* way.quote(wanted, sender)
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
