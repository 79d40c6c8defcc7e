// What one inspection of a chain found, as it is stored and shown. It contains no text of a provider.
import { Schema } from "effect"
import { field } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"
import { flag } from "../request/Shown.ts"
import { Uint256, Uint64 } from "./Amount.ts"
import { MaskedRpcConfig } from "./Rpc.ts"

/**
 * `unreachable`: no answer in time, or a server error. `refused`: the provider refused the call, or the service may not
 * call the URL. `invalid_answer`: the answer does not follow the protocol of the chain.
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
  /** On stellar, `ChainIdMismatch` means that the passphrase is that of another network. */
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
  breaker: field(
    BreakerState,
    "State of the circuit breaker. An `open` provider is not called while others work.",
    "closed"
  ),
  failed: field(Schema.Boolean, "Whether the last call failed.", false),
  latency_ms: Schema.optionalKey(
    field(
      Schema.Natural,
      "Milliseconds in which it said which chain it serves, retries included. Absent if it did not, or was not asked.",
      42
    )
  ),
  protocol_version: Schema.optionalKey(
    field(Schema.Natural, "Protocol of the stellar network, as the provider says.", 28)
  ),
  code: Schema.optionalKey(field(CheckCode, "Why the provider failed in this inspection.", "rate_limited")),
  error: Schema.optionalKey(
    field(
      Shown.Words,
      "The call that failed, and its HTTP status, JSON-RPC code, time limit, or the two chain ids. Never text of the provider.",
      "eth_getBalance: HTTP 429"
    )
  )
}).annotate({ identifier: "ProviderReading", description: "The state of a provider." })
export type ProviderReading = typeof ProviderReading.Type

const found = {
  /** In the chain's smallest unit. Absent if it was not read. */
  balance: Schema.optionalKey(Uint256),
  /** What keeps the relayer from working. Empty if a provider failed and another one answered. */
  failures: Schema.Array(CheckFailure),
  /** In the order of the relayer's URLs. */
  providers: Schema.Array(ProviderReading)
}

/** Seconds by which the clock and the close time of the newest stellar ledger may differ: beyond that, no envelope is signed. */
export const maxClockDifference = 60

const StellarLedger = Schema.Struct({
  age_seconds: field(
    Schema.Int,
    "Seconds from the close of the newest ledger to the check. Negative: it was closed after the check, by the clock of the service.",
    4
  ),
  base_reserve: Schema.optionalKey(
    field(
      Shown.Digits,
      "Stroops that an account locks per entry, as the network has voted, or as the public network has while no provider says it. Absent: it was not read.",
      "5000000"
    )
  ),
  kept_seconds: Schema.optionalKey(
    field(
      Schema.Natural,
      "Seconds that the ledgers of the provider reach back. Absent on test networks, which may have begun recently.",
      604_800
    )
  )
}).annotate({ identifier: "StellarLedgerReading", description: "The ledgers that a provider has." })
export type StellarLedger = typeof StellarLedger.Type

export const ChainSnapshot = Schema.Union([
  Schema.Struct({
    network_type: Schema.tag("evm"),
    ...found,
    /** Nonce of the account's next transaction. */
    nonce: Schema.optionalKey(Uint64)
  }).annotate({ identifier: "EvmReading" }),
  Schema.Struct({ network_type: Schema.tag("solana"), ...found }).annotate({ identifier: "SolanaReading" }),
  Schema.Struct({
    network_type: Schema.tag("stellar"),
    ...found,
    /** Sequence number of the account's last transaction. */
    sequence_number: Schema.optionalKey(Uint64),
    /** Absent if it was not read. */
    ledger: Schema.optionalKey(StellarLedger)
  }).annotate({ identifier: "StellarReading" })
])
export type ChainSnapshot = typeof ChainSnapshot.Type

// The protocol of stellar networks: which one this version of the service knows, and what is said of a newer one.

/**
 * The newest protocol whose envelopes, operations, authorizations and results this version reads: that of the definitions in
 * @stellar/stellar-sdk 17.2.0.
 */
export const knownProtocol = 28

/** The newest protocol that a provider names. Undefined: none names one. */
export const protocolOf = (readings: ReadonlyArray<Pick<ProviderReading, "protocol_version">>): number | undefined => {
  const versions = readings.flatMap(({ protocol_version }) => protocol_version ?? [])
  return versions.length === 0 ? undefined : Math.max(...versions)
}

/** The warning about a protocol. Undefined: this version knows it, or it was not read. */
export const protocolWarning = (version: number | undefined): string | undefined =>
  version === undefined || version <= knownProtocol
    ? undefined
    : `The network runs protocol ${version}, and this version of the service knows protocol ${knownProtocol}. Until the service is updated, it refuses operations, kinds of envelopes, authorizations, preconditions and addresses that a later protocol has added, and calls whose simulation has a part that it cannot read.`

// The query of a create that asks the chain first.

export const CheckQuery = {
  check: Schema.optionalKey(
    flag(
      "Whether the providers are asked before the create, for at most 2 seconds. What is wrong is in `metadata.logs` and never keeps the create from succeeding."
    )
  )
}
export type CheckQuery = { readonly [K in keyof typeof CheckQuery]?: (typeof CheckQuery)[K]["Type"] }
