// What a look at a relayer's chain found, as it is kept and shown. Nothing in it is text of a provider's.
import { Schema } from "effect"
import { Uint128, Uint64 } from "./Amount.ts"
import { MaskedRpcConfig } from "./Rpc.ts"

/**
 * `unreachable`: no answer in time, or that of a server that is unwell. `refused`: by the provider, or a URL that the
 * service does not call. `invalid_answer`: none of the chain's.
 */
export const CheckCode = Schema.Literals([
  "unreachable",
  "rate_limited",
  "refused",
  "invalid_answer",
  "mismatch",
  "too_low",
  "no_account"
])
export type CheckCode = typeof CheckCode.Type

export const CheckFailure = Schema.Struct({
  /** `ChainIdMismatch` of stellar: the passphrase is another network's. */
  type: Schema.Literals([
    "RpcValidationFailed",
    "NonceSyncFailed",
    "BalanceCheckFailed",
    "SequenceSyncFailed",
    "ChainIdMismatch"
  ]),
  code: CheckCode
}).annotate({ identifier: "CheckFailure" })
export type CheckFailure = typeof CheckFailure.Type

export const BreakerState = Schema.Literals(["closed", "open", "half_open"])
export type BreakerState = typeof BreakerState.Type

export const ProviderReading = Schema.Struct({
  ...MaskedRpcConfig.fields,
  /** Open: not called while others can be. */
  breaker: BreakerState,
  /** In this look, or before and not called since. */
  failed: Schema.Boolean,
  /** Why it failed in this look. */
  code: Schema.optionalKey(CheckCode)
}).annotate({ identifier: "ProviderReading" })
export type ProviderReading = typeof ProviderReading.Type

const found = {
  /** Of the chain's smallest unit. Absent: not read. */
  balance: Schema.optionalKey(Uint128),
  /** What keeps the relayer from working: empty where one provider alone failed and another answered. */
  failures: Schema.Array(CheckFailure),
  /** In the order of the relayer's URLs. */
  providers: Schema.Array(ProviderReading)
}

export const ChainSnapshot = Schema.Union([
  Schema.Struct({
    network_type: Schema.tag("evm"),
    ...found,
    /** Transactions that the account has sent: the next one's nonce. */
    nonce: Schema.optionalKey(Uint64)
  }).annotate({ identifier: "EvmReading" }),
  Schema.Struct({ network_type: Schema.tag("solana"), ...found }).annotate({ identifier: "SolanaReading" }),
  Schema.Struct({
    network_type: Schema.tag("stellar"),
    ...found,
    /** Of the account's last transaction. */
    sequence_number: Schema.optionalKey(Uint64)
  }).annotate({ identifier: "StellarReading" })
])
export type ChainSnapshot = typeof ChainSnapshot.Type
