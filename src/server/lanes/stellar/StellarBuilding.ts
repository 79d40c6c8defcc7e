// The envelopes that are signed.
import { Effect } from "effect"
import type { StellarOffer, StellarRequest } from "../../../domain/transaction/stellar/Stellar.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import type { Place } from "../../../domain/transaction/TransactionValues.ts"
import * as StellarEncoding from "../../chains/stellar/StellarEncoding.ts"
import type { Unsigned } from "../../chains/stellar/StellarEncoding.ts"
import { givenIn } from "../../chains/stellar/StellarDrafts.ts"
import { bumped, placed, restoring } from "../../chains/stellar/StellarEnvelopes.ts"
import { library } from "../../chains/stellar/StellarLibrary.ts"

/** Any sequence: a fee bump has none of its own. */
const anySequence = 1n

/** The envelope of an attempt. At a place without a sequence, the relayer pays for an envelope of its source. */
export const unsignedOf = Effect.fnUntraced(function* (
  address: string,
  { memo, operations, restore, ...request }: StellarRequest,
  { sequence }: Place,
  { fee, maxLedger, maxTime, soroban }: StellarOffer,
  networkId: Uint8Array
) {
  const lib = yield* library
  const transaction_xdr = givenIn(lib, request)
  if (transaction_xdr !== undefined && sequence === undefined) {
    return bumped(lib, transaction_xdr, { feeSource: address, fee }, networkId)
  }
  const given = {
    sequence: sequence ?? anySequence,
    fee,
    maxTime: BigInt(maxTime),
    ...present("maxLedger", maxLedger),
    ...present("sorobanData", soroban?.data)
  }
  if (restore !== undefined) return restoring(lib, { ...given, source: address }, networkId)
  if (transaction_xdr !== undefined) return placed(lib, transaction_xdr, given, networkId)
  const own: Unsigned = yield* StellarEncoding.build(
    {
      ...given,
      source: address,
      operations: operations ?? [],
      ...present("memo", memo),
      ...present("recorded", soroban?.recorded)
    },
    networkId
  )
  return own
})
