// The envelopes of a transaction that may be applied at its present place.
import type { Watched } from "./Evidence.ts"
import { currentAttempts } from "../Transaction.ts"
import type { Transaction } from "../Transaction.ts"
import type { Stellar } from "./Stellar.ts"

/** The sequence that its envelopes use. Undefined: it has no place. */
export const sequenceOf = ({ facts, place }: Transaction<Stellar>): bigint | undefined =>
  facts.guest?.sequence ?? place?.sequence

/** An envelope of a guest exists before the service signs anything for it. */
export const watchedOf = (transaction: Transaction<Stellar>): ReadonlyArray<Watched> => {
  const { guest } = transaction.facts
  const attempts = currentAttempts(transaction).map(
    ({ hash, offer: { innerHash, maxLedger, maxTime, seenLedger } }): Watched => ({
      hash,
      ...(innerHash === undefined ? {} : { innerHash }),
      maxTime: BigInt(maxTime),
      ...(maxLedger === undefined ? {} : { maxLedger }),
      seenLedger
    })
  )
  if (attempts.length > 0 || guest === undefined) return attempts
  return [{ hash: guest.innerHash, maxTime: BigInt(guest.maxTime), seenLedger: 0 }]
}
