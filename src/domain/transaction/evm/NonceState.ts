// The nonces of an account: what the ledger has, next to what the chain says.
import { Schema } from "effect"
import { EvmAddress } from "../../chain/Address.ts"
import { WeiPerGas } from "../../chain/Amount.ts"
import { field, shown } from "../../request/Field.ts"
import { Instant, maybe } from "../../request/Text.ts"
import { Code } from "../Cause.ts"
import { TransactionId, TransactionStatus } from "../TransactionValues.ts"
import { maxNonce } from "./EvmNumbers.ts"

const Nonce = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maxNonce }))

export const NonceState = Schema.Struct({
  address: field(EvmAddress, "Account, in lower case.", "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"),
  chain_id: field(Schema.Natural, "Chain id (EIP-155).", 11_155_111),
  generation: field(Schema.Natural, "How often an operator declared that the test network was restarted.", 0),
  next_nonce: field(Nonce, "Nonce that the service assigns next.", 12),
  known_count: field(
    Nonce,
    "Highest transaction count of the account that the service has accepted from the chain.",
    10
  ),
  settled_nonce: field(Nonce, "All transactions with a lower nonce are final.", 8),
  pending: field(Schema.Natural, "Open transactions of the account without a nonce.", 3),
  in_flight: field(Schema.Natural, "Open transactions of the account with a nonce.", 2),
  window: shown(Schema.Natural, "Transactions that may be in flight at once, at present.", 64),
  oldest_open_nonce: shown(Nonce, "Lowest nonce of an open transaction.", 10),
  code: shown(Code, "Why the service assigns no nonces to the account's transactions.", "nonce_ahead"),
  code_since: shown(Instant, "Since when.", "2026-11-22T12:00:00.000Z"),
  chain_count: shown(
    Nonce,
    "Transactions of the account in blocks, read from a provider for this response. Absent if no provider answers.",
    10
  ),
  chain_pending_count: shown(Nonce, "The same, plus the transactions in the provider's pool.", 12)
}).annotate({ identifier: "NonceState", description: "Nonces of the ledger next to those of the chain." })
export type NonceState = typeof NonceState.Type

/** Nonces that one request clears at most. */
export const maxCleared = 1000

export const ClearNonces = Schema.Struct({
  from: field(Nonce, "First nonce.", 10),
  to: field(Nonce, "Last nonce of the range, inclusive. At most 999 above the first one.", 11),
  max_fee_per_gas: maybe(WeiPerGas, {
    description:
      "The most that the no-ops may offer, in wei per gas, also above the `gas_price_cap` of the relayer. If absent: what the cap allows; without a cap, at least twice the price of `fast` at the moment.",
    examples: ["200000000000"]
  })
}).annotate({
  identifier: "ClearNoncesRequest",
  description: "Nonces whose open transactions are replaced by no-ops."
})
export type ClearNonces = typeof ClearNonces.Type

/** A transaction in the range, after the command. */
const ClearedNonce = Schema.Struct({
  transaction_id: field(TransactionId, "Transaction that has the nonce.", "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"),
  nonce: field(Nonce, "Its nonce.", 10),
  status: field(TransactionStatus, "State of the transaction.", "submitted"),
  code: shown(Code, "What it waits for.", "canceling"),
  changed: field(Schema.Boolean, "Whether the command changed it. A transaction that is mined stays as it is.", true)
}).annotate({ identifier: "ClearedNonce", description: "An open transaction that has a nonce of the range." })

export const ClearedNonces = Schema.Struct({
  transaction_ids: field(Schema.Array(TransactionId), "Transactions that it changed.", [
    "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"
  ]),
  transactions: field(
    Schema.Array(ClearedNonce),
    "The relayer's open transactions that have a nonce of the range. Empty: there are none.",
    [
      {
        transaction_id: "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b",
        nonce: 10,
        status: "submitted",
        code: "canceling",
        changed: true
      }
    ]
  )
}).annotate({ identifier: "ClearedNonces", description: "What the command changed, and what has the nonces." })
export type ClearedNonces = typeof ClearedNonces.Type

/** What the command changed. */
export const NonceDecision = Schema.Struct({
  transaction_ids: field(Schema.Array(TransactionId), "Transactions that it changed.", [
    "4f1c2c9e-8f0b-4c56-9d5e-0a7b1f1f2a3b"
  ])
}).annotate({ identifier: "NonceDecision", description: "What the command changed." })
export type NonceDecision = typeof NonceDecision.Type
