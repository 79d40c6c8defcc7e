// The bodies of all webhooks, as a union: `type` has the names of the event feed, and `test`.
import { Schema } from "effect"
import { Relayer } from "../domain/relayer/Relayer.ts"
import { field, shown } from "../domain/request/Field.ts"
import * as Shown from "../domain/request/Shown.ts"
import { resourceId } from "../domain/request/Shown.ts"
import { OtherTransaction } from "../networks/core/UnknownNetwork.ts"
import { EvmTransaction } from "../networks/evm/rules/EvmSchemas.ts"
import { SolanaTransactionResponse } from "../networks/solana/rules/SolanaExchanges.ts"
import { StellarTransactionResponse } from "../networks/stellar/rules/StellarResponses.ts"
import { resources } from "../domain/access/Resources.ts"
import { Webhook } from "../domain/notification/Webhook.ts"

const { id, timestamp } = Webhook.fields

const typed = <const T extends readonly [string, ...ReadonlyArray<string>]>(types: T) =>
  field(Schema.Literals(types), "What happened, as in `type` of the event feed.", types[0])

/** The field that receivers of other relayer services read instead of `type`. */
const coarse = <const E extends string>(event: E) =>
  field(Schema.Literal(event), "Group of the event, for receivers of other services. `type` says more.", event)

const payloadTyped = <const T extends readonly [string, ...ReadonlyArray<string>]>(types: T) =>
  field(Schema.Literals(types), "The same as `type`, with `_` instead of `.`.", types[0])

const relayer = field(Relayer, "The relayer after the event; if it was deleted, before it.")

const payload = <const F extends Schema.Struct.Fields>(fields: F) => field(Schema.Struct(fields), "What happened.")

export const RelayerChangedWebhook = Schema.Struct({
  id,
  type: typed(["relayer.created", "relayer.updated", "relayer.deleted"]),
  event: coarse("relayer_update"),
  payload: payload({ payload_type: payloadTyped(["relayer_created", "relayer_updated", "relayer_deleted"]), relayer }),
  timestamp
}).annotate({ identifier: "RelayerChangedWebhook", description: "A relayer was created, changed or deleted." })

export const RelayerStateWebhook = Schema.Struct({
  id,
  type: typed([
    "relayer.paused",
    "relayer.resumed",
    "relayer.degraded",
    "relayer.recovered",
    "relayer.low_balance",
    "relayer.top_up_sent",
    "relayer.top_up_held",
    "relayer.delegate_changed"
  ]),
  event: coarse("relayer_state_update"),
  payload: payload({
    payload_type: payloadTyped([
      "relayer_paused",
      "relayer_resumed",
      "relayer_degraded",
      "relayer_recovered",
      "relayer_low_balance",
      "relayer_top_up_sent",
      "relayer_top_up_held",
      "relayer_delegate_changed"
    ]),
    relayer
  }),
  timestamp
}).annotate({ identifier: "RelayerStateWebhook", description: "The state of a relayer has changed." })

export const RelayerDisabledWebhook = Schema.Struct({
  id,
  type: typed(["relayer.disabled"]),
  event: coarse("relayer_state_update"),
  payload: payload({
    payload_type: payloadTyped(["relayer_disabled"]),
    relayer,
    disable_reason: field(Shown.Words, "The failed checks, for people.", "the balance is below min_balance")
  }),
  timestamp
}).annotate({ identifier: "RelayerDisabledWebhook", description: "A relayer was disabled by its health check." })

export const RelayerEnabledWebhook = Schema.Struct({
  id,
  type: typed(["relayer.enabled"]),
  event: coarse("relayer_state_update"),
  payload: payload({
    payload_type: payloadTyped(["relayer_enabled"]),
    relayer,
    retry_count: field(Schema.Literal(0), "Always 0.", 0)
  }),
  timestamp
}).annotate({ identifier: "RelayerEnabledWebhook", description: "A disabled relayer works again." })

const payload_type = field(Schema.Literal("transaction"), "Always `transaction`.", "transaction")

/** By network type, as in responses. A network type adds its own here. */
const transactionPayload = Schema.Union([
  Schema.Struct({
    payload_type,
    ...EvmTransaction.fields,
    network_type: shown(
      Schema.Literal("evm"),
      "Network type of the relayer. Absent in events that earlier versions of the service have stored.",
      "evm"
    )
  }).annotate({ identifier: "EvmTransactionPayload", description: "A transaction of an evm relayer after an event." }),
  Schema.Struct({ payload_type, ...SolanaTransactionResponse.fields }).annotate({
    identifier: "SolanaTransactionPayload",
    description: "A transaction of a solana relayer after an event."
  }),
  Schema.Struct({ payload_type, ...StellarTransactionResponse.fields }).annotate({
    identifier: "StellarTransactionPayload",
    description: "A transaction of a stellar relayer after an event."
  }),
  Schema.Struct({ payload_type, ...OtherTransaction.fields }).annotate({
    identifier: "OtherTransactionPayload",
    description: "A transaction after an event, of a network type that only later versions of the service know."
  })
])

export const TransactionWebhook = Schema.Struct({
  id,
  type: typed(resources.transaction.eventTypes),
  event: coarse("transaction_update"),
  payload: field(transactionPayload, "The transaction after the event, without `signature`."),
  timestamp
}).annotate({ identifier: "TransactionWebhook", description: "The body of a webhook about a transaction." })

export const TestWebhook = Schema.Struct({
  id,
  type: field(Schema.Literal("test"), "Always `test`.", "test"),
  event: field(Schema.Literal("test"), "Always `test`.", "test"),
  payload: field(
    Schema.Struct({
      payload_type: field(Schema.Literal("test"), "Always `test`.", "test"),
      notification_id: field(resourceId, "Identifier of the notification.", "ops")
    }),
    "The tested notification."
  ),
  timestamp
}).annotate({ identifier: "TestWebhook", description: "The body of a test webhook." })

export const RelayerWebhook = Schema.Union([
  RelayerChangedWebhook,
  RelayerStateWebhook,
  RelayerDisabledWebhook,
  RelayerEnabledWebhook
]).annotate({ identifier: "RelayerWebhook", description: "The body of a webhook about a relayer." })

/** The body of a webhook that this version sends. Later versions may send further ones. */
export const WebhookPayload = Schema.Union([...RelayerWebhook.members, TransactionWebhook, TestWebhook]).annotate({
  identifier: "WebhookPayload",
  description: "The body of a webhook."
})
export type WebhookPayload = typeof WebhookPayload.Type
