// What callers exchange with the service besides sends: envelopes that it signs for them, and transactions whose users pay in a token.
import { Schema } from "effect"
import { field } from "../../request/Field.ts"
import * as Shown from "../../request/Shown.ts"
import { Instant, maybe } from "../../request/Text.ts"
import type { Exchange } from "../Family.ts"
import { StellarOperation } from "./StellarOperation.ts"
import { AccountAddress } from "./StrKey.ts"

export const SignStellarTransaction = Schema.Struct({
  unsigned_xdr: field(
    Schema.String,
    "An envelope in base64 whose source is the relayer, without signatures. Its `maxTime` is at most 300 seconds ahead.",
    "AAAAAgAAAAA="
  )
}).annotate({ identifier: "SignStellarTransactionRequest", description: "An envelope to sign without sending it." })

/** Not checked: it was made by the service. */
const Base64 = Shown.shaped(/^([A-Za-z0-9+/]{4}){1,20}$/)

export const SignedStellarTransaction = Schema.Struct({
  signedXdr: field(Base64, "The envelope with the relayer's signature, in base64.", "AAAAAgAAAAA="),
  signature: field(Base64, "The 64 bytes of the relayer's signature, in base64.", `${"A".repeat(86)}==`)
}).annotate({ identifier: "SignedStellarTransaction", description: "An envelope that the relayer signed." })

const token = "USDC:GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"

/** A transaction of a user, and the token that the user pays its fee in. */
const sponsored = {
  transaction_xdr: maybe(Schema.String, {
    description:
      "An envelope of the user in base64, signed or not, instead of `operations`. Its signatures are dropped.",
    examples: ["AAAAAgAAAAA="]
  }),
  operations: maybe(Schema.Array(StellarOperation), {
    description: "1 to 99 operations, or one call of a contract, instead of `transaction_xdr`."
  }),
  source_account: maybe(AccountAddress, {
    description: "The user's account. It must be given with `operations`.",
    examples: ["GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"]
  }),
  fee_token: field(
    Schema.String,
    "The token as `allowed_tokens` of the policy names it: CODE:ISSUER, or for a call of a contract the contract of the token.",
    token
  )
}

/** The fee as the user pays it. */
const fee = {
  fee_in_token: field(Shown.Digits, "The fee in units of the token, with the margin of the policy.", "3000"),
  fee_in_token_ui: field(Shown.Decimal, "The same in whole tokens.", "0.0003"),
  max_fee_in_token: Schema.optionalKey(
    field(
      Shown.Digits,
      "Only for a call of a contract: the most that the user lets the forwarder take, which is the fee with the slippage of the policy.",
      "3030"
    )
  ),
  max_fee_in_token_ui: Schema.optionalKey(field(Shown.Decimal, "The same in whole tokens.", "0.000303"))
}

export const QuoteStellarTransaction = Schema.Struct(sponsored).annotate({
  identifier: "QuoteStellarTransactionRequest",
  description: "A transaction whose fee is to be quoted in a token."
})

export const StellarQuote = Schema.Struct({
  ...fee,
  conversion_rate: field(Shown.Decimal, "Whole tokens that one XLM costs.", "0.25")
}).annotate({ identifier: "StellarQuote", description: "What a transaction costs its user." })

export type StellarQuoting = Exchange<typeof QuoteStellarTransaction.Type, typeof StellarQuote.Type>

export const BuildStellarTransaction = Schema.Struct(sponsored).annotate({
  identifier: "BuildStellarTransactionRequest",
  description: "A transaction that is to be built with a payment of its fee."
})

export const BuiltStellarTransaction = Schema.Struct({
  transaction: field(
    Base64,
    "The unsigned envelope in base64: the operations of the user, and then a payment to the relayer, or the relayer's call of the forwarder.",
    "AAAAAgAAAAA="
  ),
  ...fee,
  fee_in_stroops: field(Shown.Digits, "What the fee is worth, in stroops.", "1200"),
  fee_token: field(Shown.Words, "The token.", token),
  user_auth_entry: Schema.optionalKey(
    field(
      Base64,
      "Only for a call of a contract: the authorization that the user signs, in base64. It is sent with the envelope as `signed_auth_entry`.",
      "AAAAAQAAAAA="
    )
  ),
  valid_until: field(Instant, "Until when the envelope is valid.", "2026-11-22T12:02:00.000Z")
}).annotate({ identifier: "BuiltStellarTransaction", description: "A transaction for the user to sign and send." })

export type StellarBuilding = Exchange<typeof BuildStellarTransaction.Type, typeof BuiltStellarTransaction.Type>

export type StellarSigning = Exchange<typeof SignStellarTransaction.Type, typeof SignedStellarTransaction.Type>
