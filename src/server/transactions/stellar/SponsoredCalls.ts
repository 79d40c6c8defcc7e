// Quotes and builds calls of contracts whose users pay in a token: the relayer calls the forwarder of the network, which passes the call
// on and takes the fee. The user signs an authorization, and no envelope.
import { Clock, DateTime, Effect, Result } from "effect"
import { SecureRandom } from "effect/crypto"
import { withMargin } from "../../../domain/price/Price.ts"
import { refusal } from "../../../domain/transaction/stellar/Refusal.ts"
import { guard } from "../../../domain/transaction/stellar/Guard.ts"
import { ownChanges } from "../../../domain/transaction/stellar/GuardOnChain.ts"
import { common, firstBroken } from "../../../domain/transaction/stellar/GuardRules.ts"
import type { Terms } from "../../../domain/transaction/stellar/GuardRules.ts"
import type { Stellar, StellarTarget } from "../../../domain/transaction/stellar/Stellar.ts"
import type { StellarBuilding } from "../../../domain/transaction/stellar/StellarExchanges.ts"
import { firstPrice } from "../../../domain/transaction/stellar/StellarOffers.ts"
import { paymentTermsOf, timeLimitOf } from "../../../domain/transaction/stellar/StellarTerms.ts"
import { usesChannels } from "../../../domain/transaction/stellar/Channels.ts"
import { parse } from "../../../domain/transaction/stellar/StrKey.ts"
import * as Calls from "../../chains/stellar/StellarCalls.ts"
import { decodeWith } from "../../chains/stellar/StellarDecoding.ts"
import {
  belowForward,
  buildForward,
  buildHashOf,
  callIn,
  draftOfForward,
  draftOfRead
} from "../../chains/stellar/StellarForwards.ts"
import type { Forward } from "../../chains/stellar/StellarForwards.ts"
import { termsOf } from "../../chains/stellar/StellarGuarding.ts"
import { library } from "../../chains/stellar/StellarLibrary.ts"
import type { Library } from "../../chains/stellar/StellarLibrary.ts"
import * as StellarLooks from "../../chains/stellar/StellarLooks.ts"
import type { StellarProviders } from "../../chains/stellar/StellarNodes.ts"
import { fromXdr } from "../../chains/stellar/StellarScVals.ts"
import { networkIdOf } from "../../chains/stellar/StellarSignatures.ts"
import { simulatedIn } from "../../chains/stellar/StellarSimulations.ts"
import { PriceSource } from "../../prices/PriceSource.ts"
import type { Sender } from "../Intake.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import { unanswered } from "../Senders.ts"
import * as BuildsRepo from "./BuildsRepo.ts"
import { feesOf } from "./RelayerChain.ts"
import * as RelayerChain from "./RelayerChain.ts"
import { chargeFor, endOf, invalid, paysInXlm, rateOf, refusedAs, shownFee } from "./SponsoredFees.ts"
import type { Fee, SponsoredRequest } from "./SponsoredFees.ts"

/** Decimals that a token can have: an amount has 39 digits at most. */
const maxDecimals = 38

/** Units of the token. The cost of a call does not depend on the fee, so the smallest one is simulated. */
const anyFee = 1n

/** A call that a user wants, with what its price needs. */
interface CallToPrice {
  readonly lib: Library
  readonly terms: Terms
  readonly providers: StellarProviders
  readonly networkId: Uint8Array
  /** Its fee is `anyFee`. */
  readonly call: Forward
  readonly now: number
}

interface Priced extends Fee, CallToPrice {
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
  return parse(fee_forwarder)?.kind === "contract"
    ? Effect.succeed(fee_forwarder)
    : invalid(field, "not_configured: the fee_forwarder of the network has a wrong checksum; correct it")
}

/** The call that the user wants, if the user can pay for it in the token. */
const calledBy = Effect.fnUntraced(function* (wanted: SponsoredRequest, lib: Library, terms: Terms) {
  const { envelope, field, text, token } = wanted
  if (parse(token.asset)?.kind !== "contract") {
    return yield* invalid("fee_token", "expected the contract of a token, C…, because the transaction calls a contract")
  }
  if (token.asset === terms.nativeContract) return yield* paysInXlm
  const broken = firstBroken(common, envelope, terms)
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

export const make = Effect.gen(function* () {
  const chain = yield* RelayerChain.make
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
    const value = returned === undefined ? undefined : fromXdr(lib, lib.xdr.ScVal.fromXdr(returned, "base64"))
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
    return { ...asked, call, charge, rate, decimals, max, fee, data } satisfies Priced
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
