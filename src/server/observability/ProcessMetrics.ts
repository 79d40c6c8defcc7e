// The metrics of the operating system process. The process measures them; a host program may leave them out.
import { Metric } from "effect"

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

export const all = [residentMemoryBytes, cpuSecondsTotal, eventLoopDelaySeconds]
