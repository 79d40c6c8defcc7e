// Expositions of several processes as one.
import { assert, describe, it } from "@effect/vitest"
import * as MergedMetrics from "../../src/process/MergedMetrics.ts"

const counter = (value: number) => `# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{endpoint="/a b",status="200"} ${value}
`

const histogram = (...[low, all, sum]: readonly [number, number, number]) => `# TYPE request_latency_seconds histogram
request_latency_seconds_bucket{le="0.1"} ${low}
request_latency_seconds_bucket{le="+Inf"} ${all}
request_latency_seconds_sum ${sum}
request_latency_seconds_count ${all}
`

const gauge = (name: string, value: number, labels = "") => `# TYPE ${name} gauge\n${name}${labels} ${value}\n`

describe("merged metrics", () => {
  it("add up counters and histograms, sample by sample", () => {
    const other = counter(3) + 'requests_total{endpoint="/c",status="404"} 1\n'
    assert.strictEqual(
      MergedMetrics.merge([counter(2) + histogram(1, 2, 0.5), other + histogram(0, 4, 8)]),
      `${counter(5)}requests_total{endpoint="/c",status="404"} 1\n${histogram(1, 6, 8.5)}`
    )
  })

  it("join gauges by what they mean", () => {
    const merged = (name: string, one: number, other: number, labels = "") => {
      const text = MergedMetrics.merge([gauge(name, one, labels), gauge(name, other, labels)])
      return Number(text.trimEnd().split(" ").at(-1))
    }
    assert.strictEqual(merged("process_resident_memory_bytes", 5, 7), 12)
    assert.strictEqual(merged("in_flight_requests", 1, 2), 3)
    assert.strictEqual(merged("worker_healthy", 1, 0, '{worker="deliveries"}'), 0)
    assert.strictEqual(merged("nodejs_eventloop_delay_seconds", 0.2, 0.9, '{quantile="1"}'), 0.9)
    // The database's own, which the first has just read.
    for (const name of ["relayers", "database_connections", "webhook_deliveries_pending"]) {
      assert.strictEqual(merged(name, 4, 9), 4)
    }
  })

  it("keep the counts of what has ended, and nothing that was only so at the time", () => {
    const text = counter(2) + gauge("in_flight_requests", 3) + histogram(1, 2, 0.5)
    assert.strictEqual(MergedMetrics.counts(text), counter(2) + histogram(1, 2, 0.5))
    assert.strictEqual(MergedMetrics.merge(["", MergedMetrics.counts("")]), "")
  })
})
