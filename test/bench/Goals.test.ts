import { assert, describe, it } from "@effect/vitest"
import * as Goals from "../../bench/harness/Goals.ts"
import type { Results, Row } from "../../bench/harness/Results.ts"

const row = (given: Partial<Row>): Row => ({
  case: "list",
  connections: 64,
  contender: "service",
  size: 1000,
  perSecond: 1000,
  p50: 10,
  p99: 30,
  serverMs: 0.1,
  postgresMs: 0.1,
  generatorShare: 0.1,
  resident: 100,
  rounds: [],
  ...given
})

const results = (rows: ReadonlyArray<Row>, more: Partial<Results> = {}): Results => ({
  machine: { processor: "", cores: 2, memoryGiB: 8, system: "", node: "" },
  generator: "wrk",
  rounds: 1,
  seconds: 1,
  loadBefore: 0,
  loadAfter: 0,
  minutes: 1,
  rows,
  starts: [],
  skipped: [],
  ...more
})

const verdicts = (given: Results) =>
  Object.fromEntries(Goals.judged(given).map(({ about, measured, met }) => [about, `${measured} ${met}`]))

describe("Goals", () => {
  it("a rate is compared to the contender with the same size and number of connections", () => {
    const found = verdicts(
      results([
        row({}),
        row({ contender: "fastify", perSecond: 9000, connections: 1 }),
        row({ contender: "fastify", perSecond: 9000, size: 100_000 }),
        row({ contender: "fastify", perSecond: 500 })
      ])
    )
    assert.strictEqual(found["list, to Fastify"], "2.00 × false")
  })

  it("growth is the ratio of the requests per second of the smallest and the largest size", () => {
    const found = verdicts(
      results([row({}), row({ size: 100_000, perSecond: 900 }), row({ size: 1_000_000, perSecond: 500 })])
    )
    assert.strictEqual(found["time of the first page, 1,000,000 relayers, to 1,000"], "2.00 × false")
  })

  it("a goal without a measurement is omitted", () => {
    assert.deepStrictEqual(Object.keys(verdicts(results([row({})]))), ["p99 of list at 64 connections, to its p50"])
  })

  it("memory is judged by its slope after ten minutes, not after one", () => {
    const memory = { idle: { service: 200, postgres: 30 }, requests: 1, samples: [], slope: 3, standardError: 0.5 }
    const name = (minutes: number) => `memory under ${minutes} minutes of load, growth per hour`
    assert.isUndefined(verdicts(results([], { memory: { ...memory, minutes: 1 } }))[name(1)])
    const found = verdicts(results([], { memory: { ...memory, minutes: 10 } }))
    assert.strictEqual(found[name(10)], "180.0 ± 30.0 MiB false")
    assert.strictEqual(found["memory idle, service"], "200 MiB false")
    assert.strictEqual(found["memory idle, its PostgreSQL"], "30 MiB true")
  })
})
