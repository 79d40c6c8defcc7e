// The sequences of an account: what the ledger has, next to what the chain says. Sequences exceed the integers of JSON numbers.
import { Schema } from "effect"
import { field, shown } from "../../request/Field.ts"
import * as Shown from "../../request/Shown.ts"
import { Instant } from "../../request/Text.ts"
import { Code } from "../Cause.ts"
import { TransactionId } from "../TransactionValues.ts"

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
