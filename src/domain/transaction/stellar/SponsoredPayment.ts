// Envelopes for which the user pays the relayer in a token: the payment, its price, and calls that the service built itself.
import type { AuthEntry, TransactionEnvelope } from "./Envelope.ts"
import { refusal } from "./Refusal.ts"
import type { Refusal } from "./Refusal.ts"
import { maxSponsoredValidity } from "./StellarNumbers.ts"

/** A price as an exact fraction: so many units of the token are worth so many stroops. */
export interface Price {
  readonly units: bigint
  readonly native: bigint
}

/** Millionths of a percentage, so that a percentage with decimals stays exact. */
const percentScale = 1_000_000n
const wholePercent = 100n * percentScale

const divideUp = (dividend: bigint, divisor: bigint): bigint => (dividend + divisor - 1n) / divisor

const scaled = (percentage: number): bigint => BigInt(Math.round(percentage * Number(percentScale)))

/** Units of the token for a fee. Rounded up. */
const unitsFor = (fee: bigint, { units, native }: Price): bigint => divideUp(fee * units, native)

/** What a build quotes: the fee with the margin of the policy. */
export const quoted = (fee: bigint, price: Price, marginPercentage: number): bigint =>
  divideUp(unitsFor(fee, price) * (wholePercent + scaled(marginPercentage)), wholePercent)

/** The least that a send accepts at the present price. */
export const accepted = (fee: bigint, price: Price, slippagePercentage: number): bigint =>
  divideUp(unitsFor(fee, price) * (wholePercent - scaled(slippagePercentage)), wholePercent)

export interface Sponsoring {
  readonly relayer: string
  /** Assets that users may pay with. */
  readonly allowedTokens: ReadonlyArray<string>
  /** Units of a token that the fee bump is worth at least. Undefined: there is no price. */
  readonly least: (asset: string) => bigint | undefined
  /** Unix seconds. */
  readonly now: number
}

const insufficient = (detail: string): Refusal => refusal("payment_insufficient", detail)

/** Only a plain payment to the exact address counts, and there must be exactly one. */
export const paymentProblem = (
  { operations, timeBounds }: TransactionEnvelope,
  { allowedTokens, least, now, relayer }: Sponsoring
): Refusal | undefined => {
  const toRelayer = operations.flatMap((operation) =>
    operation.type === "payment" && operation.destination.address === relayer && !operation.destination.isMuxed
      ? [operation]
      : []
  )
  const [payment] = toRelayer
  if (payment === undefined || toRelayer.length > 1) {
    return insufficient(`expected one payment to ${relayer}, found ${toRelayer.length}`)
  }
  if (!allowedTokens.includes(payment.asset)) return insufficient(`${payment.asset} is not an allowed token`)
  const needed = least(payment.asset)
  if (needed === undefined) return insufficient(`${payment.asset} has no price`)
  if (payment.amount < needed)
    return insufficient(`the payment is ${payment.amount} units, at least ${needed} are needed`)
  return timeBounds !== undefined && timeBounds.maxTime > BigInt(now + maxSponsoredValidity)
    ? refusal(
        "time_bounds_too_long",
        `maxTime must be at most ${maxSponsoredValidity} seconds ahead: the price is that of now`
      )
    : undefined
}

/** The issuer of a token with clawback can take the payment back. */
export const clawbackProblem = (asset: string, hasClawback: boolean): Refusal | undefined =>
  hasClawback ? refusal("fee_token_clawback", `the issuer of ${asset} can take payments back`) : undefined

/** A call that the service built for a user, as it was stored. */
export interface Built {
  /** Hash of the envelope without signatures. */
  readonly hash: string
  /** The user's entry without its signature. */
  readonly entry: string
}

/** The user may only add the signature of the entry. */
export const notBuiltHere = (
  { hash }: TransactionEnvelope,
  entry: AuthEntry,
  find: (hash: string) => Built | undefined
): Refusal | undefined => {
  const built = find(hash)
  if (built === undefined)
    return refusal("not_built_here", "the envelope is not one that this service built in the last 5 minutes")
  return entry.unsigned === built.entry
    ? undefined
    : refusal("not_built_here", "the authorization differs from the one that this service built")
}
