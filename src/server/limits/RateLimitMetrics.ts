// The metrics of rate limits.
import { Metric } from "effect"

export const rateLimitedRequestsTotal = Metric.counter("rate_limited_requests_total", {
  description: "Requests refused with 429.",
  incremental: true
})

export const rateLimitStoreFailuresTotal = Metric.counter("rate_limit_store_failures_total", {
  description: "Requests counted by this instance alone, because the shared store did not answer.",
  incremental: true
})

export const callerLimitRefusalsTotal = Metric.counter("caller_limit_refusals_total", {
  description: "Requests refused with 429 because the caller has too much work in progress, by limit.",
  incremental: true
})

export const strangersRefusedTotal = Metric.counter("strangers_refused_total", {
  description: "Requests without a valid API key that were refused with 429, because their address sends too many.",
  incremental: true
})

export const all = [
  rateLimitedRequestsTotal,
  rateLimitStoreFailuresTotal,
  callerLimitRefusalsTotal,
  strangersRefusedTotal
]
