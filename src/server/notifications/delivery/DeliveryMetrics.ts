// The metrics of webhooks.
import { Metric } from "effect"

export const webhookDeliveriesTotal = Metric.counter("webhook_deliveries_total", {
  description: "Attempts to send a webhook, by outcome.",
  incremental: true
})

export const webhookDeliverySeconds = Metric.histogram("webhook_delivery_seconds", {
  description: "Time of an attempt to send a webhook, in seconds.",
  boundaries: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
})

export const webhookDeliveriesPending = Metric.gauge("webhook_deliveries_pending", {
  description: "Pending deliveries of all instances."
})

export const all = [webhookDeliveriesTotal, webhookDeliverySeconds, webhookDeliveriesPending]
