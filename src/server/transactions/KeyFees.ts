// The limits of fees per day that apply to a request, and what its caller reads if one of them is exceeded.
import { Effect } from "effect"
import * as Caller from "../../domain/access/Caller.ts"
import { units } from "../../domain/chain/Amount.ts"
import type { FeeLimitExceeded } from "../../domain/transaction/AcceptanceErrors.ts"
import { TransactionLimitExceeded } from "../../domain/transaction/TransactionLimits.ts"
import type { NetworkLimits } from "../../domain/transaction/TransactionLimits.ts"
import { ApiKeys } from "../access/ApiKeys.ts"
import type { Sender } from "./Intake.ts"

export const make = Effect.gen(function* () {
  const keys = yield* ApiKeys

  /** `limits`: of the caller's key. Without them, no key that it descends from has any. */
  const limitsOf = Effect.fnUntraced(function* ({ relayer }: Sender, limits: NetworkLimits | undefined) {
    return limits === undefined ? [] : yield* keys.feeLimits((yield* Caller.current).id, relayer.network_type)
  })

  /** A key learns nothing about the limit of a key above it, and about what its siblings have used. */
  const exceeded = Effect.fnUntraced(function* ({ keyId, limit, used }: FeeLimitExceeded, { relayer }: Sender) {
    const { id } = yield* Caller.current
    return yield* TransactionLimitExceeded.of({
      field: "fees",
      message:
        keyId === id
          ? `the max_fee_per_day of the API key is ${limit} ${units[relayer.network_type]}, of which ${used} are used`
          : "a key that the API key descends from has a max_fee_per_day, of which too little is left"
    })
  })

  return { limitsOf, exceeded }
})
