// The metrics of requests. Labels are bounded: route patterns, methods and status codes.
import { Metric } from "effect"
import type { Context } from "effect"

const requestsTotal = Metric.counter("requests_total", {
  description: "Requests that got a response, by route pattern, method and status.",
  incremental: true
})

const requestLatencySeconds = Metric.histogram("request_latency_seconds", {
  description: "Time from a request to its response, in seconds.",
  boundaries: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
})

export const inFlightRequests = Metric.gauge("in_flight_requests", { description: "Requests that are being served." })

export const unauthorizedRequestsTotal = Metric.counter("unauthorized_requests_total", {
  description: "Requests refused with 401.",
  incremental: true
})

export const all = [requestsTotal, requestLatencySeconds, inFlightRequests, unauthorizedRequestsTotal]

interface Labels {
  readonly endpoint: string
  readonly method: string
  readonly status: string
}

const perRoute = new Map<
  string,
  { readonly count: Metric.Counter<number>; readonly latency: Metric.Histogram<number> }
>()

/** `endpoint` is a route pattern or `unmatched`: the number of series is bounded. */
export const recordRequest = (labels: Labels, seconds: number, context: Context.Context<never>): void => {
  const key = `${labels.method} ${labels.endpoint} ${labels.status}`
  let metrics = perRoute.get(key)
  if (metrics === undefined) {
    metrics = {
      count: Metric.withAttributes(requestsTotal, { ...labels }) as Metric.Counter<number>,
      latency: Metric.withAttributes(requestLatencySeconds, { ...labels }) as Metric.Histogram<number>
    }
    perRoute.set(key, metrics)
  }
  metrics.count.updateUnsafe(1, context)
  metrics.latency.updateUnsafe(seconds, context)
}
