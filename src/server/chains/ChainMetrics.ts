// The metrics of calls to RPC providers.
import { Metric } from "effect"

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
  description: "Circuit breakers of RPC URLs, by state."
})

export const all = [rpcCallsTotal, rpcCallSeconds, rpcFailuresTotal, rpcBreakers]
