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

export const all = [rateLimitedRequestsTotal, rateLimitStoreFailuresTotal, callerLimitRefusalsTotal]
