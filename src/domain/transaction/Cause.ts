// Why a transaction is in its state: a code, and the figures that its sentence shows.
import { Schema } from "effect"
import { Code } from "./Code.ts"
import type { KnownCode } from "./Code.ts"
import { shown } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"
import { MomentFromText } from "./Moment.ts"
import { TransactionId } from "./TransactionId.ts"

const Wei = Shown.Digits

/**
 * What limits a price. `given`: the fees of the request. `cap`: the policy of the relayer. `api_key`: the limit of the key that
 * sent it. `first_price`: a multiple of what the first attempt offered. `operator`: the price of `nonce/clear`.
 */
export const PriceLimit = Schema.Literals(["given", "cap", "api_key", "first_price", "operator"]).annotate({
  identifier: "PriceLimit"
})
export type PriceLimit = typeof PriceLimit.Type

/** Each is absent if it does not belong to the code, or is not known. */
export const Figures = Schema.Struct({
  base_fee: shown(Wei, "Base fee of the next block, in wei per gas.", "42000000000"),
  cap: shown(Wei, "Highest price that the transaction may offer, in wei per gas.", "40000000000"),
  price: shown(Wei, "Highest price that the newest attempt offers, in wei per gas.", "39000000000"),
  limit: shown(
    PriceLimit,
    "What limits the price: the request, the policy, the API key, or the first attempt.",
    "given"
  ),
  gas_limit: shown(Shown.Digits, "Gas limit that the request gives.", "40000000"),
  block_gas_limit: shown(Shown.Digits, "Gas limit of the newest block.", "30000000"),
  required: shown(Wei, "Wei that the account needs for this transaction.", "1050000000000000"),
  available: shown(Wei, "Wei on the account that no transaction in flight reserves.", "900000000000000"),
  reserved: shown(Wei, "Wei that the transactions in flight may cost.", "100000000000000"),
  minimum: shown(Wei, "Wei that must stay on the account.", "1000000000000000"),
  blocks: shown(Schema.Natural, "Blocks on top of the transaction's block.", 3),
  required_blocks: shown(Schema.Natural, "Blocks on top of a block that make it final.", 12),
  block: shown(Schema.Natural, "Height of the transaction's block.", 19_000_000),
  newest_block: shown(Schema.Natural, "Height of the newest block that any provider shows.", 19_000_012),
  stalled_since: shown(MomentFromText, "Since when no provider has shown a newer block.", "2026-11-22T11:58:00.000Z"),
  host: shown(
    Schema.String,
    "RPC provider, masked. With `accepted_not_included` and `dropped_by_node`: the providers that accepted it, separated by commas.",
    "https://rpc.example.com/***"
  ),
  nonce: shown(Schema.Natural, "Nonce of the transaction.", 7),
  next_nonce: shown(Schema.Natural, "Nonce that the lane assigns next.", 7),
  required_nonce: shown(Schema.Natural, "Nonce that the request requires.", 9),
  front_nonce: shown(Schema.Natural, "Nonce of the transaction that this one waits for. Absent: it has none.", 6),
  front_id: shown(
    TransactionId,
    "Id of the transaction that this one waits for. Absent if the API key cannot use its relayer.",
    "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"
  ),
  front_code: shown(Code, "Code of the transaction that this one waits for.", "gas_price_above_cap"),
  count: shown(Schema.Natural, "Transactions that the chain counts for the account.", 12),
  window: shown(Schema.Natural, "Transactions of the lane that may be in flight at once.", 64),
  in_flight: shown(Schema.Natural, "Transactions of the lane that are in flight.", 64),
  position: shown(Schema.Natural, "Transactions ahead in the lane.", 2),
  hash: shown(Shown.Hash, "Hash of the no-op, or of the transaction that used the nonce.", `0x${"5c".repeat(32)}`),
  sends: shown(Schema.Natural, "How often the newest attempt was sent.", 2),
  until: shown(MomentFromText, "When the wait ends at the latest.", "2026-11-22T18:00:00.000Z"),
  answer: shown(Schema.Literal("give_up"), "What an operator has decided.", "give_up"),
  fee: shown(Shown.Digits, "Fee in lamports.", "5020"),
  slot: shown(Schema.Natural, "Slot of the transaction.", 300_000_000),
  bound: shown(Schema.Natural, "Last block height at which the signed bytes can land.", 280_000_150),
  attempts: shown(Schema.Natural, "Signed versions of the transaction.", 20),
  decides_at: shown(MomentFromText, "When one provider decides alone.", "2026-11-22T19:00:00.000Z"),
  sequence: shown(Shown.Digits, "Sequence of the transaction, or of the account.", "257698037760000001"),
  required_sequence: shown(Shown.Digits, "Sequence that the request requires.", "257698037760000003"),
  ledger: shown(Schema.Natural, "Ledger that shows it.", 60_000_000),
  other_ledger: shown(Schema.Natural, "Newest ledger of the provider that is behind.", 59_999_998),
  close_time: shown(MomentFromText, "Close time of the newest ledger.", "2026-11-22T18:00:00.000Z"),
  clock: shown(MomentFromText, "Clock of the service.", "2026-11-22T19:00:00.000Z"),
  times: shown(Schema.Natural, "How often in a row nodes said so.", 3),
  error: shown(Shown.Words, "Error of the chain or of the simulation.", "insufficient funds"),
  revert_reason: shown(Shown.Words, "Decoded reason of the revert.", "transfer amount exceeds balance")
}).annotate({ identifier: "TransactionFigures" })
export type Figures = typeof Figures.Type

export const Cause = Schema.Struct({ code: Code, figures: Figures })
export type Cause = typeof Cause.Type

export const cause = (code: KnownCode, figures: Figures = {}): Cause => ({ code, figures })
