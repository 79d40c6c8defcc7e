// Describes the webhooks that the service sends, as `webhooks` of the OpenAPI document.
import { Schema } from "effect"
import { RelayerWebhook, TestWebhook, TransactionWebhook } from "../WebhooksApi.ts"
import { child, mapNodes } from "./Node.ts"
import type { Node } from "./Node.ts"

const header = (name: string, description: string, example: string, required = true): Node => ({
  name,
  in: "header",
  required,
  description,
  schema: { type: "string", examples: [example] }
})

const headers = [
  header(
    "webhook-id",
    "The same in every attempt, so that a receiver can ignore repetitions.",
    "0191e9a0-7b1c-7000-8000-5e0c3f9b2d11"
  ),
  header("webhook-timestamp", "When the attempt was made, in seconds since 1970.", "1767323045"),
  header("webhook-event-type", "The same as `type` of the body.", "relayer.disabled"),
  header(
    "webhook-signature",
    "Signatures as in Standard Webhooks, separated by blanks: one per valid signing key. Absent if the notification has no signing key.",
    "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    false
  ),
  header(
    "X-Signature",
    "HMAC-SHA-256 of the body with the signing key, as base64. Absent if the notification has no signing key.",
    "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    false
  )
]

const responses = {
  "2XX": { description: "The receiver has the webhook. It is not sent again." },
  "410": { description: "The receiver is gone: the service pauses the notification." },
  default: { description: "The service tries again, for up to 24 hours. `Retry-After` of 429 and 503 is heeded." }
}

const webhook = (operationId: string, summary: string, description: string, body: string): Node => ({
  post: {
    tags: ["Notifications"],
    operationId,
    summary,
    description,
    // The receiver verifies a signature instead of a credential of this API.
    security: [],
    parameters: headers,
    requestBody: {
      required: true,
      content: { "application/json": { schema: { $ref: `#/components/schemas/${body}` } } }
    },
    responses
  }
})

const webhooks = {
  relayer: webhook(
    "webhooks.relayer",
    "An event of a relayer",
    "Sent to the notification of the relayer after a change, in the order of the relayer's events, at least once.",
    "RelayerWebhook"
  ),
  transaction: webhook(
    "webhooks.transaction",
    "An event of a transaction",
    "Sent to the notification of the transaction's relayer after each change of its status and with each new hash, in the order of the transaction's events, at least once.",
    "TransactionWebhook"
  ),
  test: webhook("webhooks.test", "A test", "Sent when a caller tests the notification, once.", "TestWebhook")
}

const schemasOf = (schema: Schema.Top): Node => Schema.toJsonSchemaDocument(schema).definitions

const moved = (definitions: Node): Node =>
  Object(
    mapNodes(definitions, (node) =>
      typeof node.$ref === "string" ? { ...node, $ref: node.$ref.replace("#/$defs/", "#/components/schemas/") } : node
    )
  )

/** Adds the webhooks, and the schemas that no operation has. */
export const withWebhooks = (document: Node): Node => {
  const components = child(document, "components")
  const schemas = child(components, "schemas")
  const bodies = [RelayerWebhook, TransactionWebhook, TestWebhook]
  const all = bodies.flatMap((body) => Object.entries(moved(schemasOf(body))))
  const added = Object.fromEntries(all.filter(([name]) => !(name in schemas)))
  return { ...document, webhooks, components: { ...components, schemas: { ...schemas, ...added } } }
}
