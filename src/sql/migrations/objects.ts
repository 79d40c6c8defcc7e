// What the migrations create, by name: a backup contains these tables, and a restore replaces them.

/** Every table except that of the migrations themselves. A host may keep tables of its own beside them. */
export const tables: ReadonlyArray<string> = [
  "api_key_descendants",
  "api_key_fee_limits",
  "api_keys",
  "attempts",
  "audit",
  "audit_checkpoints",
  "channel_keys",
  "claims",
  "configurations",
  "console_sessions",
  "deliveries",
  "delivery_attempts",
  "events",
  "events_pruned",
  "idempotency_keys",
  "instances",
  "lanes",
  "ledger_mark",
  "managed_objects",
  "master_key",
  "networks",
  "notifications",
  "private_bytes",
  "relayer_balances",
  "relayer_blocks",
  "relayer_checks",
  "relayer_counts",
  "relayer_top_ups",
  "relayers",
  "schema_mark",
  "service_secrets",
  "signatures_given",
  "signers",
  "sponsored_builds",
  "top_ups",
  "transaction_authorities",
  "transaction_requests",
  "transaction_sums",
  "transactions"
]

export const functions: ReadonlyArray<string> = [
  "audit_is_append_only",
  "json_string",
  "managed_objects_delete",
  "relayer_checks_funded",
  "relayer_checks_insert",
  "relayer_checks_update",
  "relayer_counts_update"
]
