// A transaction of stellar as the API shows it. What is unknown is omitted; `null` is never sent.
import { Schema } from "effect"
import { added, field, shown } from "../../request/Field.ts"
import * as Shown from "../../request/Shown.ts"
import { Instant } from "../../request/Text.ts"
import { neutralAttemptFields, neutralFields, versionField, versionsText } from "../Presentation.ts"
import { Memo, StellarOperation } from "./StellarOperation.ts"

const account = "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"

/** `G` and 55 letters and digits. */
const Address = Shown.shaped(/^G[A-Z2-7]{55}$/)

/** Without `0x`. */
const Hash = Shown.hex(64)
const hash = "5c".repeat(32)

const Base64 = Shown.shaped(/^([A-Za-z0-9+/]{4}){1,16}$/)

const ResultName = Shown.shaped(/^(tx|op|payment)[A-Z][a-z]{2,10}$/)

const at = "2026-11-22T12:00:00.000Z"

/** An optional property that existing clients do not know. */
const more = <S extends Schema.Top>(schema: S, description: string, example: S["Encoded"]) =>
  shown(schema, added(description), example)

const StellarAttemptResponse = Schema.Struct({
  hash: field(Hash, "Hash of the envelope, of the outer one if there are two.", hash),
  inner_hash: shown(Hash, "Hash of the inner envelope.", hash),
  kind: field(
    Schema.Literals(["original", "refresh", "replace"]),
    "Why it was signed: for the first time, again at the same place, or for a new version of the request.",
    "original"
  ),
  max_fee: field(Shown.Digits, "Stroops that it can cost at most.", "2000"),
  valid_until: field(Instant, "When it can no longer be applied: its `maxTime`.", at),
  ...neutralAttemptFields,
  signed_at: field(Instant, "When it was signed.", at),
  account: shown(Address, "Account whose sequence its bytes use: the relayer, or a channel of the service.", account),
  sequence_number: shown(Shown.Digits, "Sequence of its bytes.", "257698037760000001"),
  ledger: shown(Schema.Natural, "Ledger that contains it. Absent if none does.", 60_000_000)
}).annotate({ identifier: "StellarTransactionAttempt", description: "A signed envelope of the transaction." })

const requested = {
  operations: more(
    Schema.Array(StellarOperation),
    "Operations of the request. Only in the response of one transaction.",
    []
  ),
  memo: more(Memo, "Memo of the request. Only in the response of one transaction.", {
    type: "text",
    value: "order-1234"
  })
}

const StellarRequestVersion = Schema.Struct({
  version: versionField,
  ...requested,
  transaction_xdr: shown(Base64, "The envelope in base64.", "AAAAAgAAAAAAAAAA"),
  max_fee: shown(Shown.Digits, "Stroops that an envelope may cost in all.", "1000000")
}).annotate({ identifier: "StellarRequestVersion", description: "What a caller asked for, in one of its versions." })

export const StellarTransactionResponse = Schema.Struct({
  network_type: field(Schema.Literal("stellar"), "Network type of the relayer.", "stellar"),
  ...neutralFields,
  source_account: field(
    Address,
    "Account whose operations are executed: the relayer, or the source of the envelope that it pays for.",
    account
  ),
  fee: field(
    Schema.Natural,
    "Stroops: what was charged, else what the newest envelope can cost. 0 before the first one.",
    2000
  ),
  sequence_number: field(
    Shown.Digits,
    "Sequence of the envelope, as text because it exceeds 2^53. 0 before the first one.",
    "257698037760000001"
  ),
  hash: shown(Hash, "Hash of the envelope that was applied, else of the newest.", hash),
  transaction_result_xdr: shown(Base64, "Result of the network in base64 of XDR.", "AAAAAAAAAGQAAAAAAAAAAAAAAAA="),
  inner_hash: more(Hash, "Hash of the inner envelope of a fee bump.", hash),
  channel_account: more(Address, "Account of the service whose sequence it uses, if it is not the relayer.", account),
  ledger: more(Schema.Natural, "Ledger that contains it.", 60_000_000),
  fee_paid: more(Shown.Digits, "Stroops that were charged.", "200"),
  result_code: more(ResultName, "Result of the transaction.", "txSuccess"),
  operation_results: more(Schema.Array(ResultName), "Results of the operations.", ["paymentSuccess"]),
  contract_error: more(Shown.Words, "First error of the contract, as a diagnostic event names it.", "trapped"),
  ...requested,
  attempts: more(Schema.Array(StellarAttemptResponse), "All signed envelopes, oldest first.", []),
  request_versions: more(Schema.Array(StellarRequestVersion), versionsText, [])
}).annotate({ identifier: "StellarTransactionResponse", description: "A stellar transaction." })
export type StellarTransactionResponse = typeof StellarTransactionResponse.Type
