// How a solana transaction of the ledger is shown.
import { Schema } from "effect"
import { heightOf, present, shownAttempt, shownAttemptFields, shownFields, shownVersions } from "../Presentation.ts"
import type { Identity } from "../Presentation.ts"
import { newestRequest } from "../Transaction.ts"
import type { Attempt, Mined, Transaction } from "../Transaction.ts"
import type { Solana, SolanaRequest } from "./Solana.ts"
import { base64Of } from "./SendSolanaTransaction.ts"
import type { SolanaTransactionResponse } from "./SolanaTransactionResponse.ts"
import { explain } from "./SolanaWords.ts"

const attemptOf = (transaction: Transaction<Solana>, attempt: Attempt<Solana>) => {
  const { hash, kind, offer, maxFee, refusal } = attempt
  return {
    signature: hash,
    kind: kind === "refresh" ? ("refresh" as const) : ("original" as const),
    blockhash: offer.blockhash,
    last_valid_block_height: offer.bound,
    ...present("compute_unit_limit", offer.computeUnitLimit),
    compute_unit_price: offer.computeUnitPrice,
    max_fee: maxFee,
    ...shownAttemptFields(attempt, refusal),
    ...present("slot", heightOf(transaction, attempt))
  }
}

const versionOf = ({
  transaction,
  instructions,
  speed,
  compute_unit_limit,
  compute_unit_price,
  max_fee_lamports
}: SolanaRequest) => ({
  ...present("transaction", transaction),
  ...present("instructions", instructions),
  ...present("speed", speed),
  ...present("compute_unit_limit", compute_unit_limit),
  ...present("compute_unit_price", compute_unit_price),
  ...present("max_fee_lamports", max_fee_lamports)
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
    ...(attempts.length === 0 ? {} : { attempts: attempts.map((one) => attemptOf(transaction, one)) }),
    ...shownVersions(transaction, identity, versionOf),
    ...(mined === undefined ? {} : receiptOf(mined))
  }
}
