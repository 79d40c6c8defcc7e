// The bodies of webhooks as plain types, for programs without Effect. `WebhookPayload` is the same as a schema; a test compares them.
import type { resources } from "../../domain/access/Resources.ts"

/** A number in JSON: `bigint` if it is beyond ±(2^53−1). */
export type Amount = number | bigint

export interface Relayer {
  readonly id: string
  readonly name: string
  readonly network: string
  readonly network_type: "evm" | "solana" | "stellar"
  readonly address: string
  readonly paused: boolean
  readonly system_disabled: boolean
  readonly disabled_reason?: { readonly type: string; readonly details: string }
  readonly signer_id: string
  readonly notification_id?: string
  readonly custom_rpc_urls?: ReadonlyArray<{ readonly url: string; readonly weight: number }>
  readonly custom_private_rpc_urls?: ReadonlyArray<{ readonly url: string; readonly weight: number }>
  readonly policies?: { readonly min_balance?: Amount }
}

export type TransactionStatus =
  | "pending"
  | "sent"
  | "submitted"
  | "mined"
  | "confirmed"
  | "failed"
  | "canceled"
  | "expired"

/**
 * A transaction of an evm relayer. Amounts of wei and gas are texts of digits, and `value` is hexadecimal. Transactions of
 * other network types have `network_type`, and the properties down to `is_canceled`.
 */
export interface Transaction {
  /** Absent in events that earlier versions of the service have stored: `evm`. */
  readonly network_type?: string
  readonly id: string
  readonly relayer_id: string
  readonly status: TransactionStatus
  readonly status_reason?: string
  readonly code?: string
  readonly hash?: string
  readonly created_at: string
  readonly sent_at?: string
  readonly confirmed_at?: string
  readonly from: string
  readonly external_id?: string
  readonly is_canceled: boolean
  readonly nonce?: number
  readonly value: string
  readonly to?: string
  readonly data?: string
  readonly block_number?: number
  readonly block_hash?: string
  readonly contract_address?: string
  readonly gas_used?: string
  readonly fee_paid?: string
  readonly revert_reason?: string
}

interface Body<Type extends string, Event extends string, Payload> {
  /** The same in every attempt: a receiver that has seen it before only has to respond. */
  readonly id: string
  /** What happened, as in `type` of the event feed. */
  readonly type: Type
  /** Group of the event. `type` says more. */
  readonly event: Event
  readonly payload: Payload
  /** When it happened, as an RFC 3339 date-time. */
  readonly timestamp: string
}

type RelayerBody<Name extends string, Event extends string, More = unknown> = Body<
  `relayer.${Name}`,
  Event,
  { readonly payload_type: `relayer_${Name}`; readonly relayer: Relayer } & More
>

export type WebhookBody =
  | RelayerBody<"created" | "updated" | "deleted", "relayer_update">
  | RelayerBody<
      | "paused"
      | "resumed"
      | "degraded"
      | "recovered"
      | "low_balance"
      | "top_up_sent"
      | "top_up_held"
      | "delegate_changed",
      "relayer_state_update"
    >
  | RelayerBody<"disabled", "relayer_state_update", { readonly disable_reason: string }>
  | RelayerBody<"enabled", "relayer_state_update", { readonly retry_count: 0 }>
  | Body<
      (typeof resources.transaction.eventTypes)[number],
      "transaction_update",
      Transaction & { readonly payload_type: "transaction" }
    >
  | Body<"test", "test", { readonly payload_type: "test"; readonly notification_id: string }>

/** A webhook that this version does not know, for example of a later service. Respond with 2xx, or the service sends it again. */
export interface UnknownWebhook extends Body<"unknown", string, unknown> {
  /** The `type` of the body, if it has one. */
  readonly sent_type: string | undefined
}
