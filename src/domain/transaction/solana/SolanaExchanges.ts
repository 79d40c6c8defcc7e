// What callers exchange with the service besides sends: bytes that it signs for them, and transactions whose users pay in a token.
import { Schema } from "effect"
import { CheckedSolanaAddress } from "../../chain/Address.ts"
import { field } from "../../request/Field.ts"
import * as Shown from "../../request/Shown.ts"
import type { Exchange } from "../Family.ts"
import { WireBytes } from "./SendSolanaTransaction.ts"
import { ShownBytes, ShownSignature } from "./SolanaTransactionResponse.ts"

const mint = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
const address = Shown.shaped(/^[1-9A-HJ-NP-Za-km-z]{43,44}$/)

export const SignSolanaTransaction = Schema.Struct({
  transaction: field(
    WireBytes,
    "A transaction, legacy, version 0 or version 1, whose fee payer is the relayer, as base64 or as an array of bytes.",
    "AQAAAA=="
  )
}).annotate({ identifier: "SignSolanaTransactionRequest", description: "A transaction to sign without sending it." })

export const SignedSolanaTransaction = Schema.Struct({
  transaction: field(ShownBytes, "The transaction with the relayer's signature, as base64.", "AQAAAA=="),
  signature: field(ShownSignature, "The relayer's signature.", "5".repeat(88))
}).annotate({ identifier: "SignedSolanaTransaction", description: "A transaction that the relayer signed." })

export type SolanaSigning = Exchange<typeof SignSolanaTransaction.Type, typeof SignedSolanaTransaction.Type>

/** A transaction of a user, and the token that the user pays its fee in. */
const sponsored = {
  transaction: field(
    WireBytes,
    "The user's transaction, legacy, version 0 or version 1, whose fee payer is the user, as base64 or as an array of bytes.",
    "AQAAAA=="
  ),
  fee_token: field(CheckedSolanaAddress, "Mint of the token.", mint)
}

export const QuoteSolanaTransaction = Schema.Struct(sponsored).annotate({
  identifier: "QuoteSolanaTransactionRequest",
  description: "A transaction whose fee is to be quoted in a token."
})

export const SolanaQuote = Schema.Struct({
  estimated_fee: field(Shown.Decimal, "The fee in whole tokens.", "0.00075"),
  conversion_rate: field(Shown.Decimal, "Whole tokens that one SOL costs.", "150")
}).annotate({ identifier: "SolanaQuote", description: "What a transaction costs its user." })

export type SolanaQuoting = Exchange<typeof QuoteSolanaTransaction.Type, typeof SolanaQuote.Type>

export const BuildSolanaTransaction = Schema.Struct(sponsored).annotate({
  identifier: "BuildSolanaTransactionRequest",
  description: "A transaction that is to be built with a payment of its fee."
})

export const BuiltSolanaTransaction = Schema.Struct({
  transaction: field(
    ShownBytes,
    "The unsigned transaction as base64: a payment to the relayer, and then the instructions of the user.",
    "AQAAAA=="
  ),
  fee_in_spl: field(Shown.Digits, "The fee in units of the token.", "750"),
  fee_in_lamports: field(Shown.Digits, "What the fee is worth, in lamports.", "5000"),
  fee_token: field(address, "Mint of the token.", mint),
  valid_until_blockheight: field(Schema.Natural, "Last block height at which it can land.", 280_000_150)
}).annotate({ identifier: "BuiltSolanaTransaction", description: "A transaction for the user to sign and send." })

export type SolanaBuilding = Exchange<typeof BuildSolanaTransaction.Type, typeof BuiltSolanaTransaction.Type>
