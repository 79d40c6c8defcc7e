// What the service counts of itself. Labels are bounded: route patterns, methods, status codes, names of ours.
import { Effect, Metric } from "effect"
import type { Context } from "effect"
import { databaseQuerySeconds } from "../../sql/Query.ts"

const requestsTotal = Metric.counter("requests_total", {
  description: "Requests answered, by route pattern, method and status.",
  incremental: true
})

const requestLatencySeconds = Metric.histogram("request_latency_seconds", {
  description: "Time from a request to its answer, in seconds.",
  boundaries: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
})

export const inFlightRequests = Metric.gauge("in_flight_requests", { description: "Requests being answered." })

export const rateLimitedRequestsTotal = Metric.counter("rate_limited_requests_total", {
  description: "Requests refused with 429.",
  incremental: true
})

export const rateLimitStoreFailuresTotal = Metric.counter("rate_limit_store_failures_total", {
  description: "Requests counted by this process alone, because the shared store did not answer.",
  incremental: true
})

export const unauthorizedRequestsTotal = Metric.counter("unauthorized_requests_total", {
  description: "Requests refused with 401.",
  incremental: true
})

export const databaseConnections = Metric.gauge("database_connections", {
  description: "Connections of all instances to the database, by state."
})

export const relayers = Metric.gauge("relayers", { description: "Relayers, by network type and state." })

export const workerHealthy = Metric.gauge("worker_healthy", {
  description: "1 while a worker of this process does its work, 0 while it does not, by worker."
})

export const webhookDeliveriesTotal = Metric.counter("webhook_deliveries_total", {
  description: "Attempts to deliver a webhook, by outcome.",
  incremental: true
})

export const webhookDeliverySeconds = Metric.histogram("webhook_delivery_seconds", {
  description: "Time of an attempt to deliver a webhook, in seconds.",
  boundaries: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
})

export const webhookDeliveriesPending = Metric.gauge("webhook_deliveries_pending", {
  description: "Webhooks of all instances that are not delivered, and not given up."
})

export const residentMemoryBytes = Metric.gauge("process_resident_memory_bytes", {
  description: "Resident memory of the process, in bytes."
})

export const cpuSecondsTotal = Metric.counter("process_cpu_seconds_total", {
  description: "CPU time of the process, user and system, in seconds.",
  incremental: true
})

export const eventLoopDelaySeconds = Metric.gauge("nodejs_eventloop_delay_seconds", {
  description: "Delay of the event loop since the last scrape, in seconds, by quantile."
})

export const rpcCallsTotal = Metric.counter("rpc_calls_total", {
  description: "Calls to RPC providers, by network type and method.",
  incremental: true
})

export const rpcCallSeconds = Metric.histogram("rpc_call_seconds", {
  description: "Time from a call to an RPC provider to its answer or failure, in seconds.",
  boundaries: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
})

export const rpcFailuresTotal = Metric.counter("rpc_failures_total", {
  description: "Calls to RPC providers that failed, by network type, method and class.",
  incremental: true
})

export const rpcBreakers = Metric.gauge("rpc_breakers", {
  description: "RPC URLs that are remembered, by the state of their circuit breaker."
})

export const healthChecksTotal = Metric.counter("health_checks_total", {
  description: "Health checks of relayers, by network type and outcome.",
  incremental: true
})

export const healthCheckSeconds = Metric.histogram("health_check_seconds", {
  description: "Time of a look at a relayer's chain, in seconds, by network type.",
  boundaries: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20]
})

export const eventStreams = Metric.gauge("event_streams", { description: "Open streams of events." })

/** In the order of the list endpoint. */
const all = [
  requestsTotal,
  requestLatencySeconds,
  inFlightRequests,
  rateLimitedRequestsTotal,
  rateLimitStoreFailuresTotal,
  unauthorizedRequestsTotal,
  databaseQuerySeconds,
  databaseConnections,
  relayers,
  healthChecksTotal,
  healthCheckSeconds,
  rpcCallsTotal,
  rpcCallSeconds,
  rpcFailuresTotal,
  rpcBreakers,
  webhookDeliveriesTotal,
  webhookDeliverySeconds,
  webhookDeliveriesPending,
  workerHealthy,
  eventStreams,
  residentMemoryBytes,
  cpuSecondsTotal,
  eventLoopDelaySeconds
]

export const names: ReadonlyArray<string> = all.map((metric) => metric.id)

/** Counters without labels are shown as 0 before their first event. */
export const register = Effect.contextWith((context: Context.Context<never>) =>
  Effect.sync(() => {
    for (const metric of [rateLimitedRequestsTotal, rateLimitStoreFailuresTotal, unauthorizedRequestsTotal]) {
      metric.updateUnsafe(0, context)
    }
  })
)

interface Labels {
  readonly endpoint: string
  readonly method: string
  readonly status: string
}

const perRoute = new Map<
  string,
  { readonly count: Metric.Counter<number>; readonly latency: Metric.Histogram<number> }
>()

/** `endpoint` is a route pattern or `unmatched`, so that there are only so many of these. */
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
