// Accounts of the service. An envelope of a user in which one of them acts is not signed.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Batcher from "../../../sql/batch/Batcher.ts"
import { LaneLedger } from "../../ledger/LaneLedger.ts"
import { RelayerTargets } from "../../relayers/RelayerTargets.ts"

/**
 * Those of all relayers and channels, also of relayers that were deleted, on every stellar network. There can be many thousand, so that
 * requests of the same moment share one read, which begins after each of them.
 */
export const make = Effect.gen(function* () {
  const ledger = yield* LaneLedger
  const targets = yield* RelayerTargets
  const read = Effect.map(
    Effect.all([targets.addresses("stellar"), ledger.addresses("stellar")]),
    (addresses): ReadonlySet<string> => new Set(addresses.flat())
  )
  const batched = yield* Batcher.make<void, ReadonlySet<string>>(yield* SqlClient.SqlClient, {
    all: (requests) => Effect.map(read, (own) => requests.map(() => own))
  })
  return batched()
})
