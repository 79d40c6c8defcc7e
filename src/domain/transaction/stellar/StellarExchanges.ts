// What callers exchange with the service besides sends: envelopes that it signs for them.
import { Schema } from "effect"
import { field } from "../../request/Field.ts"
import * as Shown from "../../request/Shown.ts"
import type { Exchange } from "../Family.ts"

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

export type StellarSigning = Exchange<typeof SignStellarTransaction.Type, typeof SignedStellarTransaction.Type>
