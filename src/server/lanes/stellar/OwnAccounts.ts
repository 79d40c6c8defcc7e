// Accounts of the service in an envelope. An envelope of a user in which one of them acts is not signed.
import { Effect } from "effect"
import type { Array } from "effect"
import { SqlClient } from "effect/sql"
import { maxXdrLength } from "../../../domain/transaction/stellar/StellarNumbers.ts"
import type { AddressPart } from "../../../sql/Rows.ts"
import * as Batcher from "../../../sql/batch/Batcher.ts"
import { accountsIn } from "../../chains/stellar/StellarSignatures.ts"
import { LaneLedger } from "../../ledger/LaneLedger.ts"
import { RelayerTargets } from "../../relayers/RelayerTargets.ts"

/** `text`: the XDR of an envelope in base64. `addresses`: what is named besides, such as by the simulation of the envelope. */
interface Named {
  readonly text?: string
  readonly addresses?: ReadonlyArray<string>
}

/** All accounts of the service that are named, or that may have signed the envelope, and maybe others. */
export type OwnAccounts = (named: Named) => Effect.Effect<ReadonlySet<string>>

/** A text that is longer is refused when it is decoded. */
const partOf = ({ text = "", addresses = [] }: Named): AddressPart =>
  accountsIn(Buffer.from(text.slice(0, maxXdrLength), "base64"), addresses)

const joined = ([first, ...others]: Array.NonEmptyReadonlyArray<AddressPart>): AddressPart => ({
  ...first,
  texts: [...new Set([first, ...others].flatMap(({ texts }) => texts))]
})

/**
 * Those of relayers and channels, also of relayers that were deleted, on every stellar network. Requests of the same moment share one
 * read, which begins after each of them.
 */
export const make = Effect.gen(function* () {
  const ledger = yield* LaneLedger
  const targets = yield* RelayerTargets
  const read = (part: AddressPart) =>
    Effect.map(
      Effect.all([targets.addresses("stellar", part), ledger.addresses("stellar", part)]),
      (addresses): ReadonlySet<string> => new Set(addresses.flat())
    )
  const batched = yield* Batcher.make<AddressPart, ReadonlySet<string>>(yield* SqlClient.SqlClient, {
    all: (requests) => Effect.map(read(joined(requests)), (own) => requests.map(() => own))
  })
  return ((named) => Effect.suspend(() => batched(partOf(named)))) satisfies OwnAccounts
})
