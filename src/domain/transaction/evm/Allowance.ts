// Whether a signature that is due can be made now: price, limits, funds and signer have to allow it.
import { Result } from "effect"
import type { Evm } from "./Evm.ts"
import { atLeast, atMost, maxFeeOf, toCeiling } from "./Fees.ts"
import type { Fees } from "./Fees.ts"
import type { Ceiling } from "./Offer.ts"
import { costOf, maxFeesOf, priceWithin, shortageOf, withRollupFee } from "./Funds.ts"
import type { Shortage } from "./Funds.ts"
import { cause } from "../Cause.ts"
import type { Cause } from "../Cause.ts"
import { sign } from "../Rules.ts"
import type { Sign, Situation } from "../Rules.ts"
import { currentAttempts } from "../Transaction.ts"
import type { Seen } from "./View.ts"

export interface DueSignature {
  readonly kind: "bump" | "replace" | "noop"
  /** What it would offer if nothing limited it. */
  readonly fees: Fees
  /** The least fees that replace every former attempt. */
  readonly least: Fees
  /** Wei per gas that it may offer at most. Absent: no limit. */
  readonly ceiling?: Ceiling
  readonly gasLimit: bigint
  /** As in `Attempt`. */
  readonly rollupFee?: bigint
  readonly value: bigint
  /** The code while it is in flight. */
  readonly cause: Cause
}

/** The ceiling of the price, and for an execution what the limits of the API key leave per gas. */
const ceilingOf = ({ terms }: Situation<Evm>, wanted: DueSignature): Ceiling | undefined => {
  const { feeLimit } = terms
  const { kind, ceiling } = wanted
  if (kind === "noop" || feeLimit === undefined) return ceiling
  const price = priceWithin(feeLimit, wanted)
  return ceiling === undefined || price < ceiling.price ? { price, limit: "api_key" } : ceiling
}

/** `below_base_fee`: no block takes what was offered last, and what may be offered does not change that. */
const tooExpensive = (
  { view, transaction }: Situation<Evm, Seen>,
  { least }: DueSignature,
  { price: cap, limit }: Ceiling
): Cause => {
  const base_fee = view.market?.baseFee
  const newest = currentAttempts(transaction).at(-1)
  const price = newest === undefined ? 0n : maxFeeOf(newest.offer.fees)
  return base_fee !== undefined && base_fee > price
    ? cause("below_base_fee", { price, cap, limit, base_fee })
    : cause("at_cap", { price: maxFeeOf(least), cap, limit })
}

/** An unknown balance is no reason: the node refuses what cannot be paid, and nothing is lost. */
const shortage = ({ rest, view }: Situation<Evm, Seen>, wanted: DueSignature, fees: Fees): Shortage | undefined => {
  if (view.balance === undefined) return undefined
  const budget = { balance: view.balance, reserved: rest.reserved, minBalance: 0n, reserve: 0n }
  return shortageOf(costOf({ ...wanted, fees }, wanted.value), budget)
}

/** The signature, or the code of what forbids it. */
export const allow = (situation: Situation<Evm, Seen>, wanted: DueSignature): Result.Result<Sign<Evm>, Cause> => {
  const { signerRetry } = situation
  if (signerRetry !== undefined) return Result.fail(cause(signerRetry.code, { until: signerRetry.at }))
  const ceiling = ceilingOf(situation, wanted)
  const { kind, least, gasLimit, rollupFee } = wanted
  if (ceiling !== undefined && maxFeeOf(least) > ceiling.price) {
    return Result.fail(tooExpensive(situation, wanted, ceiling))
  }
  const best = atMost(atLeast(wanted.fees, least), ceiling?.price)
  const affordable = [toCeiling(best, ceiling?.price), best, least].find(
    (fees) => shortage(situation, wanted, fees) === undefined
  )
  if (affordable === undefined) {
    return Result.fail(cause("insufficient_funds", shortage(situation, wanted, least)?.figures))
  }
  const offer = { fees: affordable, gasLimit, ...withRollupFee(rollupFee) }
  return Result.succeed(sign<Evm>({ kind, offer, maxFee: maxFeesOf(offer), cause: wanted.cause }))
}
