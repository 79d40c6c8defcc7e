// The account of a solana relayer as operators see it after a command. It has no nonce.
import { Schema } from "effect"
import { field, shown } from "../../request/Field.ts"
import * as Shown from "../../request/Shown.ts"
import { Instant } from "../../request/Text.ts"
import { Code } from "../Cause.ts"

export const SolanaLaneState = Schema.Struct({
  address: field(
    Shown.shaped(/^[1-9A-HJ-NP-Za-km-z]{43,44}$/),
    "Account.",
    "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
  ),
  generation: field(Schema.Natural, "How often an operator declared that the test network was restarted.", 1),
  pending: field(Schema.Natural, "Open transactions of the account without a signature.", 3),
  in_flight: field(Schema.Natural, "Open transactions of the account with a signature.", 0),
  signature_window: shown(Schema.Natural, "Transactions that may be in flight at once.", 64),
  code: shown(Code, "Why the service signs nothing for the account.", "chain_changed"),
  code_since: shown(Instant, "Since when.", "2026-11-22T12:00:00.000Z")
}).annotate({ identifier: "SolanaLaneState", description: "Open transactions of an account of solana." })
export type SolanaLaneState = typeof SolanaLaneState.Type
