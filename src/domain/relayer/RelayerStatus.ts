// How a relayer is doing, as the API shows it.
import { Schema } from "effect"
import { Uint128 } from "../chain/Amount.ts"
import { HealthStatus } from "../health/Health.ts"
import { Instant } from "../request/Instant.ts"
import type { NetworkType } from "../network/Network.ts"
import { ProviderReading } from "../chain/ChainSnapshot.ts"
import { DisabledReason } from "./Relayer.ts"

/** An amount or a count as a text of digits. */
const Decimal = Schema.BigIntFromString

const shown = {
  /** Of the chain's smallest unit. Absent: never read. */
  balance: Schema.optionalKey(Decimal),
  /** Whether balance, nonce and providers are of this very moment; else they are of `read_at`, and of the last check. */
  live: Schema.Boolean,
  /** Absent: never. */
  read_at: Schema.optionalKey(Instant),
  /** By the operator. */
  paused: Schema.Boolean,
  /** By the service. */
  system_disabled: Schema.Boolean,
  disabled_reason: Schema.optionalKey(DisabledReason),
  health: HealthStatus,
  /** Absent: not checked yet. */
  last_check_at: Schema.optionalKey(Instant),
  next_check_at: Instant,
  /** In the order of the RPC URLs. */
  providers: Schema.Array(ProviderReading)
}

export const RelayerStatus = Schema.Union([
  Schema.Struct({
    network_type: Schema.tag("evm"),
    ...shown,
    /** Of the account's next transaction. */
    nonce: Schema.optionalKey(Decimal)
  }).annotate({ identifier: "EvmRelayerStatus" }),
  Schema.Struct({ network_type: Schema.tag("solana"), ...shown }).annotate({ identifier: "SolanaRelayerStatus" }),
  Schema.Struct({
    network_type: Schema.tag("stellar"),
    ...shown,
    /** Of the account's last transaction. */
    sequence_number: Schema.optionalKey(Decimal)
  }).annotate({ identifier: "StellarRelayerStatus" })
])
export type RelayerStatus = typeof RelayerStatus.Type

/** The smallest unit of a chain's money. */
export const unitOf = { evm: "wei", solana: "lamport", stellar: "stroop" } as const satisfies Record<
  NetworkType,
  string
>

export const RelayerBalance = Schema.Struct({
  balance: Uint128,
  unit: Schema.Literals(["wei", "lamport", "stroop"])
}).annotate({ identifier: "RelayerBalance" })
export type RelayerBalance = typeof RelayerBalance.Type
