// How a solana transaction of the ledger is shown.
import { Schema } from "effect"
import type { Attempt } from "../Attempt.ts"
import { instant, present, shownAttempt, shownFields } from "../Presentation.ts"
import type { Identity } from "../Presentation.ts"
import { newestRequest } from "../Transaction.ts"
import type { Mined, Transaction } from "../Transaction.ts"
import type { Solana } from "./Solana.ts"
import { base64Of } from "./SendSolanaTransaction.ts"
import type { SolanaTransactionResponse } from "./SolanaTransactionResponse.ts"
import { explain } from "./SolanaWords.ts"

const attemptOf = ({ hash, kind, offer, maxFee, signedAt, firstSent }: Attempt<Solana>) => ({
  signature: hash,
  kind: kind === "refresh" ? ("refresh" as const) : ("original" as const),
  blockhash: offer.blockhash,
  last_valid_block_height: offer.bound,
  ...present("compute_unit_limit", offer.computeUnitLimit),
  compute_unit_price: offer.computeUnitPrice,
  max_fee: maxFee,
  signed_at: instant(signedAt),
  ...present("sent_at", firstSent && instant(firstSent.at))
})

const parse = Schema.decodeSync(Schema.fromJsonString(Schema.Json))

const receiptOf = ({ receipt: { height, paid, details } }: Mined<Solana>) => ({
  slot: height,
  fee_paid: paid,
  ...(details.error === undefined ? {} : { error: parse(details.error) })
})

/** `raw`: the bytes of the attempt that is shown. Absent: nothing was signed. */
export const show = (
  transaction: Transaction<Solana>,
  identity: Identity,
  raw?: Uint8Array
): SolanaTransactionResponse => {
  const { attempts, mined } = transaction
  return {
    ...shownFields(explain, transaction, identity),
    network_type: "solana",
    transaction: raw === undefined ? "" : base64Of(raw),
    ...present("signature", shownAttempt(transaction)?.hash),
    ...present("instructions", newestRequest(transaction).instructions),
    ...(attempts.length === 0 ? {} : { attempts: attempts.map(attemptOf) }),
    ...(mined === undefined ? {} : receiptOf(mined))
  }
}
