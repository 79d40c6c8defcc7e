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

/** These have a series for each relayer, and exist only if the operator asked for them. */
export const perRelayer = {
  relayer_enabled: Metric.gauge("relayer_enabled", {
    description: "0 while the service has disabled the relayer, else 1."
  }),
  relayer_paused: Metric.gauge("relayer_paused", {
    description: "1 while the operator has paused the relayer, else 0."
  }),
  relayer_balance: Metric.gauge("relayer_balance", {
    description: "Balance of the relayer at its last check, in the smallest unit of the chain."
  }),
  relayer_min_balance: Metric.gauge("relayer_min_balance", {
    description: "The policy min_balance of the relayer, if it has one, in the smallest unit of the chain."
  })
}

export const all = [healthChecksTotal, healthCheckSeconds, ...Object.values(perRelayer)]
