// The bodies of webhooks by their contents, for the OpenAPI document. `Webhook` is what a receiver decodes, and stays open.
import { Schema } from "effect"
import { Relayer } from "../relayer/Relayer.ts"
import * as RelayerNames from "../relayer/RelayerNames.ts"
import { field } from "../request/Field.ts"
import * as Shown from "../request/Shown.ts"
import { resourceId } from "../request/Text.ts"
import { EvmTransaction } from "../transaction/EvmTransaction.ts"
import { Webhook } from "./Webhook.ts"

const { id, timestamp } = Webhook.fields

const payloadTypes = RelayerNames.eventTypes.map((type) => type.replace(".", "_"))

const RelayerPayload = Schema.Struct({
  payload_type: field(Schema.Literals(payloadTypes), "Type of the event, with `_` instead of `.`.", "relayer_disabled"),
  relayer: field(Relayer, "The relayer after the event; if it was deleted, before it."),
  disable_reason: Schema.optionalKey(
    field(Shown.Words, "Only of `relayer_disabled`: the failed checks, for people.", "the balance is below min_balance")
  ),
  retry_count: Schema.optionalKey(field(Schema.Literal(0), "Only of `relayer_enabled`: always 0.", 0))
})

export const RelayerWebhook = Schema.Struct({
  id,
  event: field(
    Schema.Literals(["relayer_update", "relayer_state_update"]),
    "`relayer_update`: the relayer was created, changed or deleted. `relayer_state_update`: its state has changed.",
    "relayer_state_update"
  ),
  payload: field(RelayerPayload, "What happened."),
  timestamp
}).annotate({ identifier: "RelayerWebhook", description: "The body of a webhook about a relayer." })

const TransactionPayload = Schema.Struct({
  payload_type: field(Schema.Literal("transaction"), "Always `transaction`.", "transaction"),
  ...EvmTransaction.fields
})

export const TransactionWebhook = Schema.Struct({
  id,
  event: field(Schema.Literal("transaction_update"), "Always `transaction_update`.", "transaction_update"),
  payload: field(TransactionPayload, "The transaction after the event, without `signature`."),
  timestamp
}).annotate({ identifier: "TransactionWebhook", description: "The body of a webhook about a transaction." })

export const TestWebhook = Schema.Struct({
  id,
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
