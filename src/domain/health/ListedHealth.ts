// The state of a relayer's health, as lists of relayers show it on request. It is what the service has stored; no chain is called.
import { Schema } from "effect"
import { field, shown } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"
import { Instant } from "../request/Shown.ts"

export const HealthStatus = Schema.Literals([
  "unknown",
  "healthy",
  "waiting",
  "degraded",
  "failing",
  "disabled"
]).annotate({
  identifier: "HealthStatus",
  message: "Expected unknown, healthy, waiting, degraded, failing or disabled",
  description:
    "`unknown`: not checked yet. `waiting`: its checks succeed, and a transaction waits for something that is missing, such as funds; `explain` says for what. `degraded`: it works, but not with all providers. `failing`: checks have failed, but too few to disable it.",
  examples: ["healthy"]
})
export type HealthStatus = typeof HealthStatus.Type

const at = "2026-01-02T03:04:05.678Z"

export const ListedHealth = Schema.Struct({
  state: HealthStatus,
  code: shown(
    Schema.String,
    "What is wrong: a type of `disabled_reason`, the code of the first transaction that waits, `provider_failed`, or `low_balance`. Absent if nothing is.",
    "BalanceCheckFailed"
  ),
  since: shown(Instant, "Since when it is in this state. Absent before the first check.", at),
  balance: shown(
    Shown.Digits,
    "Balance in the chain's smallest unit, as the last check that read it found it. Absent if none did.",
    "1000000000000000000"
  ),
  read_at: shown(Instant, "When the balance was read.", at),
  open: field(Schema.Natural, "Transactions that are not final.", 2),
  oldest_open_at: shown(Instant, "When the oldest of them was accepted.", at),
  last_confirmed_at: shown(Instant, "When its newest confirmed transaction was confirmed.", at)
}).annotate({
  identifier: "RelayerHealthSummary",
  description: "The last check of a relayer, and its open transactions."
})
export type ListedHealth = typeof ListedHealth.Type
