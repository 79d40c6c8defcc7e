// What the API shows of stellar: transactions, sequences of accounts, and simulations.
import { Schema } from "effect"
import { field, shown, shownAddition } from "../../../domain/request/Field.ts"
import * as Shown from "../../../domain/request/Shown.ts"
import { Instant } from "../../../domain/request/Shown.ts"
import { Code } from "../../core/Cause.ts"
import { neutralAttemptFields, neutralFields, versionField, versionsText } from "../../core/Presentation.ts"
import { TransactionId } from "../../core/TransactionValues.ts"
import { Memo, StellarOperation } from "./StellarRequests.ts"

const exampleAccount = "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"

/** `G` and 55 letters and digits. */
const Address = Shown.shaped(/^G[A-Z2-7]{55}$/)

/** Without `0x`. */
const Hash = Shown.hex(64)
const exampleHash = "5c".repeat(32)

const Base64 = Shown.shaped(/^([A-Za-z0-9+/]{4}){1,16}$/)

const ResultName = Shown.shaped(/^(tx|op|payment)[A-Z][a-z]{2,10}$/)

const exampleMoment = "2026-11-22T12:00:00.000Z"

const StellarAttemptResponse = Schema.Struct({
  hash: field(Hash, "Hash of the envelope, of the outer one if there are two.", exampleHash),
  inner_hash: shown(Hash, "Hash of the inner envelope.", exampleHash),
  kind: field(
    Schema.Literals(["original", "refresh", "replace"]),
    "Why it was signed: for the first time, again at the same place, or for a new version of the request.",
    "original"
  ),
  max_fee: field(Shown.Digits, "Stroops that it can cost at most.", "2000"),
  valid_until: field(Instant, "When it can no longer be applied: its `maxTime`.", exampleMoment),
  ...neutralAttemptFields,
  signed_at: field(Instant, "When it was signed.", exampleMoment),
  account: shown(
    Address,
    "Account whose sequence its bytes use: the relayer, or a channel of the service.",
    exampleAccount
  ),
  sequence_number: shown(Shown.Digits, "Sequence of its bytes.", "257698037760000001"),
  ledger: shown(Schema.Natural, "Ledger that contains it. Absent if none does.", 60_000_000)
}).annotate({ identifier: "StellarTransactionAttempt", description: "A signed envelope of the transaction." })

const requested = {
  operations: shownAddition(
    Schema.Array(StellarOperation),
    "Operations of the request. Only in the response of one transaction.",
    []
  ),
  memo: shownAddition(Memo, "Memo of the request. Only in the response of one transaction.", {
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
    exampleAccount
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
  hash: shown(Hash, "Hash of the envelope that was applied, else of the newest.", exampleHash),
  transaction_result_xdr: shown(Base64, "Result of the network in base64 of XDR.", "AAAAAAAAAGQAAAAAAAAAAAAAAAA="),
  inner_hash: shownAddition(Hash, "Hash of the inner envelope of a fee bump.", exampleHash),
  channel_account: shownAddition(
    Address,
    "Account of the service whose sequence it uses, if it is not the relayer.",
    exampleAccount
  ),
  ledger: shownAddition(Schema.Natural, "Ledger that contains it.", 60_000_000),
  fee_paid: shownAddition(Shown.Digits, "Stroops that were charged.", "200"),
  result_code: shownAddition(ResultName, "Result of the transaction.", "txSuccess"),
  operation_results: shownAddition(Schema.Array(ResultName), "Results of the operations.", ["paymentSuccess"]),
  contract_error: shownAddition(Shown.Words, "First error of the contract, as a diagnostic event names it.", "trapped"),
  ...requested,
  attempts: shownAddition(Schema.Array(StellarAttemptResponse), "All signed envelopes, oldest first.", []),
  request_versions: shownAddition(Schema.Array(StellarRequestVersion), versionsText, [])
}).annotate({ identifier: "StellarTransactionResponse", description: "A stellar transaction." })
export type StellarTransactionResponse = typeof StellarTransactionResponse.Type

// The sequences of an account: what the ledger has, next to what the chain says. Sequences exceed the integers of JSON numbers.

const GivenEnvelope = Schema.Struct({
  hash: field(Shown.shaped(/^[0-9a-f]{64}$/), "Hash of the envelope.", "ab".repeat(32)),
  sequence: field(Shown.Digits, "Sequence that it uses.", "257698037760000001"),
  valid_until: field(Instant, "Moment after which no ledger contains it.", "2026-11-22T12:00:00.000Z")
}).annotate({ identifier: "GivenStellarEnvelope", description: "An envelope that a caller got signed." })

const StellarChannel = Schema.Struct({
  address: field(
    Shown.shaped(/^G[A-Z2-7]{55}$/),
    "Account of the channel.",
    "GAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEARIHQ"
  ),
  stage: field(
    Schema.Literals(["creating", "ready", "draining"]),
    "`creating`: its account was not seen yet. `draining`: it ends, and nothing is sent with it any more.",
    "ready"
  ),
  next_sequence: field(
    Shown.Digits,
    "Sequence that the service assigns next. 0: its account was not read yet.",
    "257698037760000002"
  ),
  transaction_id: shown(
    TransactionId,
    "The open transaction that has its place.",
    "0196f5a4-6d5c-7b3a-9e3f-2f1a6c8d4e10"
  ),
  chain_sequence: shown(
    Shown.Digits,
    "Sequence of its account, read for this response. Absent if no provider answers, or if the account does not exist.",
    "257698037760000001"
  )
}).annotate({
  identifier: "StellarChannel",
  description: "An account whose sequences transactions of the relayer use."
})

export const StellarNonceState = Schema.Struct({
  address: field(
    Shown.shaped(/^G[A-Z2-7]{55}$/),
    "Account.",
    "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"
  ),
  generation: field(Schema.Natural, "How often an operator declared that the test network was restarted.", 0),
  next_sequence: field(
    Shown.Digits,
    "Sequence that the service assigns next. 0: the account was not read yet.",
    "257698037760000002"
  ),
  used_sequence: field(
    Shown.Digits,
    "Highest sequence of the account that the service has accepted from the chain as used.",
    "257698037760000000"
  ),
  pending: field(Schema.Natural, "Open transactions of the account without a sequence.", 3),
  in_flight: field(Schema.Natural, "Open transactions of the account with envelopes.", 1),
  oldest_open_sequence: shown(Shown.Digits, "Lowest sequence of an open transaction.", "257698037760000001"),
  given: field(
    Schema.Array(GivenEnvelope),
    "Envelopes that callers got signed and that can be applied at a sequence that is not used yet. Transactions wait for such a sequence.",
    []
  ),
  channels: field(Schema.Array(StellarChannel), "Channels of the account.", []),
  locked_by_channels: field(Shown.Digits, "Stroops of reserves that the relayer pays for the channels.", "45000000"),
  code: shown(Code, "Why the service signs nothing for the account.", "chain_changed"),
  code_since: shown(Instant, "Since when.", "2026-11-22T12:00:00.000Z"),
  chain_sequence: shown(
    Shown.Digits,
    "Sequence of the account, read from a provider for this response. Absent if no provider answers, or if the account does not exist.",
    "257698037760000000"
  ),
  chain_ledger: shown(Schema.Natural, "Ledger at which it was read. Absent if no provider answers.", 60_000_123)
}).annotate({ identifier: "StellarNonceState", description: "Sequences of the ledger next to that of the chain." })
export type StellarNonceState = typeof StellarNonceState.Type

// What a send of stellar would do and cost now. Nothing is stored or sent.

export const StellarSimulation = Schema.Struct({
  fee: shown(
    Schema.BigIntFromString,
    "Stroops that the first envelope would bid. Absent: more than its field can hold.",
    "250"
  ),
  inclusion_fee: field(Shown.Digits, "Stroops per operation that it would bid.", "250"),
  resource_fee: field(Shown.Digits, "Stroops of the fee that are for the resources of a call, with a margin.", "0"),
  max_fee: field(Shown.Digits, "Stroops that an envelope of this request may cost.", "1000000"),
  fits: field(Schema.Boolean, "Whether `fee` is at most `max_fee`.", true),
  out: field(
    Shown.Digits,
    "Stroops that the operations take from the account at most, besides the fee. Limits of API keys count it.",
    "10000000"
  ),
  auth: field(Schema.Array(Schema.String), "Authorizations that the call asks for, as base64 of their XDR.", []),
  return_value: shown(Schema.String, "What the call returns, as base64 of an `ScVal`.", "AAAAAwAAAAE="),
  needs_restore: field(Schema.Boolean, "Whether archived entries have to be restored first.", false),
  balance_change: shown(
    Schema.BigIntFromString,
    "Stroops that the account has more after the simulation of a call, without the fee. Negative: less.",
    "-10000000"
  ),
  verdict: field(
    Schema.Array(Shown.Words),
    "Codes of what keeps a send of this request from being accepted or signed now. Empty: nothing.",
    []
  )
}).annotate({ identifier: "StellarSimulation", description: "What a send would do and cost now." })
export type StellarSimulation = typeof StellarSimulation.Type
