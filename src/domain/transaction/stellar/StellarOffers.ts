// What the next envelope of a transaction offers: its fee, until when it is valid, and what it takes from the relayer.
import { currentAttempts } from "../Transaction.ts"
import type { Transaction } from "../Transaction.ts"
import { firstRate, innerFee, nextRate, outerFee } from "./Fees.ts"
import type { Guest, Stellar, StellarOffer } from "./Stellar.ts"
import type { AskedProvider } from "./StellarHolding.ts"
import { baseFee, maxClockDifference, maxInnerFee } from "./StellarNumbers.ts"
import type { Preparation } from "./StellarSeen.ts"
import { declaredResourceFee } from "./Fees.ts"

/** Whose sequence an envelope uses: the relayer's own, that of a channel, or that of a guest. */
export type Form = "own" | "channel" | "guest"

/** Stroops for resources: as a guest has declared them, or as the simulation says, with a margin. */
const resourceFeeOf = ({ inner, soroban }: Preparation): bigint =>
  inner?.resourceFee ?? (soroban?._tag === "Succeeds" ? declaredResourceFee(soroban.resourceFee) : 0n)

const divideUp = (dividend: bigint, divisor: bigint): bigint => (dividend + divisor - 1n) / divisor

/** What an envelope of this form counts as. */
const countOf = ({ operations }: Preparation, form: Form): bigint =>
  BigInt(form === "own" ? operations : operations + 1)

/** The rate that a node asked for when it refused the newest envelope. */
const neededRate = (transaction: Transaction<Stellar>, preparation: Preparation, form: Form): bigint => {
  const needed = transaction.attempts.at(-1)?.refusal?.needed ?? 0n
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
const pricedAt = (rate: bigint, preparation: Preparation, form: Form): Priced => {
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
  form: Form
): Priced => {
  const bound = form === "own" && cap > maxInnerFee ? maxInnerFee : cap
  const isWithin = ({ fee }: Priced) => fee !== undefined && fee <= bound
  const asked = pricedAt(wanted, preparation, form)
  if (isWithin(asked)) return asked
  const highest = pricedAt((bound - asked.resourceFee) / countOf(preparation, form), preparation, form)
  return highest.rate > least && isWithin(highest) ? highest : pricedAt(least, preparation, form)
}

/** The price of a first envelope. */
export const firstPrice = (cap: bigint, preparation: Preparation, form: Form): Priced => {
  const { baseFee: least = baseFee, stats } = preparation
  return pricedWithin(cap, { least, wanted: firstRate(stats, least) }, preparation, form)
}

/** `cap`: stroops that the envelope may cost. */
export const priced = (
  transaction: Transaction<Stellar>,
  preparation: Preparation,
  form: Form,
  cap: bigint
): Priced => {
  const needed = neededRate(transaction, preparation, form)
  const { baseFee: least = baseFee } = preparation
  const rates = { wanted: marketRate(transaction, preparation, needed), least: needed > least ? needed : least }
  return pricedWithin(cap, rates, preparation, form)
}

/** The fee of an envelope with one call, by its resource fee. Undefined: the fee does not fit into its field. */
export const callFee = (
  transaction: Transaction<Stellar>,
  preparation: Preparation,
  form: Form,
  { cap, resourceFee }: { readonly cap: bigint; readonly resourceFee: bigint }
): bigint | undefined =>
  priced(
    transaction,
    { ...preparation, operations: 1, soroban: { _tag: "Succeeds", resourceFee, data: "", recorded: [] } },
    form,
    cap
  ).fee

interface Times {
  /** Unix seconds: the lowest close time that the asked providers show, and the clock. */
  readonly closeTime: number
  readonly clock: number
  readonly timeout: number
  /** Unix seconds. */
  readonly validUntil: number
}

/** A false close time cannot make an envelope that lives for days. */
const maxTimeOf = ({ clock, closeTime, timeout, validUntil }: Times): number =>
  Math.min(Math.min(closeTime, clock + maxClockDifference) + timeout, validUntil)

/** The lowest ledger that could contain the first envelope of the place is the one after it. It never rises at one place. */
const seenLedgerOf = (transaction: Transaction<Stellar>, asked: ReadonlyArray<AskedProvider>): number =>
  Math.min(
    ...currentAttempts(transaction).map(({ offer }) => offer.seenLedger),
    ...asked.flatMap(({ account, newest }) => [account.ledger.number, newest.number])
  )

const boundOf = ({ soroban }: Preparation): Pick<StellarOffer, "maxLedger"> =>
  soroban?._tag === "Succeeds" && soroban.untilLedger !== undefined ? { maxLedger: soroban.untilLedger + 1 } : {}

const ofGuest = ({ innerHash, maxTime }: Guest) => ({ innerHash, maxTime })

/** `fee`: of `priced`. */
export const offerOf = (
  transaction: Transaction<Stellar>,
  preparation: Preparation,
  { fee, rate, resourceFee }: Priced & { readonly fee: bigint },
  asked: ReadonlyArray<AskedProvider>,
  times: Times
): StellarOffer => {
  const { guest } = transaction.facts
  const { soroban } = preparation
  return {
    fee,
    rate,
    out: preparation.out,
    ...(resourceFee === 0n ? {} : { resourceFee }),
    seenLedger: seenLedgerOf(transaction, asked),
    ...(guest === undefined ? { maxTime: maxTimeOf(times), ...boundOf(preparation) } : ofGuest(guest)),
    ...(guest === undefined && soroban?._tag === "Succeeds"
      ? { soroban: { data: soroban.data, recorded: soroban.recorded } }
      : {})
  }
}
