// Decisions before each signature: what the next envelope offers, if the rules, the price and the funds allow it now.
import { ownReserves } from "../../../domain/relayer/Policy.ts"
import { cause } from "../../core/Cause.ts"
import type { Figures } from "../../core/Cause.ts"
import { verdictOf, waitsForFunds } from "../../core/Rows.ts"
import { ask, finish, firstOf, sign as signed } from "../../core/Rules.ts"
import type { Commands, Row, Situation } from "../../core/Rules.ts"
import { currentAttempts, newestRequest } from "../../core/Transaction.ts"
import type { AttemptKind, Transaction } from "../../core/Transaction.ts"
import type { RefusalCode } from "./Envelope.ts"
import { hold, pollNext, rows } from "./Proving.ts"
import type { AskedProvider } from "./Proving.ts"
import { amountProblem } from "./SponsoredPayment.ts"
import { momentOf } from "./Stellar.ts"
import type { Guest, Stellar, StellarOffer } from "./Stellar.ts"
import {
  authorizationMargin,
  baseFee,
  declaredResourceFee,
  firstRate,
  innerFee,
  ledgerTime,
  maxClockDifference,
  maxInnerFee,
  minimumLeft,
  nextRate,
  outerFee,
  publicSettings,
  signsAloneAfter
} from "./StellarNumbers.ts"
import type { LedgerSettings } from "./StellarNumbers.ts"
import type { AccountEntry, Preparation, StellarSeen } from "./StellarSeen.ts"

// What the next envelope of a transaction offers: its fee, until when it is valid, and what it takes from the relayer.

/** Whose sequence an envelope uses: the relayer's own, that of a channel, or that of a guest. */
export type EnvelopeForm = "own" | "channel" | "guest"

/** Stroops for resources: as a guest has declared them, or as the simulation says, with a margin. */
const resourceFeeOf = ({ inner, soroban }: Preparation): bigint =>
  inner?.resourceFee ?? (soroban?._tag === "Succeeds" ? declaredResourceFee(soroban.resourceFee) : 0n)

const divideUp = (dividend: bigint, divisor: bigint): bigint => (dividend + divisor - 1n) / divisor

/** What an envelope of this form counts as. */
const countOf = ({ operations }: Preparation, form: EnvelopeForm): bigint =>
  BigInt(form === "own" ? operations : operations + 1)

/** The rate that a node asked for when it refused the newest envelope of the place. What it asked for a dead one is not the present price. */
const neededRate = (transaction: Transaction<Stellar>, preparation: Preparation, form: EnvelopeForm): bigint => {
  const needed = currentAttempts(transaction).at(-1)?.refusal?.needed ?? 0n
  const inclusion = needed - resourceFeeOf(preparation)
  return inclusion <= 0n ? 0n : divideUp(inclusion, countOf(preparation, form))
}

/** Stroops per operation that the market asks for: more after an envelope died or was refused. */
const marketRate = ({ attempts }: Transaction<Stellar>, { baseFee: least, stats }: Preparation, needed: bigint) =>
  attempts.length === 0 ? firstRate(stats, least) : nextRate(stats, needed, least)

export interface Priced {
  readonly rate: bigint
  /** Undefined: more than the field of the fee can hold. */
  readonly fee: bigint | undefined
  readonly resourceFee: bigint
}

/** The inner envelope of a channel offers the least, because the outer one pays. */
export const channelInnerFee = (operations: number, resourceFee: bigint): bigint =>
  baseFee * BigInt(operations) + resourceFee

/** What an envelope costs at a rate. */
const pricedAt = (rate: bigint, preparation: Preparation, form: EnvelopeForm): Priced => {
  const resourceFee = resourceFeeOf(preparation)
  const { baseFee: least, operations, inner } = preparation
  if (form === "own") return { rate, resourceFee, fee: innerFee({ operations, rate, resourceFee }) }
  const fee = form === "channel" ? channelInnerFee(operations, resourceFee) : (inner?.fee ?? 0n)
  return { rate, resourceFee, fee: outerFee({ fee, operations, resourceFee }, rate, least) }
}

/**
 * The price at the rate that the market asks for, or at the highest one that the cap allows. A ledger with room takes the `least`, and no
 * envelope pays more than the lowest bid of a full one: high bids of others, or a provider that claims them, hold nothing up.
 */
const pricedWithin = (
  cap: bigint,
  { least, wanted }: { readonly least: bigint; readonly wanted: bigint },
  preparation: Preparation,
  form: EnvelopeForm
): Priced => {
  const bound = form === "own" && cap > maxInnerFee ? maxInnerFee : cap
  const isWithin = ({ fee }: Priced) => fee !== undefined && fee <= bound
  const asked = pricedAt(wanted, preparation, form)
  if (isWithin(asked)) return asked
  const highest = pricedAt((bound - asked.resourceFee) / countOf(preparation, form), preparation, form)
  return highest.rate > least && isWithin(highest) ? highest : pricedAt(least, preparation, form)
}

/** The price of a first envelope. */
export const firstPrice = (cap: bigint, preparation: Preparation, form: EnvelopeForm): Priced => {
  const { baseFee: least = baseFee, stats } = preparation
  return pricedWithin(cap, { least, wanted: firstRate(stats, least) }, preparation, form)
}

/** `cap`: stroops that the envelope may cost. */
const priced = (
  transaction: Transaction<Stellar>,
  preparation: Preparation,
  form: EnvelopeForm,
  cap: bigint
): Priced => {
  const needed = neededRate(transaction, preparation, form)
  const { baseFee: least = baseFee } = preparation
  const rates = { wanted: marketRate(transaction, preparation, needed), least: needed > least ? needed : least }
  return pricedWithin(cap, rates, preparation, form)
}

/** The fee of an envelope with one call, by its resource fee. Undefined: the fee does not fit into its field. */
const callFee = (
  transaction: Transaction<Stellar>,
  preparation: Preparation,
  form: EnvelopeForm,
  { cap, resourceFee }: { readonly cap: bigint; readonly resourceFee: bigint }
): bigint | undefined =>
  priced(
    transaction,
    { ...preparation, operations: 1, soroban: { _tag: "Succeeds", resourceFee, data: "", recorded: [] } },
    form,
    cap
  ).fee

interface OfferTimes {
  /** Unix seconds: the lowest close time that the asked providers show, and the clock. */
  readonly closeTime: number
  readonly clock: number
  readonly timeout: number
  /** Unix seconds. */
  readonly validUntil: number
}

/** A false close time cannot make an envelope that lives for days. */
const maxTimeOf = ({ clock, closeTime, timeout, validUntil }: OfferTimes): number =>
  Math.min(Math.min(closeTime, clock + maxClockDifference) + timeout, validUntil)

/** The lowest ledger that could contain the first envelope of the place is the one after it. It never rises at one place. */
const seenLedgerOf = (transaction: Transaction<Stellar>, asked: ReadonlyArray<AskedProvider>): number =>
  Math.min(
    ...currentAttempts(transaction).map(({ offer }) => offer.seenLedger),
    ...asked.flatMap(({ account, newest }) => [account.ledger.number, newest.number])
  )

const ledgerBoundOf = ({ soroban }: Preparation): Pick<StellarOffer, "maxLedger"> =>
  soroban?._tag === "Succeeds" && soroban.untilLedger !== undefined ? { maxLedger: soroban.untilLedger + 1 } : {}

const ofGuest = ({ innerHash, maxTime }: Guest) => ({ innerHash, maxTime })

/** `fee`: of `priced`. */
const offerOf = (
  transaction: Transaction<Stellar>,
  preparation: Preparation,
  { fee, rate, resourceFee }: Priced & { readonly fee: bigint },
  asked: ReadonlyArray<AskedProvider>,
  times: OfferTimes
): StellarOffer => {
  const { guest } = transaction.facts
  const { soroban } = preparation
  return {
    fee,
    rate,
    out: preparation.out,
    ...(resourceFee === 0n ? {} : { resourceFee }),
    seenLedger: seenLedgerOf(transaction, asked),
    ...(guest === undefined ? { maxTime: maxTimeOf(times), ...ledgerBoundOf(preparation) } : ofGuest(guest)),
    ...(guest === undefined && soroban?._tag === "Succeeds"
      ? { soroban: { data: soroban.data, recorded: soroban.recorded } }
      : {})
  }
}

// Whether the account of the relayer can pay for an envelope beside all others in flight. Amounts in stroops.

/** What the network lets the account spend. Each entry of it locks a reserve. */
export const spendableOf = (
  { balance, sellingLiabilities, sponsored, sponsoring, subentries }: AccountEntry,
  { baseReserve }: Pick<LedgerSettings, "baseReserve">
): bigint => {
  const reserves = ownReserves + BigInt(subentries) + BigInt(sponsoring) - BigInt(sponsored)
  return balance - sellingLiabilities - reserves * baseReserve
}

interface FundsNeed {
  /** Fee and value of the envelope. */
  readonly required: bigint
  /** Of all others in flight. */
  readonly reserved: bigint
  readonly minBalance: bigint
}

/** What an envelope needs, and what the account has for it, as the provider shows it that sees the least. */
export const fundsFor = (
  payers: ReadonlyArray<AccountEntry>,
  { minBalance, required, reserved }: FundsNeed,
  settings: Pick<LedgerSettings, "baseReserve">
) => {
  const minimum = minBalance > minimumLeft ? minBalance : minimumLeft
  const spendable = payers
    .map((payer) => spendableOf(payer, settings))
    .reduce((least, one) => (one < least ? one : least))
  const available = spendable - reserved
  return { required, available, reserved, minimum } satisfies Figures
}

/** Whether funds are missing. */
export const areFundsShort = ({ available, minimum, required }: ReturnType<typeof fundsFor>): boolean =>
  available - required < minimum

/** Stroops that an account needs to exist. */
export const leastBalance = ({ baseReserve }: Pick<LedgerSettings, "baseReserve">): bigint => ownReserves * baseReserve

/** What the ledger and the poll have decided already. */
export interface Signing {
  readonly kind: AttemptKind
  readonly form: EnvelopeForm
  readonly asked: ReadonlyArray<AskedProvider>
}

interface Prepared extends StellarSeen, Signing {
  readonly preparation: Preparation
}

const fail = (code: Parameters<typeof cause>[0], error?: string): Commands<Stellar> => [
  finish({ state: "failed", cause: cause(code, error === undefined ? {} : { error }) })
]

/** Rules of the guard that need the chain. All others were checked at admission: the policy has changed since. */
const ofChain = [
  "auth_not_granted",
  "auth_expired",
  "balance_change",
  "resource_fee_too_high",
  "too_many_subentries",
  "fee_token_clawback",
  "payment_insufficient",
  "would_fail"
] as const satisfies ReadonlyArray<RefusalCode>

const broken: Row<Stellar, Prepared> = ({ view }) => {
  const { broken } = view.preparation
  if (broken === undefined) return undefined
  return fail(ofChain.find((code) => code === broken.code) ?? "policy_changed", broken.detail)
}

/**
 * What one provider alone does not show of a call ends it as late as other verdicts of one provider: the only one has to hide it for as
 * long as makes it enough for a signature.
 */
const unshown: Row<Stellar, Prepared> = (situation) => {
  const { now, terms, transaction, view } = situation
  const { unshown: found } = view.preparation
  if (found === undefined) return undefined
  const { detail, host, isOnlyOne } = found
  const { cause: why, causeSince } = transaction
  if (isOnlyOne) {
    const since = why?.code === "second_provider_missing" ? causeSince : now
    const decides_at = since + signsAloneAfter
    return now >= decides_at
      ? fail("balance_change", detail)
      : hold(situation, "second_provider_missing", { host, error: detail, decides_at })
  }
  const silent = { _tag: "Silent", host, since: view.polledSince, error: detail } as const
  const numbers = { blockTime: ledgerTime, required: 1, finalityByOne: terms.finalityByOne }
  const verdict = verdictOf([silent], transaction, numbers, now)
  if (verdict._tag === "Alone") return fail("balance_change", detail)
  return hold(situation, "second_provider_missing", verdict._tag === "Missing" ? verdict.figures : { host })
}

/** The payment of a user is only judged at a price that is known. */
const payment: Row<Stellar, Prepared> = (situation) => {
  switch (situation.view.preparation.payment?._tag) {
    case "NoPrice":
      return hold(situation, "price_unavailable")
    case "Unreadable":
      return hold(situation, "providers_unavailable")
    default:
      return undefined
  }
}

/** A call may only fail now because an earlier transaction of the relayer was not applied yet. */
const simulated: Row<Stellar, Prepared> = (situation) => {
  const { soroban } = situation.view.preparation
  switch (soroban?._tag) {
    case undefined:
    case "Succeeds":
    case "NeedsRestore":
      return undefined
    case "Fails":
      return situation.rest.inFlight > (situation.transaction.state === "pending" ? 0 : 1)
        ? hold(situation, "waits_for_predecessors", {}, "relayer")
        : fail("would_fail", soroban.error)
    case "Disagrees":
      return hold(situation, "providers_disagree")
    case "FailsAlone":
      return hold(situation, "second_provider_missing")
    case "Unknown":
      return hold(situation, "providers_unavailable")
  }
}

/** Cancels work of the service that is already done or not needed any more. */
const obsolete: Row<Stellar, Prepared> = ({ view }) =>
  view.preparation.isObsolete === true ? [finish({ state: "canceled", cause: cause("canceled") })] : undefined

const feeCapNow = ({ terms }: Situation<Stellar, Prepared>): bigint =>
  terms.feeLimit !== undefined && terms.feeLimit < terms.cap ? terms.feeLimit : terms.cap

/** If the request pays for it, a transaction of the service restores the entries first. Both fees together stay within the cap. */
const restore: Row<Stellar, Prepared> = (situation) => {
  const { transaction, view } = situation
  const { form, preparation } = view
  const { soroban } = preparation
  if (soroban?._tag !== "NeedsRestore") return undefined
  if (newestRequest(transaction).restore_footprint !== true) return hold(situation, "needs_restore")
  // The fee of a restore counts for no API key. With restores, a key could spend more than its limit.
  if (situation.terms.feeLimit !== undefined) return hold(situation, "needs_restore")
  const cap = feeCapNow(situation)
  const own = callFee(transaction, preparation, form, { cap, resourceFee: soroban.resourceFee })
  const before = callFee(transaction, preparation, form, { cap, resourceFee: soroban.fee })
  if (own === undefined || before === undefined) return hold(situation, "fee_above_cap", { cap })
  return own + before > cap
    ? hold(situation, "fee_above_cap", { cap, fee: own + before })
    : hold(situation, "needs_restore", { fee: before })
}

const authorization: Row<Stellar, Prepared> = ({ view }) => {
  const { asked, preparation } = view
  const { soroban } = preparation
  const newest = Math.max(...asked.map(({ newest }) => newest.number))
  return soroban?._tag === "Succeeds" &&
    soroban.untilLedger !== undefined &&
    soroban.untilLedger <= newest + authorizationMargin
    ? fail("auth_expired", `ledger ${soroban.untilLedger}`)
    : undefined
}

const payersOf = (asked: ReadonlyArray<AskedProvider>): ReadonlyArray<AccountEntry> =>
  asked.flatMap(({ payer }) => payer ?? [])

/** What the envelope would need of the account, and what the account has. Undefined: no provider shows the account. */
const fundsOf = ({ rest, terms, view }: Situation<Stellar, Prepared>, fee: bigint) => {
  const payers = payersOf(view.asked)
  const need = { required: fee + view.preparation.out, reserved: rest.reserved, minBalance: terms.minBalance }
  return payers.length === 0 ? undefined : fundsFor(payers, need, view.settings ?? publicSettings)
}

/** Stroops that are bid at most: the cap, or what the account has left for the fee. */
const boundOf = (situation: Situation<Stellar, Prepared>): bigint => {
  const cap = feeCapNow(situation)
  const funds = fundsOf(situation, 0n)
  const left = funds === undefined ? cap : funds.available - funds.minimum - funds.required
  return left < 0n ? 0n : left < cap ? left : cap
}

const priceOf = (situation: Situation<Stellar, Prepared>) => {
  const { transaction, view } = situation
  return priced(transaction, view.preparation, view.form, boundOf(situation))
}

const feeAboveCap: Row<Stellar, Prepared> = (situation) => {
  const { fee } = priceOf(situation)
  const cap = feeCapNow(situation)
  if (fee !== undefined && fee <= cap) return undefined
  return hold(situation, "fee_above_cap", { cap, ...(fee === undefined ? {} : { fee }) })
}

/** The user pays for the fee as it is now, not as it was when the envelope was built. */
const worth: Row<Stellar, Prepared> = (situation) => {
  const { payment } = situation.view.preparation
  if (payment?._tag !== "Priced") return undefined
  const problem = amountProblem(payment, priceOf(situation).fee ?? 0n)
  return problem === undefined ? undefined : fail("payment_insufficient", problem.detail)
}

/** If funds for channels are missing, only the work on channels waits, and not the transactions of callers. */
const isWork = (transaction: Transaction<Stellar>): boolean => newestRequest(transaction).channels !== undefined

const funds: Row<Stellar, Prepared> = (situation) => {
  const { transaction } = situation
  const figures = fundsOf(situation, priceOf(situation).fee ?? 0n)
  if (figures === undefined) return hold(situation, "providers_unavailable", {}, "providers")
  if (!areFundsShort(figures)) return undefined
  const waits = transaction.state === "pending" ? waitsForFunds(newestRequest(transaction)) : true
  return rows.withoutFunds(situation, figures, { scope: isWork(transaction) ? "transaction" : "relayer", waits })
}

const secondsOf = (moment: number): number => Math.floor(moment / 1000)

const sign = (situation: Situation<Stellar, Prepared>): Commands<Stellar> => {
  const { now, terms, transaction, view } = situation
  const { asked, kind, preparation } = view
  const { fee, ...rest } = priceOf(situation)
  if (fee === undefined) return hold(situation, "fee_above_cap", { cap: feeCapNow(situation) })
  const closeTime = Math.min(...asked.map(({ newest }) => newest.closeTime))
  const offer = offerOf(transaction, preparation, { ...rest, fee }, asked, {
    closeTime,
    clock: secondsOf(now),
    timeout: terms.timeout,
    validUntil: secondsOf(transaction.validUntil)
  })
  const why = cause(kind === "original" ? "sending" : "refreshing", { fee, until: momentOf(offer.maxTime) })
  return [signed<Stellar>({ kind, offer, maxFee: fee, cause: why }), pollNext(situation)]
}

const decidePrepared = firstOf<Stellar, Prepared>(
  [obsolete, broken, unshown, payment, simulated, restore, authorization, feeAboveCap, worth, funds],
  sign
)

export const decideSignature = (situation: Situation<Stellar, StellarSeen>, signing: Signing): Commands<Stellar> => {
  const { view } = situation
  const { preparation } = view
  // Each free channel gets one transaction, which asks its question for this place.
  const question = signing.form === "channel" ? ask<Stellar>("prepare", { takesPlace: true }) : ask<Stellar>("prepare")
  return preparation === undefined
    ? [question, pollNext(situation)]
    : decidePrepared({ ...situation, view: { ...view, ...signing, preparation } })
}
