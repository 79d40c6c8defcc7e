// The limits of fees per day. The sum is computed under a lock on the limit of the API key, in the SQL transaction that adds to it:
// two of them cannot both use what is left.
import { Effect } from "effect"
import { FeeLimitExceeded } from "../../../domain/transaction/AcceptanceErrors.ts"
import { feeOf } from "../../../domain/transaction/Totals.ts"
import type { Moment } from "../../../domain/transaction/Moment.ts"
import { withAttempt } from "../../../domain/transaction/Transition.ts"
import * as FeesRepo from "./FeesRepo.ts"
import type { LimitKey } from "./FeesRepo.ts"
import type { Signature } from "../hold/HeldLane.ts"
import type { FeeLimit } from "../NewTransaction.ts"

/** Milliseconds of the fees that `max_fee_per_day` limits. */
export const feePeriod = 24 * 3_600_000

/** What the running transaction adds to the fees of a key and its descendants, in the smallest unit. */
export interface Spending extends FeeLimit {
  readonly more: bigint
}

/** By how much a signature raises what its transaction can cost. A no-op is not limited: it ends what could cost more. */
const raiseOf = ({ stored: { fee, transaction }, attempt, cause }: Signature, now: Moment): bigint =>
  fee === undefined || attempt.kind === "noop" ? 0n : feeOf(withAttempt(transaction, attempt, cause, now), fee) - fee

/** What signatures of one lane add to the fees of keys with a limit. Keys whose fees do not grow are left out. */
export const spendingsOf = (signatures: ReadonlyArray<Signature>, now: Moment): ReadonlyArray<Spending> => {
  const spendings = new Map<string, Spending>()
  for (const signature of signatures) {
    for (const limit of signature.feeLimits ?? []) {
      const { more } = spendings.get(limit.keyId) ?? { more: 0n }
      spendings.set(limit.keyId, { ...limit, more: more + raiseOf(signature, now) })
    }
  }
  return [...spendings.values()].filter(({ more }) => more > 0n)
}

const nameOf = ({ keyId, networkType }: LimitKey): string => `${networkType} ${keyId}`

export const make = Effect.gen(function* () {
  const fees = yield* FeesRepo.make

  /** Those that a change has replaced while the first statement waited for it are found by the second one. */
  const lock = Effect.fnUntraced(function* (limits: ReadonlyArray<LimitKey>) {
    const found = yield* fees.lockLimits(limits)
    if (found.length === limits.length) return found
    const names = new Set(found.map(nameOf))
    return [...found, ...(yield* fees.lockLimits(limits.filter((limit) => !names.has(nameOf(limit)))))]
  })

  /**
   * Locks the limits until the running transaction ends. Fails if one of them, as it is now, would be exceeded. One that was removed meanwhile
   * counts as it was given.
   */
  const spend = Effect.fnUntraced(function* (spendings: ReadonlyArray<Spending>, now: Moment) {
    if (spendings.length === 0) return
    const stored = new Map((yield* lock(spendings)).map((limit) => [nameOf(limit), limit.maximum]))
    for (const { maximum: given, more, ...limit } of spendings) {
      const maximum = stored.get(nameOf(limit)) ?? given
      const used = yield* fees.sum(limit, now - feePeriod)
      if (used + more > maximum) return yield* new FeeLimitExceeded({ keyId: limit.keyId, limit: maximum, used })
    }
  })

  return { spend }
})
