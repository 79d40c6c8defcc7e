// The status and the balance of a relayer, as responses show them.
import { Schema } from "effect"
import { Uint256 } from "../chain/Amount.ts"
import { HealthStatus } from "../health/ListedHealth.ts"
import { Instant } from "../request/Instant.ts"
import { networkTag } from "../network/NetworkId.ts"
import type { NetworkType } from "../network/NetworkId.ts"
import { field } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"
import { ProviderReading } from "../chain/ChainSnapshot.ts"
import { DisabledReason } from "./Relayer.ts"

const shown = {
  balance: Schema.optionalKey(
    field(Shown.Digits, "Balance in the chain's smallest unit. Absent if it was never read.", "1000000000000000000")
  ),
  live: field(
    Schema.Boolean,
    "True if balance, nonce and providers were read for this response. False if they are from `read_at` and from the last check.",
    true
  ),
  read_at: Schema.optionalKey(
    field(Instant, "When the amounts were read. Absent if they never were.", "2026-01-02T03:04:05.678Z")
  ),
  paused: field(Schema.Boolean, "Whether the operator has paused the relayer.", false),
  system_disabled: field(Schema.Boolean, "Whether the service has disabled the relayer.", false),
  disabled_reason: Schema.optionalKey(DisabledReason),
  health: HealthStatus,
  last_check_at: Schema.optionalKey(
    field(Instant, "When the relayer was last checked. Absent before the first check.", "2026-01-02T03:04:05.678Z")
  ),
  next_check_at: field(Instant, "When the relayer is checked next.", "2026-01-02T03:05:05.678Z"),
  pending_transactions_count: field(Schema.Natural, "Transactions of the relayer that are not final.", 2),
  last_confirmed_transaction_timestamp: Schema.optionalKey(
    field(Instant, "When its last transaction was confirmed. Absent if none was.", "2026-01-02T03:04:05.678Z")
  ),
  providers: field(Schema.Array(ProviderReading), "The providers, in the order of the RPC URLs.")
}

export const RelayerStatus = Schema.Union([
  Schema.Struct({
    network_type: networkTag("evm"),
    ...shown,
    nonce: Schema.optionalKey(field(Shown.Digits, "Nonce of the account's next transaction.", "17"))
  }).annotate({ identifier: "EvmRelayerStatus" }),
  Schema.Struct({ network_type: networkTag("solana"), ...shown }).annotate({ identifier: "SolanaRelayerStatus" }),
  Schema.Struct({
    network_type: networkTag("stellar"),
    ...shown,
    sequence_number: Schema.optionalKey(
      field(Shown.Digits, "Sequence number of the account's last transaction.", "103720918407102567")
    )
  }).annotate({ identifier: "StellarRelayerStatus" })
]).annotate({ identifier: "RelayerStatus", description: "Whether a relayer works, and its account on the chain." })
export type RelayerStatus = typeof RelayerStatus.Type

/** The smallest unit of each network type. */
export const unitOf = { evm: "wei", solana: "lamport", stellar: "stroop" } as const satisfies Record<
  NetworkType,
  string
>

export const RelayerBalance = Schema.Struct({
  balance: field(Uint256, "Balance in `unit`.", 1000000000000000),
  unit: field(Schema.Literals(["wei", "lamport", "stroop"]), "The chain's smallest unit.", "wei")
}).annotate({ identifier: "RelayerBalance", description: "The balance of a relayer's account." })
export type RelayerBalance = typeof RelayerBalance.Type
