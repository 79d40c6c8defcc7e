// Accounts of the service: no envelope in which they act is signed for somebody else.
import { Effect } from "effect"
import { LaneLedger } from "../../ledger/LaneLedger.ts"
import { RelayerTargets } from "../../relayers/RelayerTargets.ts"

/** Those of all relayers and channels, also of relayers that were deleted, on every stellar network. */
export const make = Effect.gen(function* () {
  const ledger = yield* LaneLedger
  const targets = yield* RelayerTargets
  return Effect.map(
    Effect.all([targets.addresses("stellar"), ledger.addresses("stellar")]),
    (addresses): ReadonlySet<string> => new Set(addresses.flat())
  )
})
