// What a program with Effect imports to call the service and to verify its webhooks.
export { Api } from "../api/Api.ts"
export { ApiClient } from "./ApiClient.ts"
export type * from "./Client.ts"
export { isOfNetwork } from "./Networks.ts"
export { WebhookInvalid, verifyWebhook } from "./Webhook.ts"
export type { UnknownWebhook } from "./Webhook.ts"
