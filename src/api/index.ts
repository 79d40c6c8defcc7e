// The contract: everything that a client needs, and nothing of the server.
export { Api } from "./Api.ts"
export * as Envelope from "./Envelope.ts"
export * as Errors from "./Errors.ts"
export {
  RelayerChangedWebhook,
  RelayerDisabledWebhook,
  RelayerEnabledWebhook,
  RelayerStateWebhook,
  RelayerWebhook,
  TestWebhook,
  TransactionWebhook,
  WebhookPayload
} from "./WebhooksApi.ts"
export { Authorization, DecodeErrors, Idempotency, RequestBody } from "./Middleware.ts"
