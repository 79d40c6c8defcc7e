// The metrics of health checks.
import { Metric } from "effect"

export const healthChecksTotal = Metric.counter("health_checks_total", {
  description: "Health checks of relayers, by network type and outcome.",
  incremental: true
})

export const healthCheckSeconds = Metric.histogram("health_check_seconds", {
  description: "Time to inspect the chain of a relayer, in seconds, by network type.",
  boundaries: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20]
})

export const all = [healthChecksTotal, healthCheckSeconds]
