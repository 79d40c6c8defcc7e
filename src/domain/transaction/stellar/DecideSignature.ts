// Decisions before each signature, the first one at a place and later ones alike: nothing is signed that the rules, the price
// and the funds do not allow now.
import { cause } from "../Cause.ts"
import { fundsDeadline, verdictOf } from "../Rows.ts"
import { ask, finish, firstOf, sign as signed } from "../Rules.ts"
import type { Commands, Row, Situation } from "../Rules.ts"
import { newestRequest } from "../Transaction.ts"
import type { AttemptKind, Transaction } from "../Transaction.ts"
import type { RefusalCode } from "./Refusal.ts"
import type { Stellar } from "./Stellar.ts"
import { momentOf } from "./Stellar.ts"
import type { AskedProvider } from "./StellarHolding.ts"
import { hold, holdFor, pollNext } from "./StellarHolding.ts"
import { amountProblem } from "./SponsoredPayment.ts"
import { fundsFor, isShort } from "./StellarFunds.ts"
import { publicSettings } from "./LedgerSettings.ts"
import { authorizationMargin, ledgerTime, signsAloneAfter } from "./StellarNumbers.ts"
import { callFee, offerOf, priced } from "./StellarOffers.ts"
import type { Form } from "./StellarOffers.ts"
import type { AccountEntry, Preparation, StellarSeen } from "./StellarSeen.ts"

/** What the ledger and the poll have decided already. */
export interface Signing {
  readonly kind: AttemptKind
  readonly form: Form
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
  const silent = { _tag: "Silent", host, since: 0, error: detail } as const
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

const capOf = ({ terms }: Situation<Stellar, Prepared>): bigint =>
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
  const cap = capOf(situation)
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
  const cap = capOf(situation)
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
  const cap = capOf(situation)
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
  const { now, transaction } = situation
  const figures = fundsOf(situation, priceOf(situation).fee ?? 0n)
  if (figures === undefined) return hold(situation, "providers_unavailable", {}, "lane")
  if (!isShort(figures)) return undefined
  const waits = newestRequest(transaction).wait_for_funds === true || transaction.state !== "pending"
  const until = fundsDeadline(situation, waits)
  const why = cause("insufficient_funds", until === undefined ? figures : { ...figures, until })
  return until !== undefined && now >= until
    ? [finish({ state: "failed", cause: why })]
    : holdFor(situation, why, isWork(transaction) ? "transaction" : "relayer")
}

const secondsOf = (moment: number): number => Math.floor(moment / 1000)

const sign = (situation: Situation<Stellar, Prepared>): Commands<Stellar> => {
  const { now, terms, transaction, view } = situation
  const { asked, kind, preparation } = view
  const { fee, ...rest } = priceOf(situation)
  if (fee === undefined) return hold(situation, "fee_above_cap", { cap: capOf(situation) })
  const closeTime = Math.min(...asked.map(({ newest }) => newest.closeTime))
  const offer = offerOf(transaction, preparation, { ...rest, fee }, asked, {
    closeTime,
    clock: secondsOf(now),
    timeout: terms.timeout,
    validUntil: secondsOf(transaction.validUntil)
  })
  const why = cause(kind === "original" ? "sending" : "refreshing", { fee, until: momentOf(offer.maxTime) })
  return [signed<Stellar>({ kind, offer, maxFee: fee, cause: why }), ...pollNext(situation)]
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
    ? [question, ...pollNext(situation)]
    : decidePrepared({ ...situation, view: { ...view, ...signing, preparation } })
}
