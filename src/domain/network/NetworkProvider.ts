// The results of a network's RPC providers in the last checks of its relayers.
import { Schema } from "effect"
import { CheckCode } from "../chain/ChainSnapshot.ts"
import { factFields, MaskedRpcConfig } from "../chain/Rpc.ts"
import { field, shown } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"
import { flag, Instant } from "../request/Shown.ts"

/** How many relayers of the network have their last check read: the newest relayers. */
export const maxChecked = 200

const at = "2026-01-02T03:04:05.678Z"

export const ProvidersQuery = {
  check: Schema.optionalKey(
    flag("Whether the providers are asked now, for at most 2 seconds: which chain they serve, and what they can do.")
  )
}

export const NetworkProvider = Schema.Struct({
  ...MaskedRpcConfig.fields,
  state: field(
    Schema.Literals(["working", "failing", "unknown"]),
    "`failing`: it failed the last check of at least one relayer. `unknown`: no relayer without RPC URLs of its own was checked yet.",
    "failing"
  ),
  code: shown(CheckCode, "Why it failed most recently.", "rate_limited"),
  error: shown(Shown.Words, "The call that failed, and how. Never text of the provider.", "the call has timed out"),
  since: shown(
    Instant,
    "Since when the relayer is degraded, failing or disabled that has been so for the longest time, of those that it failed.",
    at
  ),
  relayers: field(
    Schema.Natural,
    `Relayers whose last check asked it, of the newest ${maxChecked} of the network without RPC URLs of their own.`,
    12
  ),
  failing: field(Schema.Natural, "How many of them it failed.", 2),
  p50_ms: shown(
    Schema.Natural,
    "Milliseconds within which it said which chain it serves, in half of those checks. Absent if it answered none.",
    42
  ),
  p95_ms: shown(Schema.Natural, "The same in 95 % of them.", 180),
  protocol_version: shown(Schema.Natural, "Protocol of the stellar network, as it said most recently.", 28),
  warning: shown(
    Shown.Words,
    "What this version of the service refuses, because the network runs a newer protocol than it knows.",
    "The network runs protocol 29, and this version of the service knows protocol 28."
  ),
  checked_at: shown(Instant, "When it was last asked by a check.", at),
  latency_ms: shown(
    Schema.Natural,
    "Milliseconds within which it said which chain it serves, now. Like the fields after it, only with `check`.",
    42
  ),
  ...factFields
}).annotate({
  identifier: "NetworkProvider",
  description:
    "An RPC provider of a network, as the last checks of relayers found it, and with `check` as it answers now."
})
export type NetworkProvider = typeof NetworkProvider.Type
